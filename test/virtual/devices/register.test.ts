import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { namesWhere, operations } from '../../../src/kernel/operations.ts';
import type { JsonObject } from '../../../src/link/protocol.ts';
import type { VatTable } from '../../../src/virtual/books/vat.ts';
import type { VirtualDeviceDeps } from '../../../src/virtual/devices/virtual-device.ts';
import { magicAmounts } from '../../../src/virtual/mishaps/magic-amounts.ts';
import { benchOfOne } from '../bench-of-one.ts';

const benchOfRegister = (overrides: Partial<VirtualDeviceDeps> = {}) => benchOfOne({ kind: 'register', name: 'Register 1', ...overrides });

function receipt(price: number | string, payments: JsonObject[] = [{ PaymentCode: 0 }], more: JsonObject = {}): JsonObject {
  return { receipt: { Number: '1', Uid: 'u-1', Items: [{ Name: 'Bread', Quantity: 1, Price: price }], Payments: payments, ...more } };
}

const byCard = [{ PaymentCode: 1 }];
const tenMinutesMs = 600_000;

describe('the virtual register', () => {
  it.each(namesWhere(({ device }) => device === 'register'))('writes a document for %s of the catalogue', async (name) => {
    const bench = await benchOfRegister();
    await bench.lastAnswer('MoneyIn', { amount: 500 });
    expect(await bench.lastAnswer(name, { ...operations[name].sample.args })).toMatchObject({ outcome: 'done' });
    expect(bench.device.fiscalMemory().last()?.documentNumber).toBe(2);
  });
});

describe('the cash drawer', () => {
  it('takes money in and out, and never gives more than it holds', async () => {
    const { lastAnswer } = await benchOfRegister();
    expect((await lastAnswer('MoneyIn', { amount: 100.1, reason: 'opening' })).report).toMatchObject({
      documentNumber: 1,
      cashInDrawer: 100.1,
    });
    expect((await lastAnswer('MoneyOut', { amount: 40 })).report).toMatchObject({ documentNumber: 2, cashInDrawer: 60.1 });
    expect(await lastAnswer('MoneyOut', { amount: 60.11 })).toMatchObject({ outcome: 'refused' });
    expect((await lastAnswer('MoneyOut', { amount: 60.1 })).report).toMatchObject({ documentNumber: 3, cashInDrawer: 0 });
  });
});

describe('receipts', () => {
  it('prints cash with change, numbers receipts in order, and tells the last document', async () => {
    const { lastAnswer, ask, device } = await benchOfRegister();
    const first = await lastAnswer('PrintReceipt', receipt(12.35, [{ PaymentCode: 0, Amount: 20 }]));
    expect(first.report).toMatchObject({ fiscalNumber: '00000001', total: 12.35, change: 7.65, receiptId: expect.any(String) });
    const second = await ask('PrintReceipt', receipt(1));
    expect(device.fiscalMemory().drawerBani).toBe(1335);
    expect((await lastAnswer('LastTransaction')).report).toMatchObject({
      commandId: second,
      kind: 'PrintReceipt',
      state: 'approved',
      document: 'receipt',
      documentNumber: 2,
      fiscalNumber: '00000002',
    });
  });

  it('multiplies exactly and rounds each line to the ban', async () => {
    const { lastAnswer } = await benchOfRegister({ hasMagic: false });
    const items = [
      { Name: 'a', Quantity: 3, Price: 0.1 },
      { Name: 'b', Quantity: 0.333, Price: 10 },
      { Name: 'c', Quantity: 1, Price: 1.005 },
      { Name: 'discount', Quantity: 1, Price: -0.3 },
    ];
    const answer = await lastAnswer('PrintReceipt', { receipt: { Items: items, Payments: [{ PaymentCode: '0' }] } });
    expect(answer.report).toMatchObject({ total: 4.34 });
  });

  it.each([
    ['no items', { receipt: { Items: [], Payments: byCard } }],
    ['no payments', { receipt: { Items: [{ Name: 'x', Quantity: 1, Price: 1 }] } }],
    ['no receipt', {}],
    ['paid too little', receipt(10, [{ PaymentCode: 0, Amount: 9.99 }])],
    ['overpaid by card', receipt(10, [{ PaymentCode: 1, Amount: 10.01 }])],
    ['a negative total', receipt(-1)],
    ['no such VAT letter', { receipt: { Items: [{ Name: 'x', Quantity: 1, Price: 1, VAT: 'Q' }], Payments: byCard } }],
  ])('refuses a receipt with %s, and nothing happens', async (_what, args) => {
    const { lastAnswer, device } = await benchOfRegister();
    expect(await lastAnswer('PrintReceipt', args)).toMatchObject({ outcome: 'refused' });
    expect(device.fiscalMemory().documents()).toEqual([]);
    expect(device.bank.netBani()).toBe(0);
  });

  it.each([1, 2, 7, 1000])('asks the bank before it prints PaymentCode %i', async (code) => {
    const { ask, clock, outcomesOf, device } = await benchOfRegister({ timing: { bankMs: 5_000, printMs: 5_000 } });
    const id = await ask('PrintReceipt', receipt(50, [{ PaymentCode: code }]), 1_000);
    expect([device.bank.netBani(), device.fiscalMemory().documents().length]).toEqual([0, 0]);
    await clock.advance(5_000);
    expect([device.bank.netBani(), device.fiscalMemory().documents().length]).toEqual([5000, 0]);
    await clock.advance(5_000);
    expect([device.bank.netBani(), device.fiscalMemory().documents().length]).toEqual([5000, 1]);
    expect(outcomesOf(id)).toEqual(['accepted', 'done']);
    expect(device.fiscalMemory().drawerBani).toBe(0);
  });

  it('charges several cards, or none of them', async () => {
    const { lastAnswer, device } = await benchOfRegister();
    const cards = [
      { PaymentCode: 1, Amount: 30 },
      { PaymentCode: 2, Amount: 20 },
      { PaymentCode: 0, Amount: 10 },
    ];
    const answer = await lastAnswer('PrintReceipt', receipt(60, cards));
    expect(answer.report?.cards).toHaveLength(2);
    expect(device.bank.netBani()).toBe(5000);
    expect(device.fiscalMemory().drawerBani).toBe(1000);
  });
});

