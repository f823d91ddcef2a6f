// Every call of the API with everything of another merchant that a field of it can name: the answer is the one for a thing that does not
// exist, nothing of the other merchant is told, and nothing of theirs changes. The matrix is made from the API document of the running
// gateway: a call or a field that is new and has no row here fails.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ForeignDevice } from '../conformance/foreign-device.ts';
import { type ForeignShop, openForeignShop } from '../conformance/foreign-shop.ts';
import { openDoors } from '../fuzz/fuzzed-gateway.ts';
import { type Answer, createTill, type Till } from '../support/till.ts';

/** What a field names, by its name; `undefined`: no thing of anybody. */
const named: Record<string, keyof Things | undefined> = {
  DeviceID: 'deviceId',
  documentNr: 'documentNr',
  operationId: 'operationId',
  rrn: 'rrn',
  token: 'token',
  QR: 'qr',
  file: 'picture',
  OID: 'oid',
  ReceiptUid: 'receiptUid',
  Receipt: 'receipt',
  IdempotencyKey: 'idempotencyKey',
  'Idempotency-Key': 'idempotencyKey',
  ...Object.fromEntries(
    [
      'APIKey',
      'amount',
      'Amount',
      'currency',
      'Reason',
      'CallbackURI',
      'ValidTo',
      'PointOfSalesCode',
      'Fiscal',
      'ReceiptID',
      'code',
      'mode',
    ].map((field) => [field, undefined]),
  ),
};

/** A QR is a capability: whoever holds it may ask about its invoice, pay it and draw it, with whatever key [D10]. */
const openByQr = ['invoiceStatus', 'getInvoice', 'payInvoice', 'qrPicture'];
/** Without a key, a token or an object of a merchant. */
const ofNobody = ['healthLive', 'healthReady', 'metrics', 'pairDevice'];

interface Things {
  deviceId: string;
  documentNr: string;
  operationId: string;
  rrn: string;
  token: string;
  qr: string;
  picture: string;
  oid: string;
  receiptUid: string;
  receipt: object;
  idempotencyKey: string;
}

interface Operation {
  operationId: string;
  tags: string[];
  parameters?: { name: string; in: string }[];
  requestBody?: { content: { 'application/json': { schema: { $ref?: string; properties?: object }; example?: Record<string, unknown> } } };
}

interface ApiDocument {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, { properties?: object }> };
}

let shop: ForeignShop;
let victim: { till: Till; merchantId: string; things: Things };
let terminal: ForeignDevice;
let register: ForeignDevice;
let document: ApiDocument;

beforeAll(async () => {
  shop = await openForeignShop(openDoors);
  terminal = await refusing(await shop.live('terminal', 'mqtt'));
  register = await refusing(await shop.live('register', 'mqtt'));
  document = (await (await fetch(`${shop.till.baseUrl}/openapi.json`)).json()) as ApiDocument;
  victim = await sellSomething();
}, 120_000);
afterAll(() => shop?.close());

/** It refuses whatever it is asked for, so that a call that reaches it is answered at once and leaves it free. */
async function refusing(device: ForeignDevice): Promise<ForeignDevice> {
  let answered = 0;
  const timer = setInterval(() => {
    for (; answered < device.heard.length; answered += 1) {
      const heard = device.heard[answered];
      if (heard !== undefined && heard.message['name'] !== 'Status') void device.say(heard, 'refused', { reason: 'Not here.' });
    }
  }, 10);
  timer.unref();
  return device;
}

/** Another merchant with one of everything, made through the API of the sandbox's own devices. */
async function sellSomething(): Promise<typeof victim> {
  const { file } = shop.gateway as unknown as { file: { apiKey: string; merchantId: string; devices: { id: string; kind: string }[] } };
  const till = createTill({ baseUrl: shop.till.baseUrl, adminToken: shop.gateway.adminToken, apiKey: file.apiKey });
  const idOf = (kind: string) => file.devices.find((device) => device.kind === kind)?.id ?? '';
  const deviceId = idOf('terminal');
  const [documentNr, idempotencyKey, receiptUid] = [randomUUID(), randomUUID(), randomUUID()];
  const paid = await till.post(
    '/Device/payment/Pay',
    { DeviceID: deviceId, amount: 77.5, documentNr },
    { 'idempotency-key': idempotencyKey },
  );
  const { rrn, operationId, token } = JSON.parse(paid.report ?? '{}') as Things;
  await till.post('/Device/payment/CloseDoc', { DeviceID: deviceId, documentNr, operationId });
  const receipt = { Number: 'V-1', Uid: receiptUid, Items: [{ Name: 'VICTIM bread', Quantity: 1, Price: 77.5 }] };
  const printed = await till.post('/Device/Invoice/Pay', {
    DeviceID: idOf('register'),
    Receipt: { ...receipt, Payments: [{ PaymentCode: 0, Amount: 77.5 }] },
  });
  expect([paid.errorCode, printed.errorCode]).toEqual([0, 0]);
  const { QR } = await till.post('/Invoice/Create', { Receipt: receipt });
  const qr = String(QR);
  const things = {
    deviceId,
    documentNr,
    operationId,
    rrn,
    token,
    qr,
    picture: `${qr}.png`,
    oid: String(paid['OID']),
    receiptUid,
    receipt,
    idempotencyKey,
  };
  return { till, merchantId: file.merchantId, things };
}

