// The day of a shop in three books: closed by real devices, and constructed for every kind of difference.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readShopDay } from '../../../src/cabinet/views/figures/day-close.ts';
import { compareDay, type DayOperation, type DaySource } from '../../../src/cabinet/views/figures/day-compare.ts';
import { removableCommands } from '../../../src/removal/commands.ts';
import { createSaleWorld } from '../../support/sale-world.ts';
import { type CabinetWorld, createCabinetWorld } from './cabinet-world.ts';

const operation = (changes: Partial<DayOperation>): DayOperation => ({
  id: 'x',
  name: 'Pay',
  amountBani: 0,
  cashBani: 0,
  cardBani: 0,
  documentNr: null,
  receiptUid: null,
  targetId: null,
  paid: [],
  issuedAtMs: 0,
  settledBy: 'answer',
  isInReview: false,
  ...changes,
});
const source = (kind: 'bank' | 'z', report: object, operations: DayOperation[]): DaySource => ({
  commandId: kind,
  kind,
  deviceId: kind,
  deviceName: kind,
  fromMs: 0,
  toMs: 1,
  report: { ...report },
  operations,
});
const pay = (id: string, lei: number, documentNr: string | null = id) => operation({ id, amountBani: lei * 100, documentNr });
const print = (id: string, lei: number, receiptUid: string | null = id) =>
  operation({ id: `p-${id}`, name: 'PrintReceipt', amountBani: lei * 100, cardBani: lei * 100, receiptUid });
const lineOf = (result: ReturnType<typeof compareDay>, name: string) => result.lines.find(({ line }) => line === name);

