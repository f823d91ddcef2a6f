// Authentication [D8 to D11]: credentials, the order of checks, and rate limits.
import { afterEach, describe, expect, it } from 'vitest';
import { createTokenCheck } from '../../src/http/authentication.ts';
import type { HttpServerOptions } from '../../src/http/server.ts';
import { GatewayError } from '../../src/kernel/error-codes.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { adminToken, base, createSample, deviceId, deviceSecret, posKey, qrKey, type Sample } from './sample-server.ts';

const samples: Sample[] = [];
afterEach(() => Promise.all(samples.splice(0).map(({ server }) => server.stop(0))));

function start(overrides: Partial<HttpServerOptions> = {}) {
  const sample = createSample(overrides);
  samples.push(sample);
  const { app } = sample.server;
  const call = async (method: 'GET' | 'POST', path: string, headers: Record<string, string> = {}, payload?: object) => {
    const response = await app.inject({ method, url: `${base}${path}`, headers, ...(payload === undefined ? {} : { payload }) });
    return { status: response.statusCode, code: response.json().errorCode as number, body: response.json(), headers: response.headers };
  };
  return {
    sample,
    get: (path: string, headers = {}) => call('GET', path, headers),
    post: (path: string, payload: object, headers = {}) => call('POST', path, headers, payload),
  };
}
const unknownKey = (n: number) => `99999999-9999-4999-8999-${String(n).padStart(12, '0')}`;
const good = { DeviceID: deviceId, amount: 1 };

describe('a key', () => {
  it('is accepted in the query of a GET, the body of a POST or the header', async () => {
    const { get, post } = start();
    expect((await get(`/Device/sample/Status?DeviceID=a&APIKey=${posKey}`)).code).toBe(0);
    expect((await get('/Device/sample/Status?DeviceID=a', { 'x-api-key': posKey })).code).toBe(0);
    expect((await post('/Device/sample/Pay', { ...good, APIKey: posKey.toUpperCase() })).code).toBe(0);
    expect((await post('/Device/sample/Pay', good, { 'x-api-key': posKey })).code).toBe(0);
    expect((await post('/Device/sample/Pay', { ...good, APIKey: '' }, { 'x-api-key': posKey })).code).toBe(0);
    // The key of a POST may not be in its URL, which logs and proxies store.
    expect((await post(`/Device/sample/Pay?APIKey=${posKey}`, good)).code).toBe(10);
  });

  it.each([
    ['missing', undefined],
    ['empty', ''],
    ['null', null],
    ['no UUID', 'abc'],
    ['a number', 5],
    ['a list', [posKey]],
    ['unknown', unknownKey(1)],
  ])('that is %s is 10 with HTTP 200', async (_name, APIKey) => {
    const { post } = start();
    const answer = await post('/Device/sample/Pay', { ...good, APIKey });
    expect([answer.status, answer.code]).toEqual([200, 10]);
  });

  it('given twice in a query is 10', async () => {
    expect((await start().get(`/Device/sample/Status?DeviceID=a&APIKey=${posKey}&APIKey=${posKey}`)).code).toBe(10);
  });

  it('without access to the module is 11; access to one of several is enough', async () => {
    const { post, get } = start();
    expect((await post('/Device/sample/Pay', { ...good, APIKey: qrKey })).code).toBe(11);
    expect((await post('/Device/sample/Pay', { ...good, APIKey: posKey })).code).toBe(0);
    expect((await get(`/Device/sample/Status?DeviceID=a&APIKey=${qrKey}`)).code).toBe(11);
  });

  it('is judged before the other fields', async () => {
    const { post, sample } = start();
    expect((await post('/Device/sample/Pay', {})).code).toBe(10);
    expect((await post('/Device/sample/Pay', { APIKey: unknownKey(1) })).code).toBe(10);
    expect((await post('/Device/sample/Pay', { APIKey: qrKey })).code).toBe(11);
    expect((await post('/Device/sample/Pay', { APIKey: posKey })).code).toBe(40);
    expect(sample.runs['Pay']).toBeUndefined();
  });

  it('is 2 while the database is down', async () => {
    const { post } = start({
      findCaller: async () => {
        throw new GatewayError('Error_Connection_Database', 'The database is offline.');
      },
    });
    expect((await post('/Device/sample/Pay', { ...good, APIKey: posKey })).code).toBe(2);
  });
});