/** Of the same form as the victim's, and nobody's. */
function nothings(): Things {
  const qr = `A${randomUUID().replaceAll('-', '')}QwWex87g9Sw`.slice(0, 44);
  const receiptUid = randomUUID();
  return {
    deviceId: randomUUID(),
    documentNr: randomUUID(),
    operationId: '999999',
    rrn: '999999999999',
    token: 'f'.repeat(32),
    qr,
    picture: `${qr}.png`,
    oid: randomUUID(),
    receiptUid,
    receipt: { Number: 'V-1', Uid: receiptUid, Items: [{ Name: 'Bread', Quantity: 1, Price: 77.5 }] },
    idempotencyKey: randomUUID(),
  };
}

const fieldsOf = (operation: Operation) => {
  const { schema } = operation.requestBody?.content['application/json'] ?? { schema: {} };
  const inBody = schema.$ref === undefined ? schema : document.components.schemas[schema.$ref.split('/').at(-1) ?? ''];
  return [...Object.keys(inBody?.properties ?? {}), ...(operation.parameters ?? []).map(({ name }) => name)];
};

function* rows() {
  for (const [path, methods] of Object.entries(document.paths)) {
    if (path.startsWith('/cabinet')) continue;
    for (const [method, operation] of Object.entries(methods)) {
      for (const field of fieldsOf(operation)) yield { path, method, operation, field };
    }
  }
}

/** The call as its merchant would make it, with one field that names the thing of another. */
async function ask(
  path: string,
  method: string,
  operation: Operation,
  field: string,
  thing: unknown,
): Promise<{ answer: Answer; text: string }> {
  const device = operation.tags.includes('Fiscal Mode') ? register : terminal;
  const own: Record<string, unknown> = { ...operation.requestBody?.content['application/json'].example, CallbackURI: undefined };
  const fresh = { DeviceID: device.deviceId, ...('documentNr' in own ? { documentNr: randomUUID() } : {}) };
  const inHeader = operation.parameters?.some((parameter) => parameter.name === field && parameter.in === 'header');
  const headers: Record<string, string> = inHeader ? { [field.toLowerCase()]: String(thing) } : {};
  if (method === 'post') {
    const Receipt = own['Receipt'] === undefined ? {} : { Receipt: { ...(own['Receipt'] as object), Uid: randomUUID() } };
    const filled =
      field === 'Receipt' ? { Receipt: { ...(own['Receipt'] as object), Uid: (thing as { Uid: string }).Uid } } : { [field]: thing };
    const answer = await shop.till.post(path, { ...own, ...fresh, ...Receipt, ...(inHeader ? {} : filled), APIKey: shop.apiKey }, headers);
    return { answer, text: JSON.stringify(answer) };
  }
  const needed = operation.operationId === 'operationStatus' ? {} : { DeviceID: device.deviceId };
  const answer = await shop.till.get(path.replace(`{${field}}`, String(thing)), { ...needed, [field]: String(thing) }, headers);
  return { answer, text: JSON.stringify(answer) };
}

/** Without what differs between any two calls. */
const shapeOf = ({ errorCode, errorMessage, status, report }: Answer, thing: unknown) => ({
  status,
  errorCode,
  errorMessage: errorMessage.replaceAll(String(thing), '#').replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'uuid'),
  report: report === undefined ? [] : Object.keys(JSON.parse(report) as object),
});

/** All that the victim's people could see of it; devices report themselves all the time. */
async function lookOfVictim(): Promise<string> {
  const { till, merchantId } = victim;
  const parts = await Promise.all(
    ['commands', 'invoices', 'callbacks', 'orphans'].map((list) => till.admin(`/${list}?merchantId=${merchantId}`)),
  );
  return JSON.stringify(parts);
}

describe('a merchant who knows the ids of another', () => {
  it('has a row here for every field of every call', () => {
    const unknown = [...rows()]
      .filter(({ field }) => !Object.hasOwn(named, field))
      .map(({ operation, field }) => `${operation.operationId} ${field}`);
    expect(unknown, 'say in `named` what these fields name').toEqual([]);
  });

  it('is answered by each call as for a thing that is not there, and changes nothing', { timeout: 120_000 }, async () => {
    const before = await lookOfVictim();
    const secrets = ['VICTIM', victim.things.rrn, victim.things.token];
    // One for all rows: a key that he used himself in an earlier row is known as his, in both.
    const nobody = nothings();
    let asked = 0;
    // What only asks comes first: afterwards some of the names are his own, too.
    const reading = (row: { method: string }) => (row.method === 'get' ? 0 : 1);
    for (const { path, method, operation, field } of [...rows()].sort((one, other) => reading(one) - reading(other))) {
      const kind = named[field];
      if (kind === undefined || openByQr.includes(operation.operationId) || ofNobody.includes(operation.operationId)) continue;
      const theirs = victim.things[kind];
      const nobodys = nobody[kind];
      const told = await ask(path, method, operation, field, theirs);
      const expected = await ask(path, method, operation, field, nobodys);
      const what = `${operation.operationId} with ${field} of another`;
      expect(shapeOf(told.answer, theirs), what).toEqual(shapeOf(expected.answer, nobodys));
      const sent = JSON.stringify(theirs);
      for (const secret of secrets) if (!sent.includes(secret)) expect(told.text, what).not.toContain(secret);
      // Judged by what it names, not by its form.
      expect(told.answer.errorCode, what).not.toBe(40);
      asked += 1;
    }
    expect(asked).toBeGreaterThan(30);
    expect(await lookOfVictim()).toBe(before);
  });
});