describe('a day in three books', () => {
  it('counts deposits and withdrawals, each on its line, and both in the drawer', () => {
    const moved = [operation({ name: 'MoneyIn', amountBani: 5_000 }), operation({ name: 'MoneyOut', amountBani: 2_000 })];
    const { lines } = compareDay([source('z', { totals: { card: 0, cash: 0, cashIn: 50, cashOut: 20 } }, moved)]);
    expect(lines.slice(4).map(({ line, ledgerBani, differenceBani }) => [line, ledgerBani, differenceBani])).toEqual([
      ['cashIn', 5_000, 0],
      ['cashOut', 2_000, 0],
      ['drawer', 3_000, 0],
    ]);
  });

  it('agrees if everything was charged, printed and closed', () => {
    const result = compareDay([
      source('bank', { amount: 70, totals: { sales: 100, refunds: 30 } }, [
        pay('a', 40),
        pay('b', 60),
        operation({ name: 'Refund', amountBani: 3_000 }),
      ]),
      source('z', { totals: { card: 100, cash: 0, cashIn: 0, cashOut: 0 } }, [print('a', 40), print('b', 60)]),
    ]);
    expect(result.lines.map(({ differenceBani }) => differenceBani ?? 0)).toEqual([0, 0, 0, 0, 0, 0, 0]);
    expect(result).toMatchObject({ groups: [], unexplained: { bankBani: 0, zBani: 0 }, canCompare: { bank: true, z: true } });
  });

  it('agrees if receipts name the payments of terminals, two of them on one receipt [D146]', () => {
    const split = operation({
      id: 'p',
      name: 'PrintReceipt',
      amountBani: 10_000,
      cashBani: 1_000,
      receiptUid: 'r',
      paid: [
        { paymentId: 'a', amountBani: 4_000 },
        { paymentId: 'b', amountBani: 5_000 },
      ],
    });
    const result = compareDay([
      source('bank', { amount: 90, totals: { sales: 90, refunds: 0 } }, [pay('a', 40), pay('b', 50)]),
      source('z', { totals: { card: 90, cash: 10, cashIn: 0, cashOut: 0 } }, [split]),
    ]);
    expect(result.lines.map(({ differenceBani }) => differenceBani ?? 0)).toEqual([0, 0, 0, 0, 0, 0, 0]);
    expect(result).toMatchObject({ groups: [], unexplained: { bankBani: 0, zBani: 0 } });
  });

  it('counts the card that a register charged beside the payment that its receipt names under its own number', () => {
    const both = { ...print('a', 5), amountBani: 1_500, paid: [{ paymentId: 'a', amountBani: 1_000 }] };
    const result = compareDay([
      source('bank', { amount: 10, totals: { sales: 10, refunds: 0 } }, [pay('a', 10)]),
      source('z', { totals: { card: 15, cash: 0, cashIn: 0, cashOut: 0 } }, [both]),
    ]);
    expect(lineOf(result, 'cardSales')).toMatchObject({ bankBani: 1_000, zBani: 1_500, ledgerBani: 1_500 });
    expect(result.groups).toEqual([{ kind: 'byRegister', sumBani: 500, effectBani: -500, operationIds: ['p-a'] }]);
    expect(result.equation).toMatchObject({ restBani: 0 });
  });

  it('distinguishes a missing receipt, another register and another payment code, which add up to the difference', () => {
    const otherCode = operation({ id: 'p-c', name: 'PrintReceipt', amountBani: 3_000, receiptUid: 'C' });
    const sources = [
      source('bank', { amount: 100, totals: { sales: 100, refunds: 0 } }, [pay('a', 40), pay('b', 20), pay('c', 30), pay('d', 10)]),
      source('z', { totals: { card: 47, cash: 0, cashIn: 0, cashOut: 0 } }, [print('a', 40), otherCode, print('own', 5)]),
    ];
    const result = compareDay(sources, new Set(['b']));
    expect(result.groups.map(({ kind, effectBani, operationIds }) => [kind, effectBani, operationIds])).toEqual([
      ['noReceipt', 1_000, ['d']],
      ['otherRegister', 2_000, ['b']],
      ['otherCode', 3_000, ['c']],
      ['byRegister', -500, ['p-own']],
    ]);
    // 100 − 47 = 10 + 20 + 30 − 5 − 2, and the last is in no operation.
    expect(result.equation).toEqual({ bankBani: 10_000, zBani: 4_700, restBani: -200 });
  });

  it('shows a difference in the net if the sales differ', () => {
    const result = compareDay([
      source('bank', { amount: 189, totals: { sales: 189, refunds: 0 } }, [pay('a', 100), pay('b', 89)]),
      source('z', { totals: { card: 100, cash: 0, cashIn: 0, cashOut: 0 } }, [print('a', 100)]),
    ]);
    expect(lineOf(result, 'cardNet')?.differenceBani).toBe(8_900);
  });

  it('finds the sale without a receipt that explains the whole difference', () => {
    const result = compareDay([
      source('bank', { amount: 189, totals: { sales: 189, refunds: 0 } }, [pay('a', 100), pay('b', 89)]),
      source('z', { totals: { card: 100, cash: 0, cashIn: 0, cashOut: 0 } }, [print('a', 100)]),
    ]);
    expect(lineOf(result, 'cardSales')).toEqual({
      line: 'cardSales',
      bankBani: 18_900,
      zBani: 10_000,
      ledgerBani: 18_900,
      differenceBani: 8_900,
    });
    expect(result.groups).toEqual([{ kind: 'noReceipt', sumBani: 8_900, effectBani: 8_900, operationIds: ['b'] }]);
    expect(result.unexplained).toEqual({ bankBani: 0, zBani: 0 });
  });

  it('reports no missing receipt if none is linked, and counts cards charged by the register', () => {
    const result = compareDay([
      source('bank', { amount: 100 }, [pay('a', 100, null)]),
      source('z', { totals: { card: 50, cash: 0, cashIn: 0, cashOut: 0 } }, [print('own', 50)]),
    ]);
    expect(result.groups).toEqual([
      { kind: 'byTerminal', sumBani: 10_000, effectBani: 10_000, operationIds: ['a'] },
      { kind: 'byRegister', sumBani: 5_000, effectBani: -5_000, operationIds: ['p-own'] },
    ]);
    expect(result.unexplained).toEqual({ bankBani: 0, zBani: 0 });
  });

  it('explains what was refunded before the receipt, which names the rest', () => {
    const named = operation({
      id: 'p',
      name: 'PrintReceipt',
      amountBani: 7_000,
      receiptUid: 'r',
      paid: [{ paymentId: 'a', amountBani: 7_000 }],
    });
    const refund = (targetId: string, lei: number) => operation({ id: `r-${targetId}`, name: 'Refund', amountBani: lei * 100, targetId });
    const sources = [
      source('bank', { amount: 70, totals: { sales: 120, refunds: 50 } }, [pay('a', 100), pay('b', 20), refund('a', 30), refund('b', 20)]),
      source('z', { totals: { card: 70, cash: 0, cashIn: 0, cashOut: 0 } }, [named]),
    ];
    const result = compareDay(sources);
    // 30 of the one, and the other, which was refunded in full and needs no receipt.
    expect(result.groups).toEqual([{ kind: 'refundedBefore', sumBani: 5_000, effectBani: 5_000, operationIds: ['a', 'b'] }]);
    expect(result.equation).toEqual({ bankBani: 12_000, zBani: 7_000, restBani: 0 });
  });

  it('explains the receipts of payments that another close of the bank contains, after two closes in one Z report', () => {
    const named = (id: string, lei: number) => ({
      ...operation({ id: `p-${id}`, name: 'PrintReceipt', amountBani: lei * 100, receiptUid: `r-${id}` }),
      paid: [{ paymentId: id, amountBani: lei * 100 }],
    });
    const z = source('z', { totals: { card: 70, cash: 0, cashIn: 0, cashOut: 0 } }, [named('morning', 40), named('evening', 30)]);
    const result = compareDay([source('bank', { amount: 30, totals: { sales: 30, refunds: 0 } }, [pay('evening', 30)]), z]);
    expect(result.groups).toEqual([{ kind: 'otherClose', sumBani: 4_000, effectBani: -4_000, operationIds: ['p-morning'] }]);
    expect(result.equation).toEqual({ bankBani: 3_000, zBani: 7_000, restBani: 0 });
    expect(compareDay([z]).groups).toEqual([]);
  });

  it('compares a Z report alone with what its receipts name as paid on terminals', () => {
    const named = operation({
      id: 'p',
      name: 'PrintReceipt',
      amountBani: 7_000,
      receiptUid: 'r',
      paid: [{ paymentId: 'a', amountBani: 7_000 }],
    });
    const result = compareDay([source('z', { totals: { card: 70, cash: 0, cashIn: 0, cashOut: 0 } }, [named])]);
    expect(lineOf(result, 'cardSales')).toMatchObject({ zBani: 7_000, ledgerBani: 7_000, differenceBani: 0 });
  });

  it('excludes a voided payment, and reports a difference without an operation', () => {
    const voided = [pay('a', 100), pay('b', 20), operation({ id: 'v', name: 'CancelTransaction', targetId: 'b', amountBani: 2_000 })];
    expect(compareDay([source('bank', { amount: 100, totals: { sales: 100, refunds: 0 } }, voided)]).unexplained.bankBani).toBe(0);
    const more = compareDay([
      source('bank', { amount: 150, totals: { sales: 150, refunds: 0 } }, [{ ...pay('a', 100), settledBy: 'person' }]),
    ]);
    expect(more.unexplained.bankBani).toBe(5_000);
    expect(more.groups).toContainEqual({ kind: 'suspect', sumBani: 10_000, effectBani: 0, operationIds: ['a'] });
  });

  it('cannot compare without totals', () => {
    const result = compareDay([source('z', { number: 1, totals: { total: 5 } }, [print('a', 5)]), source('bank', { count: 1 }, [])]);
    expect(result.canCompare).toEqual({ bank: false, z: false });
    expect(result.lines.every(({ differenceBani }) => differenceBani === undefined)).toBe(true);
    expect(result.unexplained).toEqual({ bankBani: undefined, zBani: undefined });
    // One of two registers without totals makes the sum unknown.
    const half = compareDay([source('z', { totals: { cash: 5 } }, []), source('z', { totals: {} }, [])]);
    expect(half.canCompare.z).toBe(false);
  });
});

