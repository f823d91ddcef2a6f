// What a validating proxy (Prism and the like) checks of a session: every request of an ERP and every answer agrees with openapi/v1.json,
// wherever the key stands, and no answer has a field that the document lacks.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Ajv, type ValidateFunction } from 'ajv';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openSandboxShop, type SandboxShop } from '../e2e/sandbox-shop.ts';
import { patienceMs } from '../support/gateway-process.ts';

type Json = Record<string, unknown>;
interface Media {
  content?: { 'application/json'?: { schema: { $ref?: string } } };
}
interface Call {
  security: Record<string, string[]>[];
  parameters?: { $ref?: string; name: string; in: string; required?: boolean; schema: object }[];
  requestBody?: Media;
  responses: Record<string, Media & { $ref?: string }>;
}
interface Document {
  paths: Record<string, Record<string, Call>>;
  components: { securitySchemes: Record<string, { in: string; name: string }>; responses: Record<string, Media> };
}

const document = JSON.parse(readFileSync(new URL('../../openapi/v1.json', import.meta.url), 'utf8')) as Document;

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const dateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;
const ajv = new Ajv({ strict: false, allErrors: true, coerceTypes: false, formats: { uuid, 'date-time': dateTime } });
ajv.addSchema(document, 'api');
const validators = new Map<object, ValidateFunction>();

/** A schema of the document, with its references. */
function validator(schema: object): ValidateFunction {
  const known = validators.get(schema) ?? ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/')) as object);
  validators.set(schema, known);
  return known;
}

function errorsOf(schema: object | undefined, value: unknown): string[] {
  if (schema === undefined) return ['not described'];
  const validate = validator(schema);
  return validate(value) ? [] : [ajv.errorsText(validate.errors)];
}

interface Request {
  method: 'GET' | 'POST';
  path: string;
  /** Where the key is sent. */
  place: 'header' | 'field' | 'nowhere';
  fields: Json;
  headers?: Record<string, string>;
}

let shop: SandboxShop;
let calls = 0;
const complaints: string[] = [];

beforeAll(async () => {
  shop = await openSandboxShop();
}, 2 * patienceMs);
afterAll(() => shop?.close());

function checkRequest({ method, path, fields, headers = {} }: Request, sent: { key: boolean }): string[] {
  const call = document.paths[path]?.[method.toLowerCase()];
  if (call === undefined) return ['no such call'];
  const isSecured = call.security.length === 0 || call.security.some((way) => Object.keys(way).every(() => sent.key));
  const parameters = (call.parameters ?? []).flatMap(({ name, in: place, required, schema }) => {
    const value = place === 'header' ? headers[name] : fields[name];
    if (value === undefined) return required ? [`${name} is missing`] : [];
    return errorsOf(schema, value).map((error) => `${name}: ${error}`);
  });
  const body = method === 'POST' ? errorsOf(call.requestBody?.content?.['application/json']?.schema, fields) : [];
  return [...(isSecured ? [] : ['no security rule is satisfied']), ...parameters, ...body];
}

function checkAnswer({ method, path }: Request, status: number, answer: Json): string[] {
  const responses = document.paths[path]?.[method.toLowerCase()]?.responses ?? {};
  const found = responses[String(status)] ?? responses['default'];
  const { content } = found?.$ref === undefined ? (found ?? {}) : (document.components.responses[found.$ref.split('/').at(-1) ?? ''] ?? {});
  const schema = content?.['application/json']?.schema;
  const { properties = {} } = (ajv.getSchema(`api${schema?.$ref}`)?.schema ?? {}) as { properties?: Json };
  const unknown = Object.keys(answer).filter((name) => !(name in properties));
  return [...errorsOf(schema, answer), ...unknown.map((name) => `the answer's ${name} is not described`)];
}

async function send(request: Request): Promise<Json> {
  const { baseUrl, apiKey } = shop.sandbox.file;
  const { method, path, place, headers = {} } = request;
  const fields = place === 'field' ? { APIKey: apiKey, ...request.fields } : request.fields;
  const query = method === 'GET' ? `?${new URLSearchParams(fields as Record<string, string>)}` : '';
  const response = await fetch(`${baseUrl}${path}${query}`, {
    method,
    headers: {
      ...headers,
      ...(place === 'header' ? { 'X-API-Key': apiKey } : {}),
      ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
    },
    ...(method === 'POST' ? { body: JSON.stringify(fields) } : {}),
  });
  const answer = (await response.json()) as Json;
  calls += 1;
  const isBroken = answer['errorCode'] === 40;
  const errors = [
    ...(isBroken ? [] : checkRequest({ ...request, fields }, { key: place === 'header' })),
    ...checkAnswer(request, response.status, answer),
  ];
  complaints.push(...errors.map((error) => `${method} ${path} by ${place}, answered ${String(answer['errorCode'])}: ${error}`));
  return answer;
}

