// What a receipt comes to must be what a register prints, to the ban.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkReceipt } from '../../src/kernel/receipt.ts';
import { receiptSums, sumOfLines } from '../../src/kernel/receipt-sums.ts';
import { readReceipt } from '../../src/virtual/books/receipt.ts';

const receipt = (items: [unknown, unknown][], payments: object[] = [{ PaymentCode: 0 }]) => ({
  Items: items.map(([Quantity, Price]) => ({ Name: 'x', Quantity, Price })),
  Payments: payments,
});

describe('the sums of a receipt', () => {
  it('rounds each line, half a ban away from zero', () => {
    expect(sumOfLines(receipt([[0.45, 140]]))).toBe(6_300);
    expect(sumOfLines(receipt([[1.5, 0.35]]))).toBe(53);
    expect(
      sumOfLines(
        receipt([
          [0.1, 0.35],
          [0.1, 0.35],
        ]),
      ),
    ).toBe(8);
    expect(
      sumOfLines(
        receipt([
          [1, 10],
          [1, -2.5],
        ]),
      ),
    ).toBe(750);
  });

  it('divides the total among cash, card and others, and subtracts change from the cash', () => {
    const items: [number, number][] = [[1, 100]];
    expect(receiptSums(receipt(items))).toEqual({ totalBani: 10_000, cashBani: 10_000, cardBani: 0 });
    expect(receiptSums(receipt(items, [{ PaymentCode: '1' }]))).toEqual({ totalBani: 10_000, cashBani: 0, cardBani: 10_000 });
    const mixed = [
      { PaymentCode: 7, Amount: 60 },
      { PaymentCode: 0, Amount: 50 },
    ];
    expect(receiptSums(receipt(items, mixed))).toEqual({ totalBani: 10_000, cashBani: 4_000, cardBani: 6_000 });
    expect(receiptSums(receipt(items, [{ PaymentCode: 5 }]))).toEqual({ totalBani: 10_000, cashBani: 0, cardBani: 0 });
  });

  it('never takes change for a card payment: cash over the total leaves nothing to one without an amount', () => {
    const over = [{ PaymentCode: 0, Amount: 100 }, { PaymentCode: 1 }];
    expect(receiptSums(receipt([[1, 70]], over))).toEqual({ totalBani: 7_000, cashBani: 7_000, cardBani: 0 });
    expect(receiptSums(receipt([[1, 70]], over.toReversed()))).toEqual({ totalBani: 7_000, cashBani: 0, cardBani: 7_000 });
  });

  it('reads an amount of null as none, as ERPs mean it, and 0 as a way of paying that was not used', () => {
    for (const payments of [
      [{ PaymentCode: 1, Amount: null }],
      [
        { PaymentCode: 1, Amount: 70 },
        { PaymentCode: 0, Amount: 0 },
      ],
    ]) {
      const asked = checkReceipt(receipt([[1, 70]], payments), { needsPayments: true });
      expect(receiptSums(asked)).toEqual({ totalBani: 7_000, cashBani: 0, cardBani: 7_000 });
    }
  });

  it('prices quantities that were added up, with all the places that a number has', () => {
    expect(sumOfLines(receipt([[0.1 * 3, 30]]))).toBe(900);
    expect(sumOfLines(receipt([[1.2345678901234567e-6, 1_000_000]]))).toBe(123);
    expect(sumOfLines(receipt([['0.12345678901234567890123', 1]]))).toBeUndefined();
  });

  it('is undefined where there is no amount', () => {
    for (const broken of [
      receipt([[1, -1]]),
      receipt([['x', 1]]),
      receipt([[1e9, 9_999_999_999.99]]),
      {},
      receipt([[1, 1]], [{ PaymentCode: 0, Amount: 'x' }]),
    ]) {
      expect(receiptSums(broken)).toBeUndefined();
    }
  });

  it('agrees with the virtual register on everything that it would print, and is never negative', () => {
    const decimal = fc.integer({ min: 1, max: 1_000_000 }).map((units) => units / 1000);
    const addedUp = fc.integer({ min: 1, max: 1_000 }).map((times) => 0.1 * times);
    const items = fc.array(fc.tuple(fc.oneof(decimal, addedUp), decimal), { minLength: 1, maxLength: 5 });
    const payment = fc.record(
      { PaymentCode: fc.constantFrom(0, 1, 5, 7), Amount: fc.oneof(fc.constant(null), fc.integer({ min: 1, max: 1_000_000 })) },
      { requiredKeys: ['PaymentCode'] },
    );
    let prints = 0;
    fc.assert(
      fc.property(items, fc.array(payment, { minLength: 1, maxLength: 3 }), (lines, payments) => {
        const asked = receipt(lines, payments);
        const sums = receiptSums(asked);
        expect(Math.min(sums?.cashBani ?? 0, sums?.cardBani ?? 0)).toBeGreaterThanOrEqual(0);
        const printed = readReceipt(asked).receipt;
        if (!printed) return;
        prints += 1;
        const of = (kind: string) => printed.payments.reduce((sum, each) => sum + (each.kind === kind ? each.amountBani : 0), 0);
        expect(sums).toEqual({ totalBani: printed.totalBani, cashBani: of('cash'), cardBani: of('card') });
      }),
      { numRuns: 500 },
    );
    expect(prints).toBeGreaterThan(100);
  });
});