describe('a Z report that was removed by retention', () => {
  const dayOf = async (which: 'first' | 'second', isRemoved: boolean) => {
    const world = await createSaleWorld();
    const register = await world.register();
    const call = { merchantId: world.merchantId, deviceId: register.id };
    const ids: string[] = [];
    for (const lei of [100, 7]) {
      const receipt = { Uid: `of ${lei}`, Items: [{ Name: 'x', Quantity: 1, Price: lei }], Payments: [{ PaymentCode: 0 }] };
      expect((await world.run(world.fiscal.printReceipt({ ...call, receipt }))).code).toBe(0);
      await world.clock.advance(1_000);
      ids.push(String((await world.run(world.fiscal.createReport({ ...call, isFiscal: true }))).oid));
      await world.clock.advance(1_000);
    }
    const [first = '', second = ''] = ids;
    if (isRemoved) expect(await removableCommands.remove(world.database, first)).toBe(true);
    const day = await readShopDay(world.database.queries, { merchantId: world.merchantId }, which === 'first' ? first : second);
    return compareDay(day?.sources ?? expect.fail());
  };

  it.each([false, true])('still starts the next day: its sales are no difference of that day (removed: %s)', async (isRemoved) => {
    const day = await dayOf('second', isRemoved);
    expect(lineOf(day, 'cashSales')).toEqual({ line: 'cashSales', zBani: 700, ledgerBani: 700, differenceBani: 0 });
    expect(day.unexplained.zBani).toBe(0);
  });

  it('is shown but not compared, because its totals are removed', async () => {
    const day = await dayOf('first', true);
    expect(day.canCompare.z).toBe(false);
    expect(lineOf(day, 'cashSales')).toEqual({ line: 'cashSales', ledgerBani: 10_000 });
  });
});