/** After ten minutes: what the gateway saw, what the bank holds, how many receipts were printed. */
const expected: Record<number, { outcomes: string[]; isDone: boolean }> = {
  81: { outcomes: ['accepted', 'refused'], isDone: false },
  84: { outcomes: ['accepted', 'done'], isDone: true },
  85: { outcomes: ['accepted', 'done'], isDone: true },
  86: { outcomes: ['accepted'], isDone: true },
  87: { outcomes: ['accepted', 'done', 'done'], isDone: true },
  88: { outcomes: ['accepted', 'refused'], isDone: false },
  89: { outcomes: ['accepted', 'done'], isDone: true },
  91: { outcomes: ['accepted', 'refused'], isDone: false },
  92: { outcomes: ['busy'], isDone: false },
  93: { outcomes: ['accepted', 'done'], isDone: true },
  94: { outcomes: ['accepted', 'refused'], isDone: false },
  82: { outcomes: ['accepted', 'done'], isDone: true },
};

describe('magic amounts of a register', () => {
  const rows = magicAmounts.filter((row) => row.kind === 'register');

  it('are all listed', () => {
    expect(rows.map((row) => row.ending)).toEqual(Object.keys(expected).map(Number));
  });

  it.each(rows)('x.$ending: $meaning; bank and fiscal memory agree', async ({ ending }) => {
    const { ask, outcomesOf, device, lastAnswer } = await benchOfRegister();
    const id = await ask('PrintReceipt', receipt(20 + ending / 100, byCard), tenMinutesMs);
    const { outcomes = [], isDone = false } = expected[ending] ?? {};
    expect(outcomesOf(id)).toEqual(outcomes);
    expect(device.bank.netBani()).toBe(isDone ? 2000 + ending : 0);
    expect(device.fiscalMemory().documents()).toHaveLength(isDone ? 1 : 0);
    expect((await lastAnswer('Recall', { target: id })).report).toMatchObject({
      state: 'final',
      outcome: isDone ? 'done' : outcomes.at(-1),
    });
  });

  it.each([
    [88, 0],
    [89, 0],
    [82, 1],
  ])('x.%i at MoneyIn leaves %i documents', async (ending, count) => {
    const { ask, outcomesOf, device } = await benchOfRegister();
    const id = await ask('MoneyIn', { amount: 20 + ending / 100 }, tenMinutesMs);
    expect(outcomesOf(id)).toEqual(['accepted', count === 1 ? 'done' : 'refused']);
    expect(device.fiscalMemory().documents()).toHaveLength(count);
  });
});

describe('a power cut at any moment of a card receipt', () => {
  it('ends done with one print and one charge, or refused with neither', async () => {
    for (let cutAtMs = 0; cutAtMs <= 240; cutAtMs += 10) {
      const bench = await benchOfRegister();
      const cards = [
        { PaymentCode: 1, Amount: 30 },
        { PaymentCode: 1, Amount: 20 },
      ];
      const id = await bench.ask('PrintReceipt', receipt(50, cards), cutAtMs);
      await Promise.all([bench.device.crash(), bench.clock.advance(60_000)]);
      const ending = bench.outcomesOf(id).at(-1);
      const printed = bench.device.fiscalMemory().documents().length;
      expect([ending, printed, bench.device.bank.netBani()]).toEqual(ending === 'done' ? ['done', 1, 5000] : ['refused', 0, 0]);
    }
  });
});

