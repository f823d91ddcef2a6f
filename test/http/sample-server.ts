// A server with a few sample routes, for the tests of the http room.
import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import { callerOf, createTokenCheck, deviceCallerOf, keyFor, open, optionalCallerOf, optionalKey } from '../../src/http/authentication.ts';
import { idempotencyKeyOf, requestHash } from '../../src/http/idempotency-key.ts';
import {
  adminAnswers,
  amountField,
  answers,
  dateTimeField,
  idempotencyHeaders,
  keyField,
  openAnswers,
  readAmount,
  textField,
  uuidField,
} from '../../src/http/schemas.ts';
import type { HttpServer, HttpServerOptions, RouteApp } from '../../src/http/server.ts';
import { actorOf, optionalViewerOf } from '../../src/http/viewer.ts';
import type { Caller } from '../../src/kernel/callers.ts';
import { GatewayError } from '../../src/kernel/error-codes.ts';
import { baniToLei } from '../../src/kernel/money.ts';
import { createTestServer } from '../support/test-server.ts';

export const posKey = '11111111-1111-4111-8111-111111111111';
export const qrKey = '22222222-2222-4222-8222-222222222222';
export const deviceId = '33333333-3333-4333-8333-333333333333';
export const deviceSecret = 'canary-device-secret';
export const adminToken = 'canary-admin-token-0123456789';
export const base = '/tillgate';

const callers: Record<string, Caller> = {
  [posKey]: { merchantId: 'merchant-pos', keyId: 'key-pos', modules: new Set(['POS']) },
  [qrKey]: { merchantId: 'merchant-qr', keyId: 'key-qr', modules: new Set(['QR']) },
};

export interface Sample {
  server: HttpServer;
  /** Lets the handler of /test/slow return. */
  release(): void;
  /** How many times each handler ran. */
  readonly runs: Record<string, number>;
  lookups: number;
}

