// Each of the 15 endpoints and Operation/Status over real HTTP, on the sandbox's virtual devices, as an ERP uses them.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Program, patienceMs, startProgram } from '../support/gateway-process.ts';
import { eventually, reportOf } from '../support/till.ts';
import { playBankDay, playShift, receipt } from './journeys.ts';
import { openSandboxShop, type SandboxShop } from './sandbox-shop.ts';

const slowTest = { timeout: 2 * patienceMs };

let shop: SandboxShop;
beforeAll(async () => {
  shop = await openSandboxShop();
}, 2 * patienceMs);
afterAll(() => shop?.close());

describe('terminal status', () => {
  it('returns the physical state of a terminal and of a register', async () => {
    const terminal = reportOf(await shop.till.get('/Device/Device/Status', { DeviceID: shop.terminals[0] ?? '' }));
    expect(terminal).toMatchObject({ online: true, battery: expect.any(Number), paper: 'OK', bank: 'maib', signal: expect.any(Number) });
    expect(reportOf(await shop.till.get('/Device/Device/Status', { DeviceID: shop.registers[0] ?? '' }))).toMatchObject({ online: true });
  });

  it('answers 30 for an unknown device', slowTest, async () => {
    expect(await shop.till.get('/Device/Device/Status', { DeviceID: randomUUID() })).toMatchObject({ status: 200, errorCode: 30 });
  });
});

describe('the key and the path', () => {
  it('accepts the key in the query, the body or a header, and paths in any case', async () => {
    const { baseUrl, apiKey } = shop.sandbox.file;
    const [DeviceID = ''] = shop.terminals;
    const ask = async (url: string, init: RequestInit = {}) => (await (await fetch(url, init)).json()) as { errorCode: number };
    const header = { 'x-api-key': apiKey };
    expect(await ask(`${baseUrl}/device/DEVICE/status?DeviceID=${DeviceID}&APIKey=${apiKey}`)).toMatchObject({ errorCode: 0 });
    expect(await ask(`${baseUrl}/Device/Device/Status?DeviceID=${DeviceID}`, { headers: header })).toMatchObject({ errorCode: 0 });
    const body = JSON.stringify({ Receipt: receipt });
    const json = { 'content-type': 'application/json' };
    expect(await ask(`${baseUrl}/invoice/create`, { method: 'POST', headers: { ...json, ...header }, body })).toMatchObject({
      errorCode: 0,
    });
    expect(await ask(`${baseUrl}/Invoice/Create`, { method: 'POST', headers: json, body })).toMatchObject({ errorCode: 10 });
    expect(await ask(`${baseUrl}/Device/Device/Status?DeviceID=${DeviceID}&APIKey=${randomUUID()}`)).toMatchObject({ errorCode: 10 });
    expect(await ask(`${baseUrl}/device/payment/CLOSEDAY`, { method: 'POST', headers: json, body: '{}' })).toMatchObject({ errorCode: 10 });
  });
});

describe('POS Mode', () => {
  it('runs a bank day: Pay, CloseDoc, Refund, void, closeDay', slowTest, () => playBankDay(shop.till, shop.terminals[1] ?? ''));

  it('aborts a payment that waits for the card, and cancels its invoice', slowTest, async () => {
    const [, , DeviceID = ''] = shop.terminals;
    const { till } = shop;
    const { OID, QR } = await till.post('/Invoice/Create', { Receipt: receipt });
    const paying = till.post('/Device/payment/Pay', { DeviceID, amount: 25.64, documentNr: OID });
    const running = () => till.get('/Device/payment/LastTransaction', { DeviceID });
    await eventually('the payment is on the terminal', running, (answer) => answer.report?.includes('running') === true);
    const abort = { DeviceID, documentNr: OID, operationId: 'none', token: '', amount: 25.64 };
    expect(await till.post('/Device/payment/CancelTransaction', abort)).toMatchObject({ errorCode: 0 });
    expect(await paying).toMatchObject({ errorCode: 50 });
    expect(await till.get('/Invoice/Status', { QR: String(QR) })).toMatchObject({ errorCode: 0, Status: 4 });
  });
});

describe('Fiscal Mode', () => {
  it('runs a shift: cash in, receipts, cash out, X, Z', slowTest, () => playShift(shop.till, shop.registers[0] ?? ''));

  it('accepts registers only, and POS Mode terminals only', async () => {
    expect(await shop.till.post('/Device/Money/In', { DeviceID: shop.terminals[0], Amount: 1 })).toMatchObject({ errorCode: 40 });
    expect(await shop.till.post('/Device/payment/Pay', { DeviceID: shop.registers[0], amount: 1 })).toMatchObject({ errorCode: 40 });
  });
});

