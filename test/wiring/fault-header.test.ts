// The header Tillgate-Fault selects a fault for one request: it ends with the request, and reaches only the caller's own devices.

import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';
import { keyFor } from '../../src/http/authentication.ts';
import { type FaultRequest, watchFaultHeader } from '../../src/wiring/fault-header.ts';
import { createTestServer } from '../support/test-server.ts';

const key = '11111111-1111-4111-8111-111111111111';
const device = '22222222-2222-4222-8222-222222222222';

function serve() {
  const asked: FaultRequest[] = [];
  let open = 0;
  const server = createTestServer({
    basePath: '/tillgate',
    findDevice: async () => undefined,
    isAdminToken: () => false,
    findCaller: async (apiKey) => (apiKey === key ? { merchantId: 'm', keyId: 'k', modules: new Set(['POS'] as const) } : undefined),
  });
  watchFaultHeader(server.app, () => ({
    select(request) {
      asked.push(request);
      if (request.fault === 'none') return ['declined'];
      open += 1;
      return () => {
        open -= 1;
      };
    },
  }));
  let openWithin = 0;
  let ran = 0;
  server.routes((app) =>
    app.post('/Device/sample', { config: { access: keyFor('POS') }, schema: { body: Type.Object({}) } }, async () => {
      openWithin = open;
      ran += 1;
      return {};
    }),
  );
  const post = (payload: object, headers: Record<string, string> = { 'tillgate-fault': 'declined' }) =>
    server.app.inject({ method: 'POST', url: '/tillgate/Device/sample', payload, headers });
  return { asked, post, left: () => open, within: () => openWithin, ran: () => ran };
}

describe('Tillgate-Fault', () => {
  it('is selected while the request is in progress, for its device and document', async () => {
    const { asked, post, left, within } = serve();
    expect((await post({ APIKey: key, DeviceID: device.toUpperCase(), documentNr: 'D' })).json()).toMatchObject({ errorCode: 0 });
    await post({ APIKey: key, DeviceID: device, Receipt: { Uid: 'U' } });
    await post({ APIKey: key, DeviceID: device, documentNr: null, Receipt: 'none' });
    expect(asked).toEqual(['D', 'U', undefined].map((document) => ({ merchantId: 'm', deviceId: device, document, fault: 'declined' })));
    expect([within(), left()]).toEqual([1, 0]);
  });

  it('is 40 with the names when the device has none of that name', async () => {
    const answer = await serve().post({ APIKey: key, DeviceID: device }, { 'tillgate-fault': 'none' });
    expect(answer.json()).toEqual({
      errorCode: 40,
      errorMessage:
        'Invalid_Request: Tillgate-Fault must be one of declined for this device, or internal-error, database-down, offline, too-many-requests.',
    });
  });

  it.each([
    ['internal-error', 1, undefined],
    ['database-down', 2, undefined],
    ['offline', 30, undefined],
    ['too-many-requests', 41, '1'],
  ])('%s is the answer %i of the gateway, once per document or key and for each path', async (fault, errorCode, retryAfter) => {
    const { asked, post, ran } = serve();
    const send = async (more: object, headers = {}) => {
      const answer = await post({ APIKey: key, DeviceID: device, ...more }, { 'tillgate-fault': fault, ...headers });
      expect(answer.headers['retry-after']).toBe(answer.json<{ errorCode: number }>().errorCode === 0 ? undefined : retryAfter);
      return answer.json<{ errorCode: number }>().errorCode;
    };
    expect([await send({ documentNr: 'D' }), await send({ documentNr: 'd' })]).toEqual([errorCode, 0]);
    expect([await send({}, { 'idempotency-key': 'k' }), await send({}, { 'idempotency-key': 'k' })]).toEqual([errorCode, 0]);
    expect([await send({}), await send({}), await send({ DeviceID: undefined })]).toEqual([errorCode, errorCode, errorCode]);
    expect(ran()).toBe(2);
    expect(asked).toEqual([]);
  });

  it('selects nothing without a good key, without a device and without the header', async () => {
    const { asked, post } = serve();
    await post({ APIKey: device, DeviceID: device });
    await post({ APIKey: key });
    await post({ APIKey: key, DeviceID: 5 });
    await post({ APIKey: key, DeviceID: device }, {});
    expect(asked).toEqual([]);
  });
});
