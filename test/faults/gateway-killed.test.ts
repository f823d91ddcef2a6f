// kill -9 of the gateway at named moments, on the embedded database with devices as separate processes.
// After each: the repeat returns the first outcome, and ledger, bank and fiscal memory agree to the ban.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Erp, startErp } from '../callbacks/erp.ts';
import { expectRegisterAgrees, expectTerminalAgrees, readBank, readFiscalMemory, readLedger } from '../support/books.ts';
import { patienceMs, serveSettings, temporaryDirectory } from '../support/gateway-process.ts';
import { openShop, type Shop, type ShopDevice } from '../support/served-shop.ts';
import { type Answer, eventually, reportOf } from '../support/till.ts';

const slowTest = { timeout: 4 * patienceMs };
const slowMs = 4_000;

const dataDir = temporaryDirectory();
let shop: Shop;
let erp: Erp;
let terminal: ShopDevice;
let register: ShopDevice;

beforeAll(async () => {
  erp = await startErp();
  shop = await openShop(await serveSettings({ TILLGATE_DATA_DIR: dataDir, TILLGATE_CALLBACK_ALLOW: '127.0.0.0/8' }));
  [terminal, register] = await Promise.all([shop.addDevice('terminal', { slowMs }), shop.addDevice('register', { slowMs })]);
}, 4 * patienceMs);
afterAll(async () => {
  await shop?.close();
  await erp?.close();
});

/** Starts a Pay that is cut off when the gateway is killed. */
async function startPay(amount: string, documentNr: string): Promise<{ outcome: Promise<Answer | undefined> }> {
  const outcome = shop.till.tryPost('/Device/payment/Pay', { DeviceID: terminal.id, amount, documentNr });
  await terminal.program.prints(new RegExp(`${amount.replace('.', '\\.')} MDL: present the card`));
  return { outcome };
}

const charges = (amountBani: number) => readBank(terminal.stateDir).filter((one) => one.kind === 'charge' && one.amountBani === amountBani);
const isCharged = (amountBani: number) =>
  eventually(
    `a charge of ${amountBani} bani`,
    () => charges(amountBani).length,
    (count) => count > 0,
  );

/** Repeats Pay like an ERP, until the answer is not "unknown". */
async function repeatPay(amount: string, documentNr: string): Promise<Answer> {
  return eventually(
    `an outcome of ${documentNr}`,
    () => shop.till.post('/Device/payment/Pay', { DeviceID: terminal.id, amount, documentNr }),
    ({ errorCode }) => errorCode !== 3,
    2 * patienceMs,
  );
}

async function closeDocument(answer: Answer, documentNr: string): Promise<void> {
  const { operationId } = reportOf(answer);
  expect(await shop.till.post('/Device/payment/CloseDoc', { DeviceID: terminal.id, documentNr, operationId })).toMatchObject({
    errorCode: 0,
  });
  expectTerminalAgrees({ ledger: await readLedger({ dataDir }), deviceId: terminal.id, stateDir: terminal.stateDir });
}

describe('the gateway is killed while a terminal', () => {
  it('waits for the card: restarted at once, it receives the outcome and the repeat gets it', slowTest, async () => {
    const documentNr = randomUUID();
    const first = await startPay('10.64', documentNr);
    expect(await readLedger({ dataDir })).toMatchObject([{ name: 'Pay', state: 'sent', amount_bani: 1_064 }]);
    await shop.gateway.kill9();
    expect(await first.outcome).toBeUndefined();
    await shop.restartGateway();
    const repeated = await repeatPay('10.64', documentNr);
    expect(repeated).toMatchObject({ errorCode: 0 });
    expect(charges(1_064)).toMatchObject([{ operationId: reportOf(repeated)['operationId'] }]);
    await closeDocument(repeated, documentNr);
  });

  it('continues alone: a charge during the outage is found by Recall', slowTest, async () => {
    const documentNr = randomUUID();
    await startPay('11.64', documentNr);
    await shop.gateway.kill9();
    await isCharged(1_164);
    await shop.restartGateway();
    await shop.online(terminal.id);
    // It is settled without a repeat.
    const ledger = () => readLedger({ dataDir });
    const rows = await eventually('the payment is settled', ledger, (found) =>
      found.some((row) => row.document_nr === documentNr && row.state === 'done'),
    );
    expect(rows.find((row) => row.document_nr === documentNr)?.settled_by).toMatch(/recall|late-answer/);
    await closeDocument(await repeatPay('11.64', documentNr), documentNr);
  });

  it('has charged and its answer is lost: the repeat returns the outcome', slowTest, async () => {
    const documentNr = randomUUID();
    await startPay('12.66', documentNr);
    await isCharged(1_266);
    await shop.gateway.kill9();
    await shop.restartGateway();
    const repeated = await repeatPay('12.66', documentNr);
    expect(repeated).toMatchObject({ errorCode: 0 });
    await closeDocument(repeated, documentNr);
  });

  it('has not received the command: it is settled as not done, and the terminal is free', slowTest, async () => {
    const documentNr = randomUUID();
    // The frozen terminal reads nothing; the gateway has committed `sent` and published.
    process.kill(terminal.program.pid, 'SIGSTOP');
    const first = shop.till.tryPost('/Device/payment/Pay', { DeviceID: terminal.id, amount: 13, documentNr });
    const isSent = async () => (await readLedger({ dataDir })).some((row) => row.document_nr === documentNr && row.state === 'sent');
    await eventually('the command is committed', isSent, Boolean);
    await shop.gateway.kill9();
    expect(await first).toBeUndefined();
    await terminal.program.kill9();
    await shop.restartGateway();
    await terminal.restart();
    const isNever = (rows: { document_nr: string | null; state: string }[]) =>
      rows.some((row) => row.document_nr === documentNr && (row.state === 'never' || row.state === 'refused'));
    await eventually('it is settled as not done', () => readLedger({ dataDir }), isNever);
    expect(charges(1_300)).toEqual([]);
    const again = await repeatPay('13.00', documentNr);
    expect(again).toMatchObject({ errorCode: 0 });
    expect(charges(1_300)).toHaveLength(1);
    await closeDocument(again, documentNr);
  });
});