describe('Operations', () => {
  it(
    'finds a payment without a documentNr after a disconnect, by a repeat and by Operation/Status, and charges once',
    slowTest,
    async () => {
      const [, , , DeviceID = ''] = shop.terminals;
      const { till } = shop;
      const { apiKey } = shop.sandbox.file;
      const pay = { DeviceID, amount: 31.64 }; // slow
      const caller = new AbortController();
      const hangingUp = fetch(`${till.baseUrl}/Device/payment/Pay`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ APIKey: apiKey, ...pay }),
        signal: caller.signal,
      }).catch(() => 'hung up');
      const running = () => till.get('/Device/payment/LastTransaction', { DeviceID });
      await eventually('the payment is on the terminal', running, (answer) => answer.report?.includes('running') === true);
      expect(await till.post('/Device/payment/Pay', pay)).toMatchObject({ errorCode: 31 });
      caller.abort();
      expect(await hangingUp).toBe('hung up');
      const repeat = () => till.post('/Device/payment/Pay', pay);
      const found = await eventually('the repeat is recognised', repeat, ({ errorCode }) => errorCode !== 31);
      expect(found).toMatchObject({ errorCode: 0, Repeated: true });
      const asked = await till.get('/device/operation/status', { OID: String(found['OID']) });
      expect(asked).toMatchObject({ errorCode: 0, OID: found['OID'], State: 'Done', Operation: 'Pay', report: found.report });
      expect(await till.get('/Device/Operation/Status', { documentNr: randomUUID() })).toMatchObject({ errorCode: 20 });
      expect(await till.get('/Device/Operation/Status')).toMatchObject({ status: 400, errorCode: 40 });
      // The outcome is delivered: a repeat is another payment now, and the document of the first is open.
      expect(await repeat()).toMatchObject({ errorCode: 31 });
      const close = { DeviceID, documentNr: 'none', operationId: reportOf(found)['operationId'] };
      expect(await till.post('/Device/payment/CloseDoc', close)).toMatchObject({ errorCode: 0 });
    },
  );
});

describe('QR Mode', () => {
  let sink: Program;
  afterAll(() => sink?.kill9());

  it('processes an invoice from Create to Payed, with its callbacks at the sink', slowTest, async () => {
    sink = startProgram(['sink', '--port', '0']);
    const [, address] = await sink.prints(/callbacks at (http:\S+)/);
    const CallbackURI = `${address}erp?oid=#OID#&state=#State#&receipt=#ReceiptID#&device=#DeviceID#`;
    const { till } = shop;
    const [DeviceID = ''] = shop.registers;
    const created = await till.post('/Invoice/Create', { CallbackURI, PointOfSalesCode: 'P1', Receipt: receipt });
    const { OID, QR: text, QRImage } = created;
    const QR = String(text);
    expect(created).toMatchObject({ errorCode: 0, QR: expect.stringMatching(/^[A-Za-z0-9]{44}$/) });
    expect(Buffer.from(String(QRImage), 'base64').subarray(1, 4).toString()).toBe('PNG');
    expect((await fetch(`${till.baseUrl}/qr/${QR}.svg`)).headers.get('content-type')).toMatch(/svg/);

    expect(await till.get('/Invoice/Status', { QR })).toMatchObject({ errorCode: 0, Status: 0, ReceiptID: '' });
    expect(await till.get('/Invoice/Payd', { QR, ReceiptID: 'R-1', DeviceID })).toMatchObject({ errorCode: 22 });
    expect(await till.get('/Invoice/Get', { QR })).toMatchObject({
      errorCode: 0,
      OID,
      Status: 1,
      Receipt: receipt,
      PointOfSalesCode: 'P1',
    });
    await sink.prints(new RegExp(`GET /erp\\?oid=${String(OID)}&state=Scanned&receipt=&device= .*sequence=1`));
    expect(await till.get('/Invoice/Get', { QR })).toMatchObject({ errorCode: 0, Status: 1 });
    const paid = { QR, ReceiptID: 'R 1&2', DeviceID };
    expect(await till.get('/Invoice/Payd', paid)).toMatchObject({ errorCode: 0 });
    expect(await till.get('/Invoice/Payd', paid)).toMatchObject({ errorCode: 0 });
    await sink.prints(new RegExp(`state=Payed&receipt=R%201%262&device=${DeviceID} .*sequence=2`));
    expect(await till.get('/Invoice/Payd', { ...paid, ReceiptID: 'R-2' })).toMatchObject({ errorCode: 22 });
    expect(await till.get('/Invoice/Status', { QR })).toMatchObject({ errorCode: 0, Status: 2, ReceiptID: 'R 1&2' });
    expect(await till.get('/Invoice/Get', { QR })).toMatchObject({ errorCode: 22 });
    expect(await till.get('/Invoice/Status', { QR: `x${QR.slice(1)}` })).toMatchObject({ errorCode: 21 });
    expect(sink.out().match(/^GET/gm)).toHaveLength(2);
  });
});

describe('the books', () => {
  it('agree after all these tests', slowTest, () => shop.expectBooksAgree());
});