it('agrees with the document, request by request and answer by answer', { timeout: 4 * patienceMs }, async () => {
  const [first = '', second = ''] = shop.terminals;
  const [register = ''] = shop.registers;
  const codes = new Set<unknown>();
  for (const [place, DeviceID] of [
    ['header', first],
    ['field', second],
  ] as const) {
    const call = async (method: 'GET' | 'POST', path: string, fields: Json, headers: Record<string, string> = {}) => {
      const answer = await send({ method, path, place, fields, headers });
      codes.add(answer['errorCode']);
      return answer;
    };
    const post = (path: string, fields: Json, headers: Record<string, string> = {}) =>
      call('POST', path, fields, { 'Idempotency-Key': randomUUID(), ...headers });
    const reportOf = (answer: Json) => JSON.parse(String(answer['report'])) as Record<string, string>;
    const sell = async (amount: number | string, documentNr = randomUUID()) => {
      const paid = await post('/Device/payment/Pay', { DeviceID, amount, documentNr });
      const { operationId = '', rrn = '', token = '' } = reportOf(paid);
      const named = { DeviceID, documentNr, operationId };
      await post('/Device/payment/CloseDoc', named);
      return { ...named, rrn, token, OID: paid['OID'] };
    };

    await call('GET', '/Device/Device/Status', { DeviceID });
    await call('GET', '/Device/Device/Status', { DeviceID: randomUUID() });
    await call('GET', '/Device/payment/LastTransaction', { DeviceID });
    await post('/Device/Money/In', { DeviceID: register, Amount: '100.00', Reason: null });
    await post('/Device/Money/Out', { DeviceID: register, Amount: 50 });
    const sale = await sell('35.50');
    await post('/Device/payment/Pay', { DeviceID, amount: 35.5, documentNr: sale.documentNr });
    await call('GET', '/Device/payment/LastTransaction', { DeviceID });
    await call('GET', '/Device/Operation/Status', { documentNr: sale.documentNr });
    await call('GET', '/Device/Operation/Status', { OID: String(sale.OID) });
    await call('GET', '/Device/Operation/Status', { IdempotencyKey: randomUUID() });
    await call('GET', '/Device/Operation/Status', {});
    const { rrn, token, OID: _, ...named } = sale;
    await post('/Device/payment/Refund', { ...named, rrn, amount: '10' });
    await call('GET', '/Device/Operation/Status', { documentNr: sale.documentNr });
    await post('/Device/payment/Refund', { ...named, rrn, amount: 100 });
    await post('/Device/payment/CancelTransaction', { ...named, token, amount: 35.5 });
    const { rrn: _rrn, OID: _oid, ...voided } = await sell(12);
    await post('/Device/payment/CancelTransaction', { ...voided, amount: '12' });
    await call('GET', '/Device/Operation/Status', { documentNr: voided.documentNr });
    await post('/Device/payment/CancelTransaction', { ...voided, documentNr: randomUUID(), amount: '12' });
    for (const fault of ['declined', 'busy', 'internal-error', 'database-down', 'offline', 'too-many-requests'])
      await post('/Device/payment/Pay', { DeviceID, amount: 20, documentNr: randomUUID() }, { 'Tillgate-Fault': fault });
    await post('/Device/payment/Pay', { DeviceID, amount: 'much' });
    await post('/Device/payment/Pay', { DeviceID: register, amount: 1 });
    await post('/Device/payment/Pay', { DeviceID: randomUUID(), amount: 1 });

    const Items = [{ Name: 'Coffee', Quantity: 1, Price: '25.50' }];
    const Payments = [{ PaymentCode: 1, documentNr: sale.documentNr }];
    await post('/Device/Invoice/Pay', { DeviceID: register, Receipt: { Uid: sale.documentNr, Items, Payments } });
    await post('/Device/Invoice/Pay', { DeviceID: register, Receipt: { Uid: sale.documentNr, Items, Payments: [{ PaymentCode: 0 }] } });
    await call('GET', '/Device/Operation/Status', { ReceiptUid: sale.documentNr });

    const { QR, OID } = await post('/Invoice/Create', { Receipt: { Items }, ValidTo: '2090-07-01T18:00:00+03:00', PointOfSalesCode: null });
    await call('GET', '/Invoice/Status', { QR: String(QR) });
    await call('GET', '/Invoice/Get', { QR: String(QR) });
    await call('GET', '/Invoice/Payd', { QR: String(QR), ReceiptID: 'F-1', DeviceID: register });
    await call('GET', '/Invoice/Payd', { QR: String(QR), ReceiptID: 'F-2', DeviceID: register });
    await call('GET', '/Invoice/Get', { QR: 'no QR' });
    await post('/Device/payment/Pay', { DeviceID, amount: '25.50', documentNr: OID });
    const unwanted = await post('/Invoice/Create', { Receipt: { Items } });
    const withdrawn = { DeviceID, documentNr: unwanted['OID'], operationId: 'none', token: '', amount: '25.50' };
    await post('/Device/payment/CancelTransaction', withdrawn);
    await post('/Device/payment/CancelTransaction', withdrawn);

    // A payment that the terminal is at.
    const documentNr = randomUUID();
    const slow = post('/Device/payment/Pay', { DeviceID, amount: 30, documentNr }, { 'Tillgate-Fault': 'slow' });
    while ((await call('GET', '/Device/Operation/Status', { documentNr }))['errorCode'] === 20);
    await post('/Device/payment/Pay', { DeviceID, amount: 31, documentNr: randomUUID() });
    await post('/Device/payment/CancelTransaction', { DeviceID, documentNr, operationId: 'none', token: '', amount: 30 });
    await slow;
    await post('/Device/payment/closeDay', { DeviceID });
    await post('/Device/Report/Create', { DeviceID: register, Fiscal: false });
  }
  for (const method of ['GET', 'POST'] as const)
    codes.add(
      (
        await send({
          method,
          path: method === 'GET' ? '/Device/Device/Status' : '/Device/payment/closeDay',
          place: 'nowhere',
          fields: { DeviceID: first },
        })
      )['errorCode'],
    );
  expect(complaints).toEqual([]);
  expect(calls).toBeGreaterThan(70);
  // Not 11, which needs a key of another module.
  expect([...codes].sort((one, other) => Number(one) - Number(other))).toEqual([0, 1, 2, 3, 10, 20, 21, 22, 30, 31, 40, 41, 50]);
});
