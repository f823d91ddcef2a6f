// The files of the cabinet, read and sent by their handlers without a server; and the metrics of a gateway.
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { beforeEach, describe, expect, it } from 'vitest';
import { readCabinetFiles, registerCabinetFiles } from '../../src/http/cabinet-files.ts';
import { createMetrics } from '../../src/http/metrics.ts';
import { temporaryDirectory } from '../support/gateway-process.ts';
import { type RecordingLogger, recordingLogger } from '../support/quiet-logger.ts';

type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown;
interface Sent {
  headers: Record<string, string>;
  body?: string;
  redirect?: [string, number];
}

let directory: string;
let logger: RecordingLogger;
let routes: Map<string, { options: unknown; handler: Handler }>;
beforeEach(() => {
  directory = `${temporaryDirectory()}/dist`;
  mkdirSync(`${directory}/assets`, { recursive: true });
  logger = recordingLogger();
});

const write = (path: string, text: string) => writeFileSync(`${directory}/${path}`, text);
const url = () => pathToFileURL(`${directory}/`);

function register(): void {
  routes = new Map();
  const app = { get: (path: string, options: unknown, handler: Handler) => routes.set(path, { options, handler }) };
  const refuseUnknown = () => {
    throw new Error('There is no such path.');
  };
  registerCabinetFiles(app as unknown as FastifyInstance, { basePath: '/base', logger, refuseUnknown, directory: url() });
}

/** The response to a path below /cabinet/. */
async function get(path: string | undefined, headers: Record<string, string> = {}, route = '/cabinet/*'): Promise<Sent> {
  const sent: Sent = { headers: {} };
  const reply = {
    header(name: string, value: string) {
      sent.headers[name] = value;
      return reply;
    },
    type: (value: string) => reply.header('content-type', value),
    send(body: Buffer) {
      sent.body = body.toString();
      return reply;
    },
    redirect(to: string, status: number) {
      sent.redirect = [to, status];
      return reply;
    },
  };
  const params = path === undefined ? {} : { '*': path };
  await routes.get(route)?.handler({ params, headers } as unknown as FastifyRequest, reply as unknown as FastifyReply);
  return sent;
}

describe('files', () => {
  it('are read with their precompressed forms; the page gets absolute paths, and files of unknown type are omitted', async () => {
    write('index.html', '<a href="./x" src="./y" data-base-path="old">');
    write('index.html.br', 'never used');
    write('a.js', 'plain');
    write('a.js.br', 'as br');
    write('a.js.gz', 'as gzip');
    write('assets/b.css', 'b');
    write('sources.sha256', 'x');
    write('noextension', 'x');
    const files = await readCabinetFiles(url(), '/base');
    expect([...files.keys()].toSorted()).toEqual(['a.js', 'assets/b.css', 'index.html']);
    const page = files.get('index.html');
    expect([page?.plain.toString(), page?.br, page?.gzip]).toEqual([
      '<a href="/base/cabinet/x" src="/base/cabinet/y" data-base-path="/base">',
      undefined,
      undefined,
    ]);
    const script = files.get('a.js');
    expect([script?.plain, script?.br, script?.gzip].map(String)).toEqual(['plain', 'as br', 'as gzip']);
    expect(Object.keys(files.get('assets/b.css') ?? {})).toEqual(['type', 'plain']);
  });

  it('are empty if nothing was built', async () => {
    expect(await readCabinetFiles(pathToFileURL(`${directory}/nowhere/`), '')).toEqual(new Map());
  });
});

