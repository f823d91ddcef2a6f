// Overload, graceful stop, HTTPS, upgrades, health and metrics.
import type { IncomingHttpHeaders } from 'node:http';
import { get as httpsGet } from 'node:https';
import type { Duplex } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { createTokenCheck, open } from '../../src/http/authentication.ts';
import { createMetrics } from '../../src/http/metrics.ts';
import type { HttpServerOptions } from '../../src/http/server.ts';
import { GatewayError } from '../../src/kernel/error-codes.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { openRaw, parseAnswers, sendRaw } from './raw-socket.ts';
import { adminToken, base, createSample, deviceId, deviceSecret, type Sample } from './sample-server.ts';
import { selfSigned } from './self-signed.ts';

let sample: Sample;
afterEach(() => {
  sample.release();
  return sample.server.stop(0);
});

async function start(overrides: Partial<HttpServerOptions> = {}) {
  sample = createSample(overrides);
  return sample.server.listen();
}
const slow = (url: string) => fetch(`${url}/test/slow`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
const slowText = `POST ${base}/test/slow HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`;
const liveText = `POST ${base}/test/nothing HTTP/1.1\r\nHost: x\r\n\r\n`;

describe('overload', () => {
  it('is 429 with the envelope and Retry-After, while health still answers and running calls complete', async () => {
    const { url } = await start({ limits: { requestsInFlight: 3 } });
    const running = [slow(url), slow(url), slow(url)];
    await expect.poll(() => sample.runs['slow']).toBe(3);
    const refused = await fetch(`${url}/test/echo`, { method: 'POST' });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    expect(await refused.json()).toEqual({
      errorCode: 41,
      errorMessage: 'Too_Many_Requests: Too many requests without a key are in flight.',
    });
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
    sample.release();
    const answers = await Promise.all(running.map(async (call) => (await (await call).json()) as { done: boolean }));
    expect(answers.map(({ done }) => done)).toEqual([true, true, true]);
    expect((await fetch(`${url}/test/echo`, { method: 'POST' })).status).toBe(200);
  });
});

describe('drain', () => {
  it('answers 503 at ready and serves other calls with Connection: close; then stops listening and serves accepted connections', async () => {
    const clock = createVirtualClock();
    const { url, port } = await start({ clock });
    const kept = await openRaw(port);
    kept.socket.write(liveText);
    await kept.until((text) => text.includes('}'));
    const drained = sample.server.drain(5_000);
    for (const seconds of [0, 3]) {
      await clock.advance(seconds * 1_000);
      for (const path of ['ready', 'accepting']) {
        const health = await fetch(`${url}/health/${path}`);
        const { errorCode } = (await health.json()) as { errorCode: number };
        expect([health.status, health.headers.get('connection'), errorCode]).toEqual([503, 'close', 41]);
      }
      const served = await fetch(`${url}/test/nothing`, { method: 'POST' });
      expect([served.status, served.headers.get('connection')]).toEqual([200, 'close']);
    }
    // In the last second connections are kept alive, so that a proxy opens no new ones while the listener closes.
    await clock.advance(1_000);
    expect((await fetch(`${url}/test/nothing`, { method: 'POST' })).headers.get('connection')).toBe('keep-alive');
    const connected = await openRaw(port);
    await clock.advance(1_000);
    expect(sample.server.app.server.listening).toBe(false);
    for (const connection of [kept, connected]) {
      connection.socket.write(liveText);
      expect(parseAnswers(await connection.untilClosed()).at(-1)).toMatchObject({ status: 200 });
    }
    await clock.advance(1_000);
    await drained;
  });

  it('of zero length changes nothing', async () => {
    const { url } = await start();
    await sample.server.drain(0);
    const ready = await fetch(`${url}/health/ready`);
    expect([ready.status, ready.headers.get('connection')]).toEqual([200, 'keep-alive']);
  });
});

describe('stop', () => {
  it('accepts nothing new, completes running calls, and does not wait for idle connections', async () => {
    const { url, port } = await start();
    const silent = await openRaw(port);
    const half = await openRaw(port);
    half.socket.write('POST /x HTTP/1.1\r\nHost: x\r\nContent-Le');
    const kept = await openRaw(port);
    kept.socket.write(slowText);
    const running = slow(url);
    await expect.poll(() => sample.runs['slow']).toBe(2);
    let isStopped = false;
    const stopped = sample.server.stop(60_000).then(() => {
      isStopped = true;
    });
    await expect(fetch(`${url}/health/live`)).rejects.toThrow();
    expect(isStopped).toBe(false);
    sample.release();
    const answer = await running;
    expect(answer.headers.get('connection')).toBe('close');
    expect(await answer.json()).toEqual({ errorCode: 0, errorMessage: '', done: true });
    expect(parseAnswers(await kept.untilClosed())).toHaveLength(1);
    await stopped;
    await Promise.all([silent.untilClosed(), half.untilClosed()]);
  });

  it('answers 503 to a request in transfer, and does not run it', async () => {
    const { url, port } = await start();
    const late = await openRaw(port);
    late.socket.write(liveText.slice(0, -2));
    const running = slow(url);
    await expect.poll(() => sample.runs['slow']).toBe(1);
    const stopped = sample.server.stop(60_000);
    late.socket.write('\r\n');
    const answers = parseAnswers(await late.until((text) => text.includes('}')));
    expect(answers.map(({ status, body }) => [status, JSON.parse(body).errorCode])).toEqual([[503, 41]]);
    expect(sample.runs['nothing']).toBeUndefined();
    sample.release();
    expect((await running).status).toBe(200);
    await stopped;
  });

  it('closes connections that are still busy after its time-out', async () => {
    const { url } = await start();
    const running = slow(url);
    await expect.poll(() => sample.runs['slow']).toBe(1);
    const ended = expect(running).rejects.toThrow();
    await sample.server.stop(50);
    await ended;
  });

  it('waits for a handler whose client has disconnected', async () => {
    const { port } = await start();
    const connection = await openRaw(port);
    connection.socket.write(slowText);
    await expect.poll(() => sample.runs['slow']).toBe(1);
    connection.socket.destroy();
    let isStopped = false;
    const stopped = sample.server.stop(60_000).then(() => {
      isStopped = true;
    });
    await expect.poll(() => sample.server.app.server.listening).toBe(false);
    expect(isStopped).toBe(false);
    sample.release();
    await stopped;
  });

  it('does not wait for event streams', async () => {
    sample = createSample();
    sample.server.routes((app) => {
      app.get('/events', { config: { access: open, isLongLived: true }, schema: { hide: true } }, (_request, reply) => {
        reply.hijack();
        reply.raw.writeHead(200, { 'content-type': 'text/event-stream' });
        reply.raw.write(': hello\n\n');
      });
    });
    const { port } = await sample.server.listen();
    const stream = await openRaw(port);
    stream.socket.write(`GET ${base}/events HTTP/1.1\r\nHost: x\r\n\r\n`);
    await stream.until((text) => text.includes('hello'));
    await sample.server.stop(60_000);
    await stream.untilClosed();
  });
});

describe('upgrades', () => {
  const login = Buffer.from(`${deviceId}:${deviceSecret}`).toString('base64');
  const ask = (path: string) =>
    `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Basic ${login}\r\n\r\n`;

  it('reach the handler of their path, whatever its case and query, and are closed by stop', async () => {
    const sockets: Duplex[] = [];
    sample = createSample();
    sample.server.onUpgrade('/queue', ({ socket, deviceId: whose }) => {
      expect(whose).toBe(deviceId);
      sockets.push(socket);
      socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
    });
    const { port } = await sample.server.listen();
    const connection = await openRaw(port);
    connection.socket.write(ask(`${base}/Queue?v=1`));
    expect(await connection.until((text) => text.includes('\r\n\r\n'))).toMatch(/^HTTP\/1\.1 101/);
    expect(sockets).toHaveLength(1);
    await sample.server.stop(60_000);
    await connection.untilClosed();
  });

  it.each([`${base}/nowhere`, '/queue', '/'])('to %s are 404 with the envelope and a closed socket', async (path) => {
    sample = createSample();
    sample.server.onUpgrade('/queue', () => expect.unreachable());
    const { port } = await sample.server.listen();
    const [answer] = parseAnswers(await sendRaw(port, ask(path)));
    expect([answer?.status, JSON.parse(answer?.body ?? '').errorCode]).toEqual([404, 40]);
  });
});

describe('an upgrade whose login cannot be checked', () => {
  it('is 503 with the code of the database, and the gateway keeps serving', async () => {
    sample = createSample({ findDevice: () => Promise.reject(new GatewayError('Error_Connection_Database', 'The database is offline.')) });
    sample.server.onUpgrade('/queue', () => expect.unreachable());
    const { port, url } = await sample.server.listen();
    const login = Buffer.from(`${deviceId}:${deviceSecret}`).toString('base64');
    const ask = `GET ${base}/queue HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Basic ${login}\r\n\r\n`;
    const [answer] = parseAnswers(await sendRaw(port, ask));
    expect([answer?.status, JSON.parse(answer?.body ?? '').errorCode]).toEqual([503, 2]);
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
  });
});

describe('an offer of another protocol', () => {
  const ask = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n`;

  it('is ignored: the request is served without it', async () => {
    sample = createSample();
    sample.server.onUpgrade('/queue', () => expect.unreachable());
    const { port } = await sample.server.listen();
    expect(parseAnswers(await sendRaw(port, ask(`${base}/health/live`)))[0]?.status).toBe(200);
    expect(parseAnswers(await sendRaw(port, ask(`${base}/queue`)))[0]?.status).toBe(404);
  });
});

describe('HTTPS', () => {
  it('is used when a certificate is configured, and plain HTTP is refused', async () => {
    const { url, port } = await start({ tls: selfSigned });
    expect(url).toBe(`https://127.0.0.1:${port}${base}`);
    let headers: IncomingHttpHeaders = {};
    const body = await new Promise<string>((resolve, reject) => {
      httpsGet(`${url}/health/live`, { ca: selfSigned.cert }, (response) => {
        ({ headers } = response);
        response.setEncoding('utf8').on('data', resolve);
      }).on('error', reject);
    });
    expect(body).toBe('{"errorCode":0,"errorMessage":""}');
    expect(headers).toMatchObject({ 'strict-transport-security': 'max-age=31536000', 'referrer-policy': 'no-referrer' });
    // A plain HTTP request gets the reason.
    const plain = await fetch(`http://127.0.0.1:${port}${base}/health/live`);
    expect([plain.status, await plain.json()]).toEqual([
      400,
      { errorCode: 40, errorMessage: 'Invalid_Request: This port speaks HTTPS: the URL must begin with https://.' },
    ]);
  });
});

