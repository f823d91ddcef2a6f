// Field names and empty values of ERP calls, by one rule for all calls [D144, D145]: every field is read from the API document, so that
// a new one is covered automatically.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerCardRoutes } from '../../src/cards/routes.ts';
import { registerDeviceRoutes } from '../../src/devices/routes.ts';
import { registerFiscalRoutes } from '../../src/fiscal/routes.ts';
import type { HttpServer } from '../../src/http/server.ts';
import { registerInvoiceRoutes } from '../../src/invoices/routes.ts';
import { registerLedgerRoutes } from '../../src/ledger/routes.ts';
import { createTestServer } from '../support/test-server.ts';

const apiKey = '11111111-1111-4111-8111-111111111111';
const deviceId = '33333333-3333-4333-8333-333333333333';

interface Field {
  path: string;
  method: string;
  name: string;
  isRequired: boolean;
}
interface Described {
  paths: Record<
    string,
    Record<
      string,
      {
        parameters?: { name: string; in: string; required?: boolean }[];
        requestBody?: { content: { 'application/json': { schema: { $ref: string } } } };
      }
    >
  >;
  components: { schemas: Record<string, { properties: object; required?: string[] }> };
}

/** A room that records its calls. */
let asked: { call: string; request: Record<string, unknown> }[] = [];
const room = new Proxy(
  {},
  {
    get: (_target, call: string) => async (request: Record<string, unknown>) => {
      asked.push({ call, request });
      return { oid: 'o', qr: 'q' };
    },
  },
) as never;

const caller = { merchantId: 'm', keyId: 'k', modules: new Set(['POS', 'QR', 'Fiscal'] as const) };
let server: HttpServer;
let fields: Field[];

beforeAll(async () => {
  server = createTestServer({
    basePath: '/tillgate',
    findCaller: async (key) => (key === apiKey ? caller : undefined),
    findDevice: async () => undefined,
    isAdminToken: () => false,
  });
  server.routes((app) => {
    registerCardRoutes(app, room);
    registerFiscalRoutes(app, room);
    registerInvoiceRoutes(app, { invoices: room, invoiceAuth: 'open' });
    registerLedgerRoutes(app, { database: room, ledger: room });
    registerDeviceRoutes(app, room);
  });
  await server.app.ready();
  fields = fieldsOf((await server.describe()) as unknown as Described);
});
afterAll(() => server.stop(0));

function fieldsOf({ paths, components }: Described): Field[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    /^\/(Device|Invoice)\//.test(path)
      ? Object.entries(methods).flatMap(([method, { parameters = [], requestBody }]) => {
          const query = parameters.filter((parameter) => parameter.in === 'query');
          const schema = components.schemas[requestBody?.content['application/json'].schema.$ref.split('/').at(-1) ?? ''];
          const body = Object.keys(schema?.properties ?? {}).map((name) => ({ name, required: schema?.required?.includes(name) }));
          return [...query, ...body].map(({ name, required }) => ({ path, method, name, isRequired: required === true }));
        })
      : [],
  );
}

async function send(method: string, path: string, sent: Record<string, unknown>, headers: Record<string, string> = {}) {
  asked = [];
  const url = `/tillgate${path}`;
  const response =
    method === 'get'
      ? await server.app.inject({ method: 'GET', url, query: sent as Record<string, string>, headers })
      : await server.app.inject({ method: 'POST', url, payload: sent, headers });
  return response.json<{ errorCode: number; errorMessage: string }>();
}
const pay = (more: Record<string, unknown>, headers?: Record<string, string>) =>
  send('post', '/Device/payment/Pay', { APIKey: apiKey, DeviceID: deviceId, amount: '1.50', ...more }, headers);

