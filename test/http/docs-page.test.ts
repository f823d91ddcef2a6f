// Cost of the API reference: its documents are built once, and a large file is streamed.
import { readFile } from 'node:fs/promises';
import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, expect, it } from 'vitest';
import { open } from '../../src/http/authentication.ts';
import { registerDocsPage } from '../../src/http/docs-page.ts';
import type { Demo } from '../../src/http/examples.ts';
import { adminToken, base, createSample } from './sample-server.ts';

let app: FastifyInstance;
let demo: Demo;
let looks: number;
afterEach(() => app.close());

function create(): void {
  app = fastify();
  [demo, looks] = [{}, 0];
  const document = {
    info: { description: '' },
    tags: [],
    components: {},
    get paths() {
      looks += 1;
      return {};
    },
  };
  registerDocsPage(app, { basePath: '', read: async () => document, demo: () => demo, access: open });
}

it.each(['/docs/openapi.json', '/docs/cabinet.json', '/openapi.json'])('%s is built once, however often it is requested', async (url) => {
  create();
  const first = await app.inject(url);
  const cost = looks;
  expect(cost).toBeGreaterThan(0);
  const second = await app.inject(url);
  expect([second.statusCode, second.body, looks]).toEqual([200, first.body, cost]);
  // A sandbox gets its key a moment later.
  demo = { apiKey: 'the-key-of-the-sandbox' };
  expect((await app.inject(url)).body.includes('the-key-of-the-sandbox')).toBe(url !== '/openapi.json');
});

it('a streamed file arrives complete, with its length', async () => {
  create();
  const name = 'swagger-ui-bundle.js';
  const file = await readFile(new URL(`../../web/reference/${name}`, import.meta.url));
  const answer = await app.inject(`/docs/${name}`);
  expect(answer.headers['content-length']).toBe(String(file.length));
  expect(answer.rawPayload.equals(file)).toBe(true);
});

it('at most two chunks of an unread file are read', async () => {
  create();
  let taken = 0;
  app.addHook('onSend', async (_request, reply, payload) => {
    (payload as NodeJS.ReadableStream).on('data', (piece: Buffer) => (taken += piece.length));
    // A write that returns false pauses the stream.
    reply.raw.write = () => false;
    return payload;
  });
  void app.inject('/docs/swagger-ui-bundle.js').catch(() => {});
  await expect.poll(() => taken).toBeGreaterThan(0);
  await new Promise((resolve) => setImmediate(resolve));
  expect(taken).toBeLessThanOrEqual(128 * 1024);
});

it.each([
  ['public', 200],
  ['cabinet', 401],
] as const)('every path of a %s reference is answered %d without a credential, and 200 with one', async (apiReference, status) => {
  create();
  const sample = createSample({ apiReference });
  for (const path of ['/docs', '/docs/cabinet', '/docs/start.js', '/docs/openapi.json', '/docs/cabinet.json', '/openapi.json']) {
    const get = (headers: Record<string, string> = {}) => sample.server.app.inject({ url: `${base}${path}`, headers });
    expect((await get()).statusCode, path).toBe(status);
    expect((await get({ authorization: `Bearer ${adminToken}` })).statusCode, path).toBe(200);
  }
  await sample.server.stop(0);
});
