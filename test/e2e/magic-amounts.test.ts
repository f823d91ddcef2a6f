// Every magic amount of the virtual devices through the API: the answer to the ERP, and that the books agree afterwards.
//
// Not covered in real time: a late or lost answer of a terminal, because Pay may take five minutes. The ledger's tests in virtual
// time cover both, and test/faults/gateway-killed.test.ts the lost one; a register's are here, because Money/In takes 20 s.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DeviceKind } from '../../src/link/protocol.ts';
import { type Magic, magicAmounts } from '../../src/virtual/mishaps/magic-amounts.ts';
import { startErp } from '../callbacks/erp.ts';
import { readBank } from '../support/books.ts';
import { patienceMs } from '../support/gateway-process.ts';
import { eventually, reportOf } from '../support/till.ts';
import { openSandboxShop, type SandboxShop } from './sandbox-shop.ts';

const slowTest = { timeout: 4 * patienceMs };

/** errorCode by magic amount; undefined: see the head of this file. */
const onTerminal: Partial<Record<Magic, number | undefined>> = {
  declined: 50,
  'wrong-pin': 50,
  'customer-cancels': 50,
  slow: 0,
  'late-answer': undefined,
  'lost-answer': undefined,
  'answers-twice': 0,
  'crash-before-bank': 50,
  'crash-after-bank': 0,
  'paper-out': 50,
  busy: 31,
};

const onRegister: Partial<Record<Magic, number | undefined>> = {
  declined: 50,
  'crash-after-print': 0,
  slow: 0,
  'late-answer': undefined,
  'lost-answer': undefined,
  'answers-twice': 0,
  'crash-before-bank': 50,
  'crash-after-bank': 0,
  'paper-out': 50,
  busy: 31,
  'paper-out-mended': 0,
  'paper-out-reversed': 50,
};

let shop: SandboxShop;
beforeAll(async () => {
  shop = await openSandboxShop();
}, 2 * patienceMs);
afterAll(() => shop?.close());

const endingOf = (kind: DeviceKind, magic: Magic) => magicAmounts.find((row) => row.kind === kind && row.magic === magic)?.ending ?? 0;

async function payAndClose(DeviceID: string, magic: Magic): Promise<number> {
  const ending = endingOf('terminal', magic);
  const body = { DeviceID, amount: `20.${ending}`, documentNr: randomUUID() };
  const answer = await shop.till.post('/Device/payment/Pay', body);
  if (answer.errorCode === 0) {
    expect(await shop.till.post('/Device/payment/Pay', body)).toEqual(answer);
    const { operationId } = reportOf(answer);
    expect(await shop.till.post('/Device/payment/CloseDoc', { ...body, operationId })).toMatchObject({ errorCode: 0 });
  } else {
    expect(answer.errorMessage).toMatch(/^[A-Z]\w+: .+\.$/);
  }
  return answer.errorCode;
}

async function print(DeviceID: string, magic: Magic): Promise<number> {
  const ending = endingOf('register', magic);
  const Items = [{ Name: 'Bread', Quantity: 1, Price: Number(`30.${ending}`) }];
  const body = { DeviceID, Receipt: { Uid: randomUUID(), Items, Payments: [{ PaymentCode: 1 }] } };
  const answer = await shop.till.post('/Device/Invoice/Pay', body);
  if (answer.errorCode === 0) expect(await shop.till.post('/Device/Invoice/Pay', body)).toEqual(answer);
  return answer.errorCode;
}