describe('a misspelt field', () => {
  it('is refused in every call, with the right name, and nothing is started', async () => {
    expect(fields.length).toBeGreaterThan(50);
    for (const { path, method, name } of fields.filter((field) => field.name !== 'APIKey')) {
      const spellings = [name.toLowerCase(), name.toUpperCase(), name.replace(/(?<!^)([A-Z])/g, '_$1'), `${name[0]}-${name.slice(1)}`];
      for (const wrong of new Set(spellings.filter((spelling) => spelling !== name))) {
        const answer = await send(method, path, { APIKey: apiKey, [wrong]: 'x' });
        expect([path, answer]).toEqual([
          path,
          { errorCode: 40, errorMessage: `Invalid_Request: ${wrong} is not a field of this call; write ${name}.` },
        ]);
        expect(asked).toEqual([]);
      }
    }
  });

  it.each(['apiKey', 'apikey', 'API_Key', 'api-key'])(
    'is reported as a missing key if it is %s, which the message names',
    async (wrong) => {
      for (const { path, method } of fields.filter(({ name, path: of }) => name === 'APIKey' && !/Invoice\/(Status|Get|Payd)/.test(of))) {
        expect(await send(method, path, { [wrong]: apiKey })).toEqual({
          errorCode: 10,
          errorMessage: `Invalid_API_Key: APIKey is missing; ${wrong} was sent.`,
        });
      }
      expect(await send('get', '/Invoice/Status', { [wrong]: apiKey, QR: 'x' })).toMatchObject({ errorCode: 40 });
      expect(await pay({ [wrong]: 'another' })).toMatchObject({ errorCode: 40 });
      expect(await pay({ APIKey: undefined, [wrong]: apiKey }, { 'x-api-key': apiKey })).toMatchObject({ errorCode: 40 });
    },
  );

  it('is ignored beside the right one with the same value', async () => {
    expect(await pay({ amount: '1.50', Amount: '1.50', apikey: apiKey, deviceid: deviceId })).toMatchObject({ errorCode: 0 });
    expect(JSON.parse(asked.map(({ request }) => (request.origin as { request: string }).request)[0] ?? '{}').body).toEqual({
      DeviceID: deviceId,
      amount: '1.50',
    });
    expect(await pay({ amount: '1.50', Amount: '1.5' })).toMatchObject({ errorCode: 40 });
  });

  it('is accepted if no field of the call resembles it', async () => {
    expect(await pay({ Till: 4, _comment: 'x', QR: 'y' })).toMatchObject({ errorCode: 0 });
  });
});

it('a name that occurs twice in one object is refused', async () => {
  const payload = `{"APIKey":"${apiKey}","DeviceID":"${deviceId}","amount":1,"amount":2}`;
  const headers = { 'content-type': 'application/json' };
  const response = await server.app.inject({ method: 'POST', url: '/tillgate/Device/payment/Pay', payload, headers });
  expect(response.json()).toEqual({ errorCode: 40, errorMessage: 'Invalid_Request: amount occurs twice in one object of the body.' });
});

describe('null and an empty text', () => {
  const required: Record<string, Record<string, unknown>> = {
    '/Device/payment/Pay': { DeviceID: deviceId, amount: 1 },
    '/Device/payment/Refund': { DeviceID: deviceId, documentNr: 'd', operationId: 'o', rrn: 'r', amount: 1 },
    '/Device/Money/In': { DeviceID: deviceId, Amount: 1 },
    '/Device/Money/Out': { DeviceID: deviceId, Amount: 1 },
    '/Device/Report/Create': { DeviceID: deviceId, Fiscal: false },
    '/Device/Invoice/Pay': { DeviceID: deviceId, Receipt: {} },
    '/Invoice/Create': { Receipt: {} },
  };

  it('count as absent in every optional field of a body, except documentNr', async () => {
    const optional = fields.filter(({ method, name, isRequired }) => method === 'post' && !isRequired && name !== 'APIKey');
    expect(optional.map(({ path, name }) => `${path} ${name}`)).toHaveLength(12);
    for (const { path, name } of optional) {
      const bare = { APIKey: apiKey, ...required[path] };
      expect([path, name, await send('post', path, { ...bare, [name]: null })]).toMatchObject([path, name, { errorCode: 0 }]);
      const withNull = asked.map(({ request }) => ({ ...request, recipient: 0, hashRequest: 0 }));
      await send('post', path, bare);
      expect(withNull).toEqual(asked.map(({ request }) => ({ ...request, recipient: 0, hashRequest: 0 })));
      const empty = await send('post', path, { ...bare, [name]: '' });
      expect([name, empty.errorCode]).toEqual([name, name === 'documentNr' ? 40 : 0]);
    }
  });

  it('are no valid value of a required field', async () => {
    expect(await pay({ DeviceID: null })).toMatchObject({ errorCode: 40, errorMessage: 'Invalid_Request: DeviceID must be a text.' });
    expect(await pay({ amount: '' })).toMatchObject({ errorCode: 40 });
  });

  it('are no valid identifier in Operation/Status', async () => {
    for (const name of ['documentNr', 'ReceiptUid', 'IdempotencyKey']) {
      expect(await send('get', '/Device/Operation/Status', { APIKey: apiKey, OID: deviceId, [name]: '' })).toEqual({
        errorCode: 40,
        errorMessage: `Invalid_Request: ${name} must not be empty.`,
      });
    }
    expect(await pay({}, { 'idempotency-key': '' })).toMatchObject({ errorCode: 40 });
  });
});