describe('the day of a shop over HTTP', () => {
  let world: CabinetWorld;
  beforeEach(async () => {
    world = await createCabinetWorld();
  });
  afterEach(() => world.close());

  it('is summed over exactly its period, by the devices’ own totals', async () => {
    const terminal = await world.terminal();
    const register = await world.register();
    await world.database.queries.updateTable('devices').set({ point_of_sales_code: 'CHI-01' }).execute();
    const sale = async (amount: number, isPrinted: boolean) => {
      const documentNr = world.random.uuid();
      const paid = await world.erp('/Device/payment/Pay', { DeviceID: terminal.id, amount, documentNr });
      const { operationId } = JSON.parse(String(paid['report'])) as { operationId: string };
      await world.erp('/Device/payment/CloseDoc', { DeviceID: terminal.id, documentNr, operationId });
      const Receipt = { Uid: documentNr, Items: [{ Name: 'x', Quantity: 1, Price: amount }], Payments: [{ PaymentCode: 0 }] };
      if (isPrinted) await world.erp('/Device/Invoice/Pay', { DeviceID: register.id, Receipt });
      return String(paid['OID']);
    };
    const order = (id: string, action: string) => world.act(`/devices/${id}/${action}`, {}, { 'idempotency-key': world.random.uuid() });
    await sale(500, true);
    expect((await order(terminal.id, 'closeDay')).errorCode).toBe(0);
    expect((await order(register.id, 'zReport')).errorCode).toBe(0);
    // Move that to the day before.
    const dayMs = 24 * 3_600_000;
    await world.database.queries
      .updateTable('commands')
      .set((row) => ({ issued_at: row('issued_at', '-', dayMs), settled_at: row('settled_at', '-', dayMs) }))
      .execute();

    await sale(100, true);
    const unprinted = await sale(89, false);
    const refunded = await sale(30, true);
    await world.act(`/commands/${refunded}/refund`, { amount: 10 }, { 'idempotency-key': 'r' });
    await world.erp('/Device/Money/In', { DeviceID: register.id, Amount: 50 });
    expect((await order(register.id, 'xReport')).errorCode).toBe(0);
    const closed = await order(terminal.id, 'closeDay');
    const z = await order(register.id, 'zReport');

    const { shops } = (await world.look('/day-close/shops')) as unknown as {
      shops: { code: string; closes: { id: string; kind: string }[] }[];
    };
    expect(shops).toMatchObject([{ code: 'CHI-01' }]);
    expect(shops[0]?.closes.map(({ kind }) => kind)).toEqual(['z', 'bank', 'z', 'bank']);
    for (const close of [closed['OID'], z['OID']]) {
      const day = await world.look(`/day-close?close=${String(close)}`);
      expect(day['lines']).toEqual([
        { line: 'cardSales', bank: 219, z: 0, ledger: 219, difference: 219 },
        { line: 'cardRefunds', bank: 10, ledger: 10, difference: 0 },
        { line: 'cardNet', bank: 209, ledger: 209, difference: 219 },
        { line: 'cashSales', z: 130, ledger: 130, difference: 0 },
        { line: 'cashIn', z: 50, ledger: 50, difference: 0 },
        { line: 'cashOut', z: 0, ledger: 0, difference: 0 },
        { line: 'drawer', z: 180, ledger: 180, difference: 0 },
      ]);
      expect(day['groups']).toMatchObject([
        { kind: 'noReceipt', sum: 89, effect: 89, operations: [{ id: unprinted }] },
        // Receipts of this till have the code "paid otherwise", because the terminal has charged the card.
        { kind: 'otherCode', sum: 130, effect: 130 },
      ]);
      expect(day['equation']).toEqual({ bank: 219, z: 0, rest: 0 });
      expect(day['unexplained']).toEqual({ bank: 0, z: 0 });
    }
    expect((await world.look(`/day-close.csv?close=${String(z['OID'])}`)).text).toContain('noReceipt');
    expect(await world.look(`/day-close?close=${unprinted}`)).toMatchObject({ errorCode: 20 });
    await world.act('/attention/note', { kind: 'dayClose', subjectId: String(z['OID']), reason: 'Printed the next day.' });
    // The note belongs to the day, whichever of its closes is shown.
    for (const close of [z, closed]) {
      expect(await world.look(`/day-close?close=${String(close['OID'])}`)).toMatchObject({ note: { reason: 'Printed the next day.' } });
    }
  });

  it('shows the state of devices, with their last operation', async () => {
    const terminal = await world.terminal();
    await world.erp('/Device/payment/Pay', { DeviceID: terminal.id, amount: 10 });
    const { devices } = (await world.look('/devices')) as unknown as { devices: { id: string; channels: object[] }[] };
    const shown = devices.find(({ id }) => id === terminal.id);
    expect(shown).toMatchObject({
      liveOn: ['mqtt', 'queue'],
      battery: expect.any(Number),
      lastCommand: { name: 'Pay', shownState: 'notClosed' },
      dropped: [],
    });
    expect(shown?.channels).toMatchObject([
      { name: 'mqtt', isLive: true, since: expect.any(String) },
      { name: 'queue', isLive: true, since: expect.any(String) },
    ]);
    expect(await world.act(`/devices/${terminal.id}/status`)).toMatchObject({ errorCode: 0, report: expect.stringContaining('battery') });
    expect((await world.act(`/devices/${terminal.id}/lastTransaction`)).errorCode).toBe(0);
    expect(await world.act(`/devices/${terminal.id}/closeDay`)).toMatchObject({ errorCode: 40 });
  });
});