describe('magic amounts', () => {
  it('are all covered here', () => {
    const named = (kind: 'terminal' | 'register') => magicAmounts.filter((row) => row.kind === kind).map(({ magic }) => magic);
    expect(Object.keys(onTerminal)).toEqual(named('terminal'));
    expect(Object.keys(onRegister)).toEqual(named('register'));
  });

  it('do as the table says, on terminals and registers at the same time', slowTest, async () => {
    const [first = '', second = ''] = shop.terminals;
    const [register = '', otherRegister = ''] = shop.registers;
    const heard: Record<string, number> = {};
    // Slow amounts use their own device, so that the others need not wait.
    const quick = (table: object) =>
      Object.entries(table).filter(([magic, code]) => code !== undefined && magic !== 'slow') as [Magic, number][];
    await Promise.all([
      (async () => {
        for (const [magic] of quick(onTerminal)) heard[`terminal ${magic}`] = await payAndClose(first, magic);
      })(),
      (async () => {
        for (const [magic] of quick(onRegister)) heard[`register ${magic}`] = await print(register, magic);
      })(),
      payAndClose(second, 'slow').then((code) => {
        heard['terminal slow'] = code;
      }),
      print(otherRegister, 'slow').then((code) => {
        heard['register slow'] = code;
      }),
    ]);
    const wanted = (kind: string, table: object) =>
      Object.entries(table).flatMap(([magic, code]) => (code === undefined ? [] : [[`${kind} ${magic}`, code]]));
    expect(heard).toEqual(Object.fromEntries([...wanted('terminal', onTerminal), ...wanted('register', onRegister)]));
    const reversed = readBank(shop.stateDir(register)).filter(({ amountBani }) => amountBani === 3_094);
    expect(reversed.map(({ kind }) => kind)).toEqual(['charge', 'void']);
    await shop.expectBooksAgree();
  });

  it('late and lost answers of a register are first unknown and then settled by the gateway', slowTest, async () => {
    const erp = await startErp();
    const CallbackURI = `${erp.base}/done?id=#OID#&state=#State#`;
    const states = (amount: string) =>
      erp.heard.filter(({ url }) => url.includes(`amount=${amount}`)).map(({ url }) => url.match(/state=(\w+)/)?.[1]);
    const [late = '', lost = ''] = shop.registers;
    const cash = (DeviceID: string, Amount: string) => ({ DeviceID, Amount, CallbackURI: `${CallbackURI}&amount=${Amount}` });
    const key = { 'idempotency-key': randomUUID() };
    const [lateAnswer, lostAnswer] = await Promise.all([
      shop.till.post('/Device/Money/In', cash(late, '7.85'), key),
      shop.till.post('/Device/Money/In', cash(lost, '8.86')),
    ]);
    expect(lateAnswer).toMatchObject({ status: 200, errorCode: 3 });
    expect(lostAnswer).toMatchObject({ status: 200, errorCode: 3 });
    await eventually(
      'the lost one is settled',
      () => states('8.86'),
      (heard) => heard.length === 2,
    );
    await eventually(
      'the late one is settled',
      () => states('7.85'),
      (heard) => heard.length === 2,
    );
    expect(states('8.86')).toEqual(['Unknown', 'Completed']);
    expect(states('7.85')).toEqual(['Unknown', 'Completed']);
    expect(await shop.till.post('/Device/Money/In', cash(late, '7.85'), key)).toMatchObject({ errorCode: 0 });
    await shop.expectBooksAgree();
    await erp.close();
  });

  it('are selected by the header Tillgate-Fault, for any amount, once for each document [D152]', slowTest, async () => {
    const [, , DeviceID = ''] = shop.terminals;
    const pay = { DeviceID: DeviceID.toUpperCase(), amount: 33, documentNr: randomUUID().toUpperCase() };
    const fault = (name: string) => ({ 'tillgate-fault': name });
    expect(await shop.till.post('/Device/payment/Pay', pay, fault('no-such'))).toMatchObject({
      status: 400,
      errorCode: 40,
      errorMessage: expect.stringMatching(
        /^Invalid_Request: Tillgate-Fault must be one of declined, .*busy for this device, or internal-error, .*\.$/,
      ),
    });
    expect(await shop.till.post('/Device/payment/Pay', pay, fault('declined'))).toMatchObject({ errorCode: 50 });
    const paid = await shop.till.post('/Device/payment/Pay', pay, fault('declined'));
    expect(paid).toMatchObject({ errorCode: 0 });
    const { operationId } = reportOf(paid);
    const close = { DeviceID, documentNr: pay.documentNr, operationId };
    expect(await shop.till.post('/Device/payment/CloseDoc', close, fault('busy'))).toMatchObject({ errorCode: 31 });
    expect(await shop.till.post('/Device/payment/CloseDoc', close, fault('busy'))).toMatchObject({ errorCode: 0 });
    // A replay does not reach the device, and leaves no fault for the next operation.
    expect(await shop.till.post('/Device/payment/CloseDoc', close, fault('declined'))).toMatchObject({ errorCode: 0 });
    expect(await shop.till.post('/Device/payment/closeDay', { DeviceID })).toMatchObject({ errorCode: 0 });
    await shop.expectBooksAgree();
  });
});