describe('the gateway is killed while a register', () => {
  const receiptOf = (price: number, Uid: string) => ({
    DeviceID: register.id,
    CallbackURI: `${erp.base}/notice?uid=${Uid}&state=#State#&receipt=#ReceiptID#`,
    Receipt: { Uid, Items: [{ Name: 'Bread', Quantity: 1, Price: price }], Payments: [{ PaymentCode: 1 }] },
  });
  const cardCharges = (amountBani: number) => readBank(register.stateDir).filter((one) => one.amountBani === amountBani).length;

  it.each<[string, number, () => unknown]>([
    ['waits for the card', 20.84, () => register.program.prints(/20\.84 MDL: present the card/)],
    ['has the approval of the bank and no paper', 21.93, () => eventually('the bank said yes', () => cardCharges(2_193), Boolean)],
    [
      'has printed, and its answer is lost',
      22.86,
      () =>
        eventually(
          'it is printed',
          () => readFiscalMemory(register.stateDir).find((one) => one.type === 'receipt' && one.totalBani === 2_286),
          Boolean,
        ),
    ],
  ])('%s: it prints once, and the ERP is notified', slowTest, async (_moment, price, moment) => {
    const Uid = randomUUID();
    const body = receiptOf(price, Uid);
    await shop.online(register.id);
    const first = shop.till.tryPost('/Device/Invoice/Pay', body);
    await moment();
    await shop.gateway.kill9();
    expect(await first).toBeUndefined();
    await shop.restartGateway();
    const repeated = await eventually(
      'an outcome',
      () => shop.till.post('/Device/Invoice/Pay', body),
      ({ errorCode }) => errorCode !== 3,
      2 * patienceMs,
    );
    expect(repeated).toMatchObject({ errorCode: 0 });
    const { receiptId } = reportOf(repeated);
    const notices = () => erp.heard.filter(({ url }) => url.includes(Uid)).map(({ url }) => url);
    const told = await eventually('the notice', notices, (urls) => urls.some((url) => url.includes('state=Completed')));
    expect(told.at(-1)).toContain(`receipt=${receiptId}`);
    expectRegisterAgrees({ ledger: await readLedger({ dataDir }), deviceId: register.id, stateDir: register.stateDir });
  });
});

describe('the ERP disconnects', () => {
  it('during a Pay: the payment continues, and the repeat returns its outcome', slowTest, async () => {
    // The previous test restarted the gateway and waited for the register only.
    await shop.online(terminal.id);
    const documentNr = randomUUID();
    const patience = new AbortController();
    const { key } = await shop.till.admin('/keys', { merchantId: shop.merchantId, name: 'Impatient', modules: ['POS'] });
    const body = { APIKey: key, DeviceID: terminal.id, amount: '14.64', documentNr };
    const headers = { 'content-type': 'application/json' };
    const url = `${shop.till.baseUrl}/Device/payment/Pay`;
    const first = fetch(url, { method: 'POST', headers, body: JSON.stringify(body), signal: patience.signal });
    await terminal.program.prints(/14\.64 MDL: present the card/);
    patience.abort();
    await expect(first).rejects.toThrow(/abort/i);
    const repeated = await repeatPay('14.64', documentNr);
    expect(repeated).toMatchObject({ errorCode: 0 });
    expect(charges(1_464)).toHaveLength(1);
    await closeDocument(repeated, documentNr);
  });
});

describe('the gateway is killed during a callback', () => {
  it('sends it again after the restart, under the same id', slowTest, async () => {
    const { QR, OID } = await shop.till.post('/Invoice/Create', {
      CallbackURI: `${erp.base}/invoice?oid=#OID#&state=#State#`,
      Receipt: { Items: [{ Name: 'Tea', Quantity: 1, Price: 9 }] },
    });
    const ofInvoice = () => erp.heard.filter(({ url }) => url.includes(String(OID)));
    const answering = erp.answer;
    // The ERP has received it and does not answer: for the gateway the callback is in flight.
    erp.answer = () => {};
    expect(await shop.till.get('/Invoice/Get', { QR: String(QR) })).toMatchObject({ errorCode: 0, Status: 1 });
    await eventually('the ERP hears', ofInvoice, (heard) => heard.length === 1);
    await shop.gateway.kill9();
    erp.answer = answering;
    await shop.restartGateway();
    const heard = await eventually('the ERP hears again', ofInvoice, (all) => all.length === 2);
    expect(heard[1]?.headers['webhook-id']).toBe(heard[0]?.headers['webhook-id']);
    expect(heard.map(({ url }) => url)).toEqual(Array(2).fill(`/invoice?oid=${String(OID)}&state=Scanned`));
    expect(await shop.till.get('/Invoice/Status', { QR: String(QR) })).toMatchObject({ Status: 1 });
  });
});
