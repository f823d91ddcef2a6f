// kill -9 of a device at named moments: before the bank, after the bank, between bank and fiscal memory, after the memory.
// The call returns the true outcome once the device is back, and ledger, bank and fiscal memory agree to the ban.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Erp, startErp } from '../callbacks/erp.ts';
import { expectRegisterAgrees, expectTerminalAgrees, readBank, readFiscalMemory, readLedger } from '../support/books.ts';
import { patienceMs, serveSettings, temporaryDirectory } from '../support/gateway-process.ts';
import { openShop, type Shop, type ShopDevice } from '../support/served-shop.ts';
import { type Answer, eventually, reportOf } from '../support/till.ts';

const slowTest = { timeout: 4 * patienceMs };
const dataDir = temporaryDirectory();
let shop: Shop;
let erp: Erp;
let terminal: ShopDevice;
let register: ShopDevice;

beforeAll(async () => {
  erp = await startErp();
  shop = await openShop(await serveSettings({ TILLGATE_DATA_DIR: dataDir, TILLGATE_CALLBACK_ALLOW: '127.0.0.0/8' }));
  // Slow operations never end here: the kill comes first.
  [terminal, register] = await Promise.all([
    shop.addDevice('terminal', { slowMs: 120_000 }),
    shop.addDevice('register', { slowMs: 120_000 }),
  ]);
}, 4 * patienceMs);
afterAll(async () => {
  await shop?.close();
  await erp?.close();
});

const bankHas = (device: ShopDevice, amountBani: number) =>
  eventually(
    `the bank has ${amountBani} bani`,
    () => readBank(device.stateDir).some((one) => one.kind === 'charge' && one.amountBani === amountBani),
    Boolean,
  );

const cardMoments: [string, string, number, () => unknown][] = [
  ['the card is presented', '30.64', 50, () => terminal.program.prints(/30\.64 MDL: present the card/)],
  // The virtual terminal delays a late answer after the bank's approval and before the journal entry.
  ['the approval of the bank, before the journal entry', '31.65', 0, () => bankHas(terminal, 3_165)],
  ['the journal entry, with its answer lost', '32.66', 0, () => bankHas(terminal, 3_266)],
];

describe('a terminal is killed after', () => {
  it.each(cardMoments)('%s', slowTest, async (_moment, amount, errorCode, moment) => {
    const documentNr = randomUUID();
    const body = { DeviceID: terminal.id, amount, documentNr };
    const paying = shop.till.post('/Device/payment/Pay', body);
    await moment();
    await terminal.program.kill9();
    // The outcome is open, so the terminal is busy.
    expect(await shop.till.post('/Device/payment/Pay', { ...body, documentNr: randomUUID() })).toMatchObject({ errorCode: 31 });
    await terminal.restart(false);
    const answer = await paying;
    expect(answer).toMatchObject({ status: 200, errorCode });
    if (errorCode === 0) {
      expect(await shop.till.post('/Device/payment/Pay', body)).toEqual(answer);
      const { operationId } = reportOf(answer);
      expect(await shop.till.post('/Device/payment/CloseDoc', { DeviceID: terminal.id, documentNr, operationId })).toMatchObject({
        errorCode: 0,
      });
    }
    expectTerminalAgrees({ ledger: await readLedger({ dataDir }), deviceId: terminal.id, stateDir: terminal.stateDir });
  });

  it('its last payment: Status and LastTransaction answer 30 with the last known state', slowTest, async () => {
    await terminal.program.kill9();
    const query = { DeviceID: terminal.id };
    const status = await eventually(
      'it is offline',
      () => shop.till.get('/Device/Device/Status', query),
      ({ errorCode }) => errorCode === 30,
    );
    expect(reportOf(status)).toMatchObject({ online: false, bank: 'maib' });
    const last = await shop.till.get('/Device/payment/LastTransaction', query);
    expect(last).toMatchObject({ errorCode: 30 });
    expect(reportOf(last)).toMatchObject({ source: 'ledger' });
    expect(await shop.till.post('/Device/payment/Pay', { ...query, amount: 1 })).toMatchObject({ errorCode: 30 });
    await terminal.restart();
    expect(reportOf(await shop.till.post('/Device/payment/Pay', { ...query, amount: 1 }))).toMatchObject({ amount: 1 });
  });
});

const memoryHas = (totalBani: number) =>
  eventually(
    `the fiscal memory has ${totalBani} bani`,
    () => readFiscalMemory(register.stateDir).some((one) => one.type === 'receipt' && one.totalBani === totalBani),
    Boolean,
  );

const registerMoments: [string, number, number, () => unknown][] = [
  ['the card is presented', 40.84, 50, () => register.program.prints(/40\.84 MDL: present the card/)],
  ['the approval of the bank, before the print', 41.93, 0, () => bankHas(register, 4_193)],
  ['the print, before the journal entry', 42.85, 0, () => memoryHas(4_285)],
  ['the journal entry, with its answer lost', 43.86, 0, () => memoryHas(4_386)],
];

describe('a register is killed after', () => {
  it.each(registerMoments)('%s', slowTest, async (_moment, Price, errorCode, moment) => {
    const Uid = randomUUID();
    const body = {
      DeviceID: register.id,
      CallbackURI: `${erp.base}/${Uid}/#State#/#ReceiptID#`,
      Receipt: { Uid, Items: [{ Name: 'Bread', Quantity: 1, Price }], Payments: [{ PaymentCode: 1000 }] },
    };
    const printing = shop.till.post('/Device/Invoice/Pay', body);
    await moment();
    await register.program.kill9();
    await register.restart(false);
    const answer: Answer = await printing;
    expect(answer).toMatchObject({ status: 200, errorCode });
    const receiptId = errorCode === 0 ? String(reportOf(answer)['receiptId']) : '';
    if (errorCode === 0) expect(await shop.till.post('/Device/Invoice/Pay', body)).toEqual(answer);
    const notices = () => erp.heard.map(({ url }) => url).filter((url) => url.includes(Uid));
    await eventually('the notice', notices, (urls) => urls.length > 0);
    expect(notices()).toEqual([`/${Uid}/${errorCode === 0 ? 'Completed' : 'Refused'}/${receiptId}`]);
    expectRegisterAgrees({ ledger: await readLedger({ dataDir }), deviceId: register.id, stateDir: register.stateDir });
  });
});
