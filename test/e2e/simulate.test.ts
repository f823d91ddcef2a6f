// `tillgate simulate`: a device as its own process, and the payment of an invoice as one action.
import { randomUUID } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Erp, startErp } from '../callbacks/erp.ts';
import { expectTerminalAgrees, readBank, readFiscalMemory, readLedger } from '../support/books.ts';
import { type Program, patienceMs, runProgram, startProgram, temporaryDirectory } from '../support/gateway-process.ts';
import { eventually, reportOf } from '../support/till.ts';
import { openSandboxShop, type SandboxShop } from './sandbox-shop.ts';

const slowTest = { timeout: 3 * patienceMs };

let shop: SandboxShop;
let erp: Erp;
const programs: Program[] = [];
beforeAll(async () => {
  [shop, erp] = await Promise.all([openSandboxShop(), startErp()]);
}, 2 * patienceMs);
afterAll(async () => {
  await Promise.all([shop?.close(), erp?.close(), ...programs.map((program) => program.kill9())]);
});

const settings = () => ({ TILLGATE_DATA_DIR: shop.sandbox.dataDir });
const stateDirOf = (kind: string) => join(shop.sandbox.dataDir, 'simulate', kind);

async function createInvoice(price: number, name = 'Lamp'): Promise<{ QR: string; OID: string }> {
  const created = await shop.till.post('/Invoice/Create', {
    CallbackURI: `${erp.base}/#OID#/#State#/#ReceiptID#`,
    Receipt: { Items: [{ Name: name, Quantity: 1, Price: price }] },
  });
  return { QR: String(created['QR']), OID: String(created['OID']) };
}

describe('scan QR', () => {
  it('as a register: fetches, charges, prints and reports, and the ERP gets its callbacks', slowTest, async () => {
    const { QR, OID } = await createInvoice(99, 'Lamp\nok  payd  Forged');
    const scanned = await runProgram(['simulate', '--kind', 'register', 'scan', QR], settings());
    expect(scanned).toMatchObject({ code: 0, err: '' });
    expect(scanned.out).toMatch(/ok +get .*99\.00 MDL[\s\S]*ok +money [\s\S]*ok +payd /);
    // The paper line by line, as it is printed; none of its lines looks like a step.
    expect(scanned.out).toMatch(/\n {2}\| +BON FISCAL\n[\s\S]*\n {2}\| TOTAL MDL +99\.00\n/);
    expect(scanned.out.match(/^ok +payd/gm)).toHaveLength(1);
    const [document] = readFiscalMemory(stateDirOf('register'));
    expect(document).toMatchObject({ type: 'receipt', totalBani: 9_900 });
    const receiptId = document?.type === 'receipt' ? document.receiptId : '';
    expect(await shop.till.get('/Invoice/Status', { QR })).toMatchObject({ errorCode: 0, Status: 2, ReceiptID: receiptId });
    await eventually(
      'both callbacks',
      () => erp.heard.map(({ url }) => url),
      (urls) => urls.includes(`/${OID}/Scanned/`) && urls.includes(`/${OID}/Payed/${receiptId}`),
    );
  });

  it('as a terminal, with JSON output', slowTest, async () => {
    const { QR, OID } = await createInvoice(45);
    const scanned = await runProgram(['simulate', '--kind', 'terminal', '--json', 'scan', QR], settings());
    expect(scanned).toMatchObject({ code: 0, err: '' });
    const outcome = JSON.parse(scanned.out);
    expect(outcome).toMatchObject({ isPaid: true, isMoneyTaken: true, oid: OID });
    expect(readBank(stateDirOf('terminal')).map(({ kind, amountBani }) => [kind, amountBani])).toEqual([
      ['charge', 4_500],
      ['document-closed', 4_500],
    ]);
    expect(await shop.till.get('/Invoice/Status', { QR })).toMatchObject({ Status: 2, ReceiptID: outcome.receiptId });

    // A second scan of a paid invoice charges nothing.
    const again = await runProgram(['simulate', '--kind', 'terminal', '--json', 'scan', QR], settings());
    expect(again.code).toBe(1);
    expect(JSON.parse(again.out)).toMatchObject({ isPaid: false, isMoneyTaken: false });
    expect(readBank(stateDirOf('terminal'))).toHaveLength(2);
  });

  it('charges nothing when the bank declines, and leaves the invoice payable', slowTest, async () => {
    const { QR } = await createInvoice(10.81);
    const scanned = await runProgram(['simulate', '--kind', 'register', '--json', 'scan', QR], settings());
    expect(scanned.code).toBe(1);
    expect(JSON.parse(scanned.out)).toMatchObject({ isPaid: false, isMoneyTaken: false });
    expect(await shop.till.get('/Invoice/Status', { QR })).toMatchObject({ Status: 1 });
    expect(readFiscalMemory(stateDirOf('register'))).toHaveLength(1);
  });
});

describe('a sandbox restarted on other ports', () => {
  it('is found by its registered devices', slowTest, async () => {
    const path = join(stateDirOf('register'), 'device.json');
    const known = JSON.parse(readFileSync(path, 'utf8'));
    const gone = { baseUrl: 'http://127.0.0.1:1/tillgate', mqttUrl: 'mqtt://127.0.0.1:1', queueUrl: 'ws://127.0.0.1:1/tillgate/queue' };
    writeFileSync(path, JSON.stringify({ ...known, ...gone }));
    const { QR } = await createInvoice(7);
    const scanned = await runProgram(['simulate', '--kind', 'register', '--json', 'scan', QR], settings());
    expect(JSON.parse(scanned.out)).toMatchObject({ isPaid: true });
    writeFileSync(path, JSON.stringify(known));
  });
});