describe('a response over plain HTTP', () => {
  it('has no HSTS, unless the proxy in front uses HTTPS, and sends no referrer', async () => {
    const { url } = await start({ trustedProxies: ['127.0.0.0/8'] });
    const plain = await fetch(`${url}/health/live`);
    expect([plain.headers.get('strict-transport-security'), plain.headers.get('referrer-policy')]).toEqual([null, 'no-referrer']);
    const behind = await fetch(`${url}/nowhere`, { headers: { 'x-forwarded-proto': 'https' } });
    expect([behind.status, behind.headers.get('strict-transport-security')]).toEqual([404, 'max-age=31536000']);
  });
});

describe('metrics', () => {
  it('need the metrics token or the admin token, always', async () => {
    const { url } = await start({ isMetricsToken: createTokenCheck('canary-metrics-token-0123456789') });
    const ask = (authorization?: string) => fetch(`${url}/metrics`, { headers: authorization === undefined ? {} : { authorization } });
    for (const authorization of [undefined, '', 'Bearer', 'Bearer wrong', `Basic ${adminToken}`]) {
      const answer = await ask(authorization);
      expect([answer.status, answer.headers.get('www-authenticate'), ((await answer.json()) as { errorCode: number }).errorCode]).toEqual([
        401,
        'Bearer',
        10,
      ]);
    }
    expect((await ask('Bearer canary-metrics-token-0123456789')).status).toBe(200);
    expect((await ask(`Bearer ${adminToken}`)).status).toBe(200);
    // The metrics token has no other access.
    const things = await fetch(`${url}/cabinet/api/things`, {
      method: 'POST',
      headers: { authorization: 'Bearer canary-metrics-token-0123456789' },
    });
    expect(things.status).toBe(401);
  });
});