describe('reports', () => {
  it('X changes nothing, Z resets the shift and keeps the drawer', async () => {
    const { lastAnswer } = await benchOfRegister();
    await lastAnswer('MoneyIn', { amount: 100 });
    await lastAnswer('PrintReceipt', receipt(12));
    await lastAnswer('PrintReceipt', receipt(24, byCard));
    const totals = {
      receipts: 2,
      total: 36,
      byVat: { A: { gross: 36, vat: 6 } },
      byPayment: { cash: 12, card: 24, other: 0 },
      moneyIn: 100,
      moneyOut: 0,
      cashInDrawer: 112,
    };
    expect((await lastAnswer('Report', { fiscal: false })).report).toMatchObject({ number: 1, totals });
    expect((await lastAnswer('Report', { fiscal: false })).report).toMatchObject({ number: 2, totals });
    expect((await lastAnswer('Report', { fiscal: true })).report).toMatchObject({ number: 1, totals });
    expect((await lastAnswer('Report', { fiscal: true })).report).toMatchObject({
      number: 2,
      totals: { receipts: 0, total: 0, cashInDrawer: 112 },
    });
  });

  it('forces no daily Z, unless configured; then X and the Z itself still work', async () => {
    const free = await benchOfRegister();
    await free.lastAnswer('MoneyIn', { amount: 10 });
    await free.clock.advance(40 * 3_600_000);
    expect((await free.lastAnswer('MoneyIn', { amount: 10 })).outcome).toBe('done');

    const bound = await benchOfRegister({ limitShiftTo24h: true });
    await bound.lastAnswer('MoneyIn', { amount: 10 });
    await bound.clock.advance(25 * 3_600_000);
    expect((await bound.lastAnswer('MoneyIn', { amount: 10 })).outcome).toBe('refused');
    expect((await bound.lastAnswer('PrintReceipt', receipt(5))).outcome).toBe('refused');
    expect((await bound.lastAnswer('Report', { fiscal: false })).outcome).toBe('done');
    expect((await bound.lastAnswer('Report', { fiscal: true })).outcome).toBe('done');
    expect((await bound.lastAnswer('MoneyIn', { amount: 10 })).outcome).toBe('done');
  });

  it('uses the VAT rate of the day', async () => {
    const vat: VatTable = [
      { letter: 'B', basisPoints: 800, validFrom: '2000-01-01T00:00:00Z' },
      { letter: 'B', basisPoints: 1_000, validFrom: '2026-01-16T00:00:00Z' },
    ];
    const { lastAnswer, clock, device } = await benchOfRegister({ vat });
    const args = { receipt: { Items: [{ Name: 'x', Quantity: 1, Price: 110, VAT: 'B' }], Payments: [{ PaymentCode: 0 }] } };
    await lastAnswer('PrintReceipt', args);
    await clock.advance(24 * 3_600_000);
    await lastAnswer('PrintReceipt', args);
    const taxes = device
      .fiscalMemory()
      .documents()
      .map((document) => (document.type === 'receipt' ? document.byVat.B?.vatBani : undefined));
    expect(taxes).toEqual([815, 1000]);
  });

  it('Z totals are the sum of the receipts, whatever they are and through power cuts', async () => {
    const line = fc.record({
      Name: fc.constantFrom('a', 'b'),
      Quantity: fc.integer({ min: 1, max: 5_000 }).map((n) => n / 1000),
      Price: fc.integer({ min: 100, max: 99_999 }).map((n) => n / 100),
      VAT: fc.constantFrom('A', 'B', 'D'),
    });
    const step = fc.record({
      items: fc.array(line, { minLength: 1, maxLength: 4 }),
      code: fc.constantFrom(0, 1, 7, 3),
      crashes: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        const { lastAnswer, device, clock } = await benchOfRegister({ hasMagic: false });
        const sum = { total: 0, card: 0, cash: 0, other: 0 };
        for (const { items, code, crashes } of steps) {
          const { report, outcome } = await lastAnswer('PrintReceipt', { receipt: { Items: items, Payments: [{ PaymentCode: code }] } });
          if (outcome === 'done') {
            const bani = Math.round(Number(report?.total) * 100);
            sum.total += bani;
            sum[code === 0 ? 'cash' : code === 3 ? 'other' : 'card'] += bani;
          }
          if (crashes) await Promise.all([device.crash(), clock.advance(2_000)]);
        }
        const { totals } = (await lastAnswer('Report', { fiscal: true })).report as {
          totals: { total: number; byPayment: Record<string, number>; byVat: Record<string, { gross: number }> };
        };
        expect(Math.round(totals.total * 100)).toBe(sum.total);
        expect(Object.values(totals.byVat).reduce((all, { gross }) => all + Math.round(gross * 100), 0)).toBe(sum.total);
        expect(Math.round((totals.byPayment.card ?? 0) * 100)).toBe(sum.card);
        expect(Math.round((totals.byPayment.cash ?? 0) * 100)).toBe(sum.cash);
        expect(Math.round((totals.byPayment.other ?? 0) * 100)).toBe(sum.other);
        expect(device.bank.netBani()).toBe(sum.card);
        expect(device.fiscalMemory().drawerBani).toBe(sum.cash);
      }),
      { numRuns: 100 },
    );
  }, 60_000);
});
