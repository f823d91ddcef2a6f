// Recognition of a repeated POST [D13].
import { EventEmitter } from 'node:events';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { open } from '../../src/http/authentication.ts';
import { idempotencyKeyOf, idempotencyOf, recognitionOf, requestHash } from '../../src/http/idempotency-key.ts';
import type { HttpServer } from '../../src/http/server.ts';
import { base, createSample, posKey } from './sample-server.ts';

let server: HttpServer;
beforeAll(() => {
  ({ server } = createSample());
  server.routes((app) => {
    app.post('/test/idempotency', { config: { access: open }, schema: { hide: true } }, async (request) => ({
      ...{ of: idempotencyOf(request) ?? null, hash: requestHash(request) },
    }));
  });
});
afterAll(() => server.stop(0));

async function ask(body: unknown, headers: Record<string, string> = {}, path = '/test/hash') {
  const payload = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await server.app.inject({
    method: 'POST',
    url: `${base}${path}`,
    headers: { 'content-type': 'application/json', ...headers },
    payload,
  });
  return response.json() as { errorCode: number; errorMessage: string; hash: string; key: string | null };
}

it('hashes the same content alike, whatever the field order, path spelling and key', async () => {
  const { hash } = await ask({ a: 1, b: { c: [1, 2], d: 'x' } });
  expect(hash).toMatch(/^[0-9a-f]{64}$/);
  expect((await ask('{ "b": {"d":"x","c":[1,2]}, "a": 1.0 }')).hash).toBe(hash);
  expect((await ask({ APIKey: posKey, a: 1, b: { c: [1, 2], d: 'x' } }, {}, '/TEST/Hash')).hash).toBe(hash);
});

it.each([
  [{ a: 1 }, { a: '1' }],
  [{ a: 1 }, { a: 2 }],
  [{ a: [1, 2] }, { a: [2, 1] }],
  [{ a: { b: 1 } }, { a: [['b', 1]] }],
  [{ a: null }, {}],
])('hashes %j and %j differently', async (one, other) => {
  expect((await ask(one)).hash).not.toBe((await ask(other)).hash);
});

it('reads the header, and refuses an invalid key', async () => {
  expect((await ask({})).key).toBeNull();
  expect((await ask({}, { 'idempotency-key': 'k'.repeat(255) })).key).toBe('k'.repeat(255));
  for (const value of ['', 'a b', 'k'.repeat(256), 'caf\u00e9']) {
    expect((await ask({}, { 'idempotency-key': value })).errorMessage).toBe(
      'Invalid_Request: Idempotency-Key must be 1 to 255 visible ASCII characters.',
    );
  }
});

it('returns the key with the request hash, or nothing without a key', async () => {
  const asked = async (headers?: Record<string, string>) =>
    (await ask({ a: 1 }, headers, '/test/idempotency')) as unknown as { of: unknown; hash: string };
  const { of, hash } = await asked({ 'idempotency-key': 'k' });
  expect(of).toEqual({ key: 'k', requestHash: hash });
  expect((await asked()).of).toBeNull();
});

describe('a call', () => {
  const call = (body: unknown, headers: Record<string, unknown> = {}, url: string | undefined = '/Device/payment/Pay') =>
    ({ method: 'POST', body, headers, routeOptions: { url } }) as unknown as FastifyRequest;

  it('has a stable hash: rows of earlier versions store it', () => {
    expect(requestHash(call({ b: [1, 'x'], a: { d: null, c: true }, APIKey: 'k' }))).toBe(
      '809479b2fa1223d526e4093d9711bb910b6f46d915d8c0de695fc5c4cea7250d',
    );
  });

  it('has another hash at another path, and if its body is no object', () => {
    const hashes = [call({}), call({}, {}, '/Device/payment/Refund'), call(null), call('ab'), call({ 0: 'a', 1: 'b' })].map(requestHash);
    expect(new Set(hashes).size).toBe(hashes.length);
  });

  it('with two keys is refused', () => {
    expect(() => idempotencyKeyOf(call({}, { 'idempotency-key': ['k', 'l'] }))).toThrow('visible ASCII');
  });

  it('is recognised by its key and its hash, with the waiting caller', async () => {
    const raw = Object.assign(new EventEmitter(), { destroyed: true, writableFinished: false, socket: null });
    const recognise = (headers?: Record<string, unknown>) => recognitionOf(call({ a: 1 }, headers), { raw } as unknown as FastifyReply);
    const asked = requestHash(call({ a: 1 }));
    const keyed = recognise({ 'idempotency-key': 'k' });
    expect([keyed.idempotency, keyed.hashRequest()]).toEqual([{ key: 'k', requestHash: asked }, asked]);
    expect([keyed.recipient.hasLeft(), await keyed.recipient.received]).toEqual([true, false]);
    const bare = recognise();
    expect([bare.idempotency, bare.hashRequest()]).toEqual([undefined, asked]);
  });

  it('is hashed on demand without a key, and at once with one', () => {
    const raw = Object.assign(new EventEmitter(), { destroyed: true, writableFinished: false, socket: null });
    let reads = 0;
    const body = {
      get a() {
        return ++reads;
      },
    };
    const recognise = (headers?: Record<string, unknown>) => recognitionOf(call(body, headers), { raw } as unknown as FastifyReply);
    const bare = recognise();
    expect(reads).toBe(0);
    bare.hashRequest();
    expect(reads).toBe(1);
    recognise({ 'idempotency-key': 'k' }).hashRequest();
    expect(reads).toBe(2);
  });
});