describe('an optional key', () => {
  const basic = (id: string, secret: string) => ({ authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` });

  it('may be absent; if present, it must be valid and have access to the module', async () => {
    const { get } = start();
    expect((await get('/Invoice/sample?QR=a')).body).toEqual({ errorCode: 0, errorMessage: '' });
    expect((await get(`/Invoice/sample?QR=a&APIKey=${qrKey}`)).body.merchant).toBe('merchant-qr');
    expect((await get('/Invoice/sample?QR=a&APIKey=x')).code).toBe(10);
    expect((await get(`/Invoice/sample?QR=a&APIKey=${unknownKey(1)}`)).code).toBe(10);
    expect((await get(`/Invoice/sample?QR=a&APIKey=${posKey}`)).code).toBe(11);
  });

  it("may be a device's own credential, which must be valid as well", async () => {
    const { get } = start();
    expect((await get('/Invoice/sample?QR=a', basic(deviceId.toUpperCase(), deviceSecret))).body.device).toBe(deviceId);
    expect((await get('/Invoice/sample?QR=a', basic(deviceId, 'wrong'))).code).toBe(10);
    expect((await get('/Invoice/sample?QR=a', basic('x', deviceSecret))).code).toBe(10);
    expect((await get('/Invoice/sample?QR=a', { authorization: 'Basic' })).code).toBe(10);
    expect((await get('/Device/sample/Status?DeviceID=a', basic(deviceId, deviceSecret))).code).toBe(10);
  });

  it('can be required: a key or a device credential', async () => {
    const { get } = start();
    expect((await get('/Invoice/guarded')).code).toBe(10);
    expect((await get(`/Invoice/guarded?APIKey=${qrKey}`)).code).toBe(0);
    expect((await get('/Invoice/guarded', basic(deviceId, deviceSecret))).code).toBe(0);
  });
});

describe('the cabinet API', () => {
  it('needs the admin token, otherwise HTTP 401', async () => {
    const { post } = start();
    const things = (headers: Record<string, string>) => post('/cabinet/api/things', { name: 'a' }, headers);
    expect((await things({ authorization: `Bearer ${adminToken}` })).body).toEqual({
      errorCode: 0,
      errorMessage: '',
      id: '1',
      actor: 'admin token',
    });
    for (const authorization of ['', 'Bearer', 'Bearer wrong', `Basic ${adminToken}`, adminToken]) {
      const answer = await things({ authorization });
      expect([answer.status, answer.code, answer.headers['www-authenticate']]).toEqual([401, 10, 'Bearer']);
    }
    expect((await post('/cabinet/api/things', { APIKey: posKey })).status).toBe(401);
  });

  it('is closed without a configured token', () => {
    expect([undefined, ''].flatMap((token) => ['', 'x'].map((candidate) => createTokenCheck(token)(candidate)))).toEqual([
      false,
      false,
      false,
      false,
    ]);
    expect(createTokenCheck('secret')('secret')).toBe(true);
    expect(createTokenCheck('secret')('secre')).toBe(false);
  });
});

describe('rate limits', () => {
  it('hold each key to its rate: 41 with HTTP 429 and Retry-After, and not its neighbour', async () => {
    const clock = createVirtualClock();
    const { get } = start({ clock, rateLimitPerS: 5 });
    const status = () => get(`/Device/sample/Status?DeviceID=a&APIKey=${posKey}`);
    const codes = [];
    for (let n = 0; n < 7; n += 1) codes.push((await status()).code);
    expect(codes).toEqual([0, 0, 0, 0, 0, 41, 41]);
    const refused = await status();
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '1']);
    expect((await get(`/Invoice/sample?QR=a&APIKey=${qrKey}`)).code).toBe(0);
    await clock.advance(400);
    expect([(await status()).code, (await status()).code, (await status()).code]).toEqual([0, 0, 41]);
  });

  it('never refuse a right key, secret or token because of wrong ones from the same address', async () => {
    const { get, post } = start();
    const basic = (secret: string) => ({ authorization: `Basic ${Buffer.from(`${deviceId}:${secret}`).toString('base64')}` });
    const wrong = Array.from({ length: 500 }, (_, n) => [
      get(`/Device/sample/Status?DeviceID=a&APIKey=${unknownKey(n)}`),
      get('/Invoice/sample?QR=a', basic(`wrong ${n}`)),
      post('/cabinet/api/things', { name: 'a' }, { authorization: `Bearer wrong ${n}` }),
    ]).flat();
    expect(new Set((await Promise.all(wrong)).map(({ code }) => code))).toEqual(new Set([10]));
    expect((await get(`/Device/sample/Status?DeviceID=a&APIKey=${posKey}`)).code).toBe(0);
    expect((await get('/Invoice/sample?QR=a', basic(deviceSecret))).code).toBe(0);
    expect((await post('/cabinet/api/things', { name: 'a' }, { authorization: `Bearer ${adminToken}` })).code).toBe(0);
  });
});

describe('a route', () => {
  it('without declared access is refused at start', async () => {
    const { sample } = start();
    sample.server.routes((app) => {
      app.get('/forgotten', async () => ({}));
    });
    await expect(sample.server.app.ready()).rejects.toThrow(/\/forgotten declares no access/);
    samples.pop();
  });
});