describe('--pair', () => {
  const stateDir = join(temporaryDirectory(), 'till');
  let DeviceID: string;

  it('exchanges a code for a device, which serves the API', slowTest, async () => {
    const { merchantId, baseUrl } = shop.sandbox.file;
    const words = ['device', 'create', '--merchant', merchantId, '--kind', 'terminal', '--name', 'Paired', '--bank', 'otp', '--json'];
    const created = JSON.parse((await runProgram(words, settings())).out);
    DeviceID = created.id;
    const pair = ['simulate', '--kind', 'terminal', '--url', baseUrl, '--pair', created.pairingCode, '--state-dir'];
    const device = startProgram([...pair, stateDir]);
    programs.push(device);
    await device.prints(new RegExp(`Paired \\(${DeviceID}\\) serves ${baseUrl}`));
    expect(statSync(join(stateDir, 'device.json')).mode & 0o777).toBe(0o600);
    const status = () => shop.till.get('/Device/Device/Status', { DeviceID });
    expect(reportOf(await eventually('it is online', status, ({ errorCode }) => errorCode === 0))).toMatchObject({ bank: 'otp' });
    const paid = await shop.till.post('/Device/payment/Pay', { DeviceID, amount: 33, documentNr: randomUUID() });
    expect(reportOf(paid)).toMatchObject({ amount: 33 });
    await device.prints(/33\.00 MDL: present the card[\s\S]*Approved/);

    // The code has been used.
    const second = await runProgram([...pair, join(temporaryDirectory(), 'other')]);
    expect(second).toMatchObject({ code: 1, out: '' });
    expect(second.err).not.toMatch(/^\s+at /m);
    expect(await device.terminate()).toEqual({ code: 0, signal: null });
  });

  it('needs no code the next time, and accepts a fault script', slowTest, async () => {
    const faults = join(temporaryDirectory(), 'faults.json');
    writeFileSync(faults, JSON.stringify({ mqtt: false, duplicateRate: 1 }));
    const device = startProgram(['simulate', '--kind', 'terminal', '--state-dir', stateDir, '--faults', faults]);
    programs.push(device);
    await device.prints(/Ctrl-C ends/);
    const twin = await runProgram(['simulate', '--kind', 'terminal', '--state-dir', stateDir, 'scan', (await createInvoice(1)).QR]);
    expect(twin).toMatchObject({ code: 1, out: '', err: expect.stringMatching(/is already run by process \d+[^\n]*\n$/) });
    const last = () => shop.till.get('/Device/payment/LastTransaction', { DeviceID });
    const { operationId } = reportOf(await eventually('it is back', last, ({ errorCode }) => errorCode === 0));
    const closed = { DeviceID, documentNr: 'any', operationId };
    expect(await shop.till.post('/Device/payment/CloseDoc', { ...closed, operationId: '77' })).toMatchObject({ errorCode: 20 });
    const [row] = (await readLedger(shop.sandbox)).filter((one) => one.device_id === DeviceID);
    expect(await shop.till.post('/Device/payment/CloseDoc', { ...closed, documentNr: row?.document_nr })).toMatchObject({ errorCode: 0 });
    expect(reportOf(await shop.till.post('/Device/payment/Pay', { DeviceID, amount: 12 }))).toMatchObject({ amount: 12 });
    expectTerminalAgrees({ ledger: await readLedger(shop.sandbox), deviceId: DeviceID, stateDir });
  });

  it('reports each error in one sentence', slowTest, async () => {
    const nowhere = await runProgram(['simulate', '--kind', 'terminal', '--url', 'http://127.0.0.1:1/tillgate', '--pair', 'AAAA-BBBB'], {
      TILLGATE_DATA_DIR: temporaryDirectory(),
    });
    expect(nowhere).toMatchObject({ code: 1, out: '', err: expect.stringMatching(/^No gateway answers at [^\n]*\n$/) });
    const alone = await runProgram(['simulate', '--kind', 'terminal'], { TILLGATE_DATA_DIR: temporaryDirectory() });
    expect(alone).toMatchObject({ code: 1, out: '', err: expect.stringMatching(/^Give a pairing code[^\n]*\n$/) });
    expect(await runProgram(['simulate', '--kind', 'toaster'])).toMatchObject({ code: 2, out: '' });
    expect(await runProgram(['simulate', '--kind', 'terminal', '--slow-ms', 'soon'])).toMatchObject({ code: 2, out: '' });
    expect(await runProgram(['simulate', '--oops'])).toMatchObject({ code: 2, out: '' });
    const script = join(temporaryDirectory(), 'faults.json');
    writeFileSync(script, '{"gravity":false}');
    const unknown = await runProgram(['simulate', '--kind', 'terminal', '--faults', script]);
    expect(unknown).toMatchObject({ code: 1, out: '', err: expect.stringMatching(/^The fault script [^\n]*"gravity"[^\n]*\n$/) });
  });
});