describe('the base path', () => {
  it.each(['', '/shop/gateway'])('may be %j', async (basePath) => {
    const { url } = await start({ basePath });
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
    expect((await fetch(`${url}/openapi.json`).then((response) => response.json())) as object).toHaveProperty(['paths', '/health/live']);
    expect(await (await fetch(`${url}/docs`)).text()).toContain(`src="${basePath}/docs/start.js"`);
  });
});

describe('health and metrics', () => {
  it('ready returns the state of each mode, and 503 for one that is down', async () => {
    const ready = { modes: { POS: 'down', QR: 'up', Fiscal: 'partly' }, channels: { mqtt: false, queue: true } } as const;
    const { url } = await start({ readiness: async () => ready });
    const ask = async (query: string) => {
      const response = await fetch(`${url}/health/ready${query}`);
      return [response.status, await response.json()];
    };
    for (const query of ['', '?mode=QR', '?mode=Fiscal'])
      expect(await ask(query)).toEqual([200, { errorCode: 0, errorMessage: '', ...ready }]);
    expect(await ask('?mode=POS')).toEqual([503, { errorCode: 1, errorMessage: 'Internal_error: POS Mode is down.' }]);
    expect(await ask('?mode=pos')).toEqual([400, { errorCode: 40, errorMessage: expect.stringContaining('mode') }]);
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
  });

  it('ready returns 503 with the code of a database that is down', async () => {
    const away = new GatewayError('Error_Connection_Database', 'The database cannot be reached.');
    const { url } = await start({ readiness: () => Promise.reject(away) });
    const response = await fetch(`${url}/health/ready`);
    expect([response.status, response.headers.get('retry-after'), await response.json()]).toEqual([
      503,
      '1',
      { errorCode: 2, errorMessage: 'Error_Connection_Database: The database cannot be reached.' },
    ]);
    // Whoever sends calls here goes on: their answers are errorCode 2, in the envelope [D290].
    expect((await fetch(`${url}/health/accepting`)).status).toBe(200);
  });

  it('counts requests by route and errorCode, and includes the metrics of other rooms', async () => {
    const metrics = createMetrics();
    metrics.gauge('tillgate_pool', 'Connections.', () => 3);
    metrics.gauges('tillgate_callbacks', 'Callbacks by state.', ['state'], async () => [{ labels: { state: 'dead' }, value: 2 }]);
    metrics.gauge('tillgate_broken', 'A source that is away.', () => {
      throw new Error('away');
    });
    const { url } = await start({ metrics });
    await fetch(`${url}/test/database`, { method: 'POST' });
    await fetch(`${url}/nowhere/1`);
    await fetch(`${url}/nowhere/2`);
    const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${adminToken}` } });
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
    const lines = (await response.text()).split('\n');
    expect(lines).toContain(`tillgate_http_request_duration_seconds_count{method="POST",route="${base}/test/database",error_code="2"} 1`);
    expect(lines).toContain('tillgate_http_request_duration_seconds_count{method="GET",route="unmatched",error_code="40"} 2');
    expect(lines).toContain('tillgate_pool 3');
    expect(lines).toContain('tillgate_callbacks{state="dead"} 2');
    expect(lines.some((line) => line.startsWith('nodejs_eventloop_lag_p99_seconds '))).toBe(true);
    expect(lines.some((line) => line.startsWith('tillgate_broken '))).toBe(false);
  });
});
