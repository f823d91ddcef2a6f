// What a call to a device takes from its request, whichever route it came by.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { keyFor } from '../../src/http/authentication.ts';
import type { HttpServer } from '../../src/http/server.ts';
import { deviceCallOf } from '../../src/ledger/calls/device-call.ts';
import { base, createSample, deviceId, posKey } from '../http/sample-server.ts';

let server: HttpServer;
beforeAll(() => {
  ({ server } = createSample());
  server.routes((app) => {
    app.post('/test/call', { config: { access: keyFor('POS') }, schema: { hide: true } }, async (request, reply) => {
      const { DeviceID } = request.body as { DeviceID: string };
      const { recipient, hashRequest, ...call } = deviceCallOf(request, reply, DeviceID, 'Receipt');
      return { ...call, requestHash: hashRequest?.(), hasLeft: recipient?.hasLeft() };
    });
  });
});
afterAll(() => server.stop(0));

async function ask(body: object, headers: object = {}) {
  const response = await server.app.inject({ method: 'POST', url: `${base}/test/call`, headers: { ...headers }, payload: body });
  return response.json() as { errorCode: number; origin: { request: string }; requestHash: string };
}

it('has the key’s merchant, the device as stored, key and content for recognition, and is stored without its receipt', async () => {
  const body = { APIKey: posKey, DeviceID: deviceId.toUpperCase(), Receipt: { Items: [] } };
  const call = await ask(body, { 'idempotency-key': 'k' });
  expect(call).toMatchObject({
    ...{ merchantId: 'merchant-pos', deviceId, hasLeft: false },
    idempotency: { key: 'k', requestHash: call.requestHash },
    origin: { caller: 'key key-pos' },
  });
  expect(call.requestHash).toMatch(/^[0-9a-f]{64}$/);
  expect(JSON.parse(call.origin.request)).toEqual({
    ...{ method: 'POST', path: `${base}/test/call`, idempotencyKey: 'k' },
    body: { DeviceID: deviceId.toUpperCase() },
  });
});

it('without a key is recognised by its content alone', async () => {
  const call = await ask({ APIKey: posKey, DeviceID: deviceId });
  expect(call).not.toHaveProperty('idempotency');
  expect(call.requestHash).toMatch(/^[0-9a-f]{64}$/);
});

it('for an invalid device id is 40', async () => {
  expect((await ask({ APIKey: posKey, DeviceID: 'till 1' })).errorCode).toBe(40);
});