export function createSample(overrides: Partial<HttpServerOptions> = {}): Sample {
  const runs: Record<string, number> = {};
  let releaseSlow: () => void = () => {};
  const sample = { runs, lookups: 0, release: () => releaseSlow() } as Sample;
  const slow = new Promise<void>((resolve) => {
    releaseSlow = resolve;
  });
  const server = createTestServer({
    basePath: base,
    findCaller: async (key) => {
      sample.lookups += 1;
      return callers[key];
    },
    findDevice: async (id, secret) => (id === deviceId && secret === deviceSecret ? { deviceId, merchantId: 'merchant-qr' } : undefined),
    isAdminToken: createTokenCheck(adminToken),
    ...overrides,
  });
  sample.server = server;
  const ran = (name: string) => {
    runs[name] = (runs[name] ?? 0) + 1;
  };

  server.routes((app: RouteApp) => {
    app.post(
      '/Device/sample/Pay',
      {
        config: { access: keyFor('POS', 'Fiscal') },
        schema: {
          tags: ['POS Mode'],
          operationId: 'samplePay',
          summary: 'A sample payment',
          headers: idempotencyHeaders,
          body: Type.Object(
            {
              APIKey: keyField,
              DeviceID: uuidField('Terminal id.'),
              amount: amountField('Amount in MDL.'),
              documentNr: Type.Optional(uuidField('Internal document number.')),
              note: Type.Optional(textField('A remark.', 20)),
              items: Type.Optional(Type.Array(Type.Object({ Name: Type.String({ maxLength: 50 }) }), { maxItems: 5, minItems: 1 })),
              fiscal: Type.Optional(Type.Boolean()),
              validTo: Type.Optional(dateTimeField('A limit.')),
            },
            { examples: [{ APIKey: posKey, DeviceID: deviceId, amount: 10.5 }] },
          ),
          response: answers(
            { description: 'The payment.', example: { report: '{"rrn":"1"}' } },
            'Device_Offline',
            'Device_Busy',
            'Timeout_or_no_response',
          ),
        },
      },
      async (request) => {
        ran('Pay');
        const amountBani = readAmount('amount', request.body.amount);
        return { report: JSON.stringify({ amount: baniToLei(amountBani) }), merchant: callerOf(request).merchantId };
      },
    );

    app.get(
      '/Device/sample/Status',
      {
        config: { access: keyFor('POS') },
        schema: {
          tags: ['Terminal status'],
          operationId: 'sampleStatus',
          summary: 'A sample status',
          querystring: Type.Object({
            APIKey: keyField,
            DeviceID: textField('Device id.', 64),
            limit: Type.Optional(Type.Integer({ minimum: 1 })),
          }),
          response: answers({ description: 'The state.', fields: { Status: Type.Integer() }, example: { Status: 1 } }, 'Device_Offline'),
        },
      },
      async (request) => {
        ran('Status');
        return { Status: 1.7, ReceiptID: null, limit: request.query.limit };
      },
    );

    app.get(
      '/Invoice/sample',
      {
        config: { access: optionalKey('QR', false) },
        schema: {
          tags: ['QR Mode'],
          operationId: 'sampleInvoice',
          summary: 'A sample invoice',
          querystring: Type.Object({ APIKey: keyField, QR: textField('QR text.') }),
          response: answers({ description: 'The invoice.', example: {} }, 'Record_not_exist', 'Invalid_QR'),
        },
      },
      async (request) => ({ merchant: optionalCallerOf(request)?.merchantId, device: deviceCallerOf(request)?.deviceId }),
    );
    app.get('/Invoice/guarded', { config: { access: optionalKey('QR', true) }, schema: { hide: true } }, async (request) => ({
      merchant: optionalCallerOf(request)?.merchantId,
      device: deviceCallerOf(request)?.deviceId,
    }));

    app.post(
      '/cabinet/api/things',
      {
        config: { access: { kind: 'cabinet', call: 'createThing', who: ['operator', 'merchant'], isConfirmed: false } },
        schema: {
          tags: ['Cabinet'],
          operationId: 'createThing',
          summary: 'A sample admin call',
          body: Type.Object({ name: textField('Its name.') }, { examples: [{ name: 'A' }] }),
          response: adminAnswers({ description: 'The new id.', fields: { id: Type.String() }, example: { id: '1' } }),
        },
      },
      async (request) => ({ id: '1', actor: actorOf(request) }),
    );

    const undocumented = { schema: { hide: true } };
    app.delete(
      '/cabinet/api/things/:id',
      { config: { access: { kind: 'cabinet', call: 'deleteThing', who: ['operator'], isConfirmed: true } }, ...undocumented },
      async () => ({ isDeleted: true }),
    );
    app.post(
      '/cabinet/api/door',
      { config: { access: { kind: 'cabinet', call: 'openDoor', who: 'public', isConfirmed: false } }, ...undocumented },
      async (request) => ({ visitor: optionalViewerOf(request)?.name }),
    );

    app.get(
      '/pictures/:QR.png',
      {
        config: { access: open },
        schema: {
          tags: ['Pictures'],
          operationId: 'samplePicture',
          summary: 'A sample picture',
          params: Type.Object({ QR: textField('QR text.') }),
          response: {
            ...openAnswers({ description: 'The picture.', example: {} }, 'Invalid_QR'),
            200: { description: 'The picture.', content: { 'image/png': { schema: Type.String({ format: 'binary' }) } } },
          },
        },
      },
      async (request, reply) => reply.type('image/png').send(Buffer.from(request.params.QR)),
    );

    const hidden = (name: string, handler: (request: FastifyRequest) => Promise<unknown>) =>
      app.post(`/test/${name}`, { config: { access: open }, schema: { hide: true } }, async (request) => {
        ran(name);
        return handler(request);
      });
    hidden('crash', async (request) => {
      throw new Error(`boom with ${JSON.stringify(request.body)}`);
    });
    hidden('database', async () => {
      throw new GatewayError('Error_Connection_Database', 'The database is offline.');
    });
    hidden('nothing', async () => undefined);
    hidden('list', async () => [1]);
    hidden('echo', async (request) => ({ body: request.body }));
    hidden('hash', async (request) => ({ hash: requestHash(request), key: idempotencyKeyOf(request) ?? null }));
    hidden('slow', async () => {
      await slow;
      return { done: true };
    });
    app.post('/test/keyed-crash', { config: { access: keyFor('POS') }, schema: { hide: true } }, async (request) => {
      throw new Error(
        `failed query for ${String(request.headers['x-api-key'])} ${Object.keys(request.body as object).join()} 4111 1111 1111 1111`,
      );
    });
  });
  return sample;
}