describe('the cabinet', () => {
  it('has public routes that are in no document and make no path known', () => {
    register();
    expect([...routes.keys()]).toEqual(['/cabinet', '/cabinet/*', '/']);
    for (const { options } of routes.values())
      expect(options).toEqual({ config: { access: { kind: 'open' }, isFallback: true, isForBrowsers: true }, schema: { hide: true } });
  });

  it('sends the best encoding that the browser accepts, with Vary', async () => {
    for (const [name, text] of [
      ['a.js', 'plain'],
      ['a.js.br', 'as br'],
      ['a.js.gz', 'as gzip'],
      ['b.js', 'b'],
      ['c.js', 'c'],
      ['c.js.gz', 'c gzip'],
    ] as const)
      write(name, text);
    register();
    const ask = async (path: string, accepted?: string) => {
      const { body, headers } = await get(path, accepted === undefined ? {} : { 'accept-encoding': accepted });
      return [body, headers['content-encoding'], headers['vary']];
    };
    expect(await ask('a.js', 'gzip, br')).toEqual(['as br', 'br', 'accept-encoding']);
    expect(await ask('a.js', 'gzip')).toEqual(['as gzip', 'gzip', 'accept-encoding']);
    expect(await ask('a.js')).toEqual(['plain', undefined, 'accept-encoding']);
    expect(await ask('a.js', 'brotli, gzipped')).toEqual(['plain', undefined, 'accept-encoding']);
    expect(await ask('b.js', 'gzip, br')).toEqual(['b', undefined, undefined]);
    expect(await ask('c.js', 'br, gzip')).toEqual(['c gzip', 'gzip', 'accept-encoding']);
  });

  it('serves the page for every path without a file, but not for a missing asset or the API', async () => {
    write('index.html', 'page');
    write('assets/a.js', 'a');
    register();
    for (const path of [undefined, '', 'payments', 'apis', 'my/api']) {
      expect((await get(path)).body).toBe('page');
    }
    for (const path of ['missing.js', 'api', 'API/keys', 'api/']) await expect(get(path)).rejects.toThrow('no such path');
    const [hashed, page] = [await get('assets/a.js'), await get('', {}, '/cabinet')];
    expect(hashed.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
    });
    expect(page.headers).toMatchObject({
      ...{ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
      ...{ 'cross-origin-opener-policy': 'same-origin', 'content-security-policy': expect.stringContaining("default-src 'none'") },
    });
  });

  it('explains what to do if it was not built', async () => {
    register();
    const { body, headers } = await get('');
    expect([headers['content-type'], body]).toEqual(['text/html; charset=utf-8', expect.stringContaining('npm run web')]);
    expect([Object.keys(headers).includes('content-encoding'), logger.lines]).toEqual([false, []]);
  });

  it('is where {base_url} redirects, for browsers only', async () => {
    register();
    const { redirect, headers } = await get(undefined, { accept: 'text/html,*/*' }, '/');
    expect([redirect, headers['vary']]).toEqual([['/base/cabinet', 302], 'accept']);
    for (const accept of [{}, { accept: 'application/json' }]) await expect(get(undefined, accept, '/')).rejects.toThrow('no such path');
  });

  it('is read once, and reported as stale only if a source is newer', async () => {
    const sources = `${directory}/../src`;
    mkdirSync(`${sources}/pages`, { recursive: true });
    writeFileSync(`${sources}/a.ts`, 'a');
    write('sources.sha256', 'x');
    write('index.html', 'page');
    const at = (path: string, seconds: number) => utimesSync(path, seconds, seconds);
    const isTold = async () => {
      register();
      await get('');
      await get('');
      return logger.lines.splice(0).length;
    };
    at(`${directory}/sources.sha256`, 1_000);
    at(`${sources}/a.ts`, 1_000);
    // A directory is newer than its files, but is no source.
    expect(await isTold()).toBe(0);
    at(`${sources}/a.ts`, 1_001);
    expect(await isTold()).toBe(1);
    at(`${directory}/sources.sha256`, 1_002);
    expect(await isTold()).toBe(0);
    writeFileSync(`${sources}/pages/b.ts`, 'b');
    expect(await isTold()).toBe(1);
  });
});

describe('metrics', () => {
  it('of requests are in seconds by method, route and errorCode', async () => {
    const metrics = createMetrics();
    metrics.observeRequest('GET', '/a', 31, 1_500);
    metrics.observeRequest('GET', '/b', undefined, 0);
    const lines = (await metrics.text()).split('\n');
    expect(lines).toContain('tillgate_http_request_duration_seconds_sum{method="GET",route="/a",error_code="31"} 1.5');
    expect(lines).toContain('tillgate_http_request_duration_seconds_count{method="GET",route="/b",error_code=""} 1');
  });

  it('of a source are its current values: missing labels disappear, and a failing source has no value', async () => {
    const metrics = createMetrics();
    let isAway = false;
    let readings = [{ labels: { state: 'a' }, value: 1 }];
    metrics.gauge('g_one', 'One.', () => {
      if (isAway) throw new Error('away');
      return 3;
    });
    metrics.gauges('g_many', 'Many.', ['state'], async () => readings);
    metrics.counter('c_total', 'Counted.', ['state'], () => readings);
    const told = async () => (await metrics.text()).split('\n').filter((line) => /^[gc]_/.test(line));
    expect(await told()).toEqual(['g_one 3', 'g_many{state="a"} 1', 'c_total{state="a"} 1']);
    expect(await told()).toEqual(['g_one 3', 'g_many{state="a"} 1', 'c_total{state="a"} 1']);
    isAway = true;
    readings = [{ labels: { state: 'b' }, value: 2 }];
    expect(await told()).toEqual(['g_many{state="b"} 2', 'c_total{state="b"} 2']);
  });

  it('of the process exist from the first scrape on, without gauges that are named like counters', async () => {
    const metrics = createMetrics();
    const names = (text: string) => text.split('\n').filter((line) => /^nodejs_|^process_/.test(line));
    const first = names(await metrics.text());
    expect(first.some((line) => line.startsWith('nodejs_eventloop_lag_seconds'))).toBe(true);
    expect(first.filter((line) => /^nodejs_active_\w+_total/.test(line))).toEqual([]);
    expect(names(await metrics.text()).length).toBeGreaterThanOrEqual(first.length);
    expect(metrics.contentType).toContain('text/plain');
  });
});
