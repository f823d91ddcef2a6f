// The files of the cabinet: pages, assets and unknown paths, each with its security and cache headers.
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { temporaryDirectory } from '../support/gateway-process.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { base, createSample, type Sample } from './sample-server.ts';

const script = 'console.log("the cabinet");';
let sample: Sample;

beforeAll(() => {
  const directory = temporaryDirectory();
  mkdirSync(`${directory}/assets`);
  writeFileSync(
    `${directory}/index.html`,
    '<html data-base-path="/elsewhere"><script src="./first-paint.js"></script><link href="./assets/index-Ab12.css">',
  );
  writeFileSync(`${directory}/first-paint.js`, 'theme();');
  writeFileSync(`${directory}/assets/index-Ab12.js`, script);
  writeFileSync(`${directory}/assets/index-Ab12.js.gz`, gzipSync(script));
  writeFileSync(`${directory}/sources.sha256`, 'not for browsers');
  sample = createSample({ cabinetDirectory: pathToFileURL(`${directory}/`) });
});
afterAll(() => sample.server.stop(0));

const get = (path: string, headers: Record<string, string> = {}) => sample.server.app.inject({ url: `${base}${path}`, headers });

describe('the cabinet', () => {
  it.each(['/cabinet', '/cabinet/', '/cabinet/payments', '/cabinet/payments/7a1e4c20-5e6f-4a7b-8c9d-0e1f2a3b2c31', '/Cabinet/Keys'])(
    'shows its page at %s, with addresses that hold at every depth',
    async (path) => {
      const answer = await get(path);
      expect(answer.statusCode).toBe(200);
      expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
      expect(answer.headers['cache-control']).toBe('no-store');
      expect(answer.body).toBe(
        `<html data-base-path="${base}"><script src="${base}/cabinet/first-paint.js"></script><link href="${base}/cabinet/assets/index-Ab12.css">`,
      );
    },
  );

  it('restricts a page to this origin, without inline scripts', async () => {
    const policy = String((await get('/cabinet')).headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("style-src 'self';");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    expect(policy).toContain("frame-ancestors 'none'");
  });

  it('caches files with a hash in their name for good, and others not at all', async () => {
    const hashed = await get('/cabinet/assets/index-Ab12.js');
    expect(hashed.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect(hashed.headers['content-type']).toBe('text/javascript; charset=utf-8');
    expect(hashed.body).toBe(script);
    expect((await get('/cabinet/first-paint.js')).headers['cache-control']).toBe('no-store');
  });

  it('sends a precompressed body to a client that accepts it', async () => {
    const answer = await get('/cabinet/assets/index-Ab12.js', { 'accept-encoding': 'gzip, deflate, br' });
    expect(answer.headers['content-encoding']).toBe('gzip');
    expect(answer.headers['vary']).toBe('accept-encoding');
    expect(gunzipSync(answer.rawPayload).toString()).toBe(script);
  });

  it.each([
    '/cabinet/api/nothing',
    '/cabinet/api',
    '/cabinet/assets/gone-Cd34.js',
    '/cabinet/sources.sha256',
    '/cabinet/../package.json',
    '/cabinet/%2e%2e/package.json',
  ])('serves its page at %s, with absolute asset paths', async (path) => {
    const answer = await get(path, { accept: 'text/html' });
    expect(answer.statusCode).toBe(404);
    expect(answer.json()).toMatchObject({ errorCode: 40 });
  });

  it('does not change other methods of the API: 405 with the allowed one, or 404', async () => {
    const wrong = await get('/cabinet/api/things');
    expect([wrong.statusCode, wrong.headers['allow']]).toEqual([405, 'POST']);
    const nowhere = await sample.server.app.inject({ method: 'POST', url: `${base}/cabinet/api/nothing` });
    expect(nowhere.statusCode).toBe(404);
  });
});

describe('{base_url}', () => {
  it('redirects a browser to the cabinet', async () => {
    for (const path of ['', '/']) {
      const answer = await get(path, { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' });
      expect([answer.statusCode, answer.headers['location']]).toEqual([302, `${base}/cabinet`]);
    }
  });

  it('is 404 for all other clients', async () => {
    for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }]) {
      const answer = await get('', headers);
      expect([answer.statusCode, answer.json().errorCode]).toEqual([404, 40]);
    }
  });
});

describe('a gateway whose cabinet is not built', () => {
  it('serves a page that says so, and what to do', async () => {
    const bare = createSample({ cabinetDirectory: pathToFileURL(`${temporaryDirectory()}/nowhere/`) });
    const answer = await bare.server.app.inject({ url: `${base}/cabinet/payments` });
    expect(answer.body).toContain('npm run web');
    await bare.server.stop(0);
  });
});

describe('a build that is older than its sources', () => {
  it.each([
    ['older', 1_000, 1],
    ['newer', 9_000, 0],
  ])('is logged when it is %s', async (_word, builtAtS, warnings) => {
    const directory = temporaryDirectory();
    mkdirSync(`${directory}/dist`);
    mkdirSync(`${directory}/src`);
    writeFileSync(`${directory}/dist/sources.sha256`, '');
    writeFileSync(`${directory}/src/main.tsx`, '');
    utimesSync(`${directory}/dist/sources.sha256`, builtAtS, builtAtS);
    utimesSync(`${directory}/src/main.tsx`, 5_000, 5_000);
    const warn = vi.fn();
    const old = createSample({ cabinetDirectory: pathToFileURL(`${directory}/dist/`), logger: { ...quietLogger, warn } });
    await old.server.app.inject({ url: `${base}/cabinet` });
    await old.server.app.inject({ url: `${base}/cabinet` });
    expect(warn).toHaveBeenCalledTimes(warnings);
    await old.server.stop(0);
  });
});
