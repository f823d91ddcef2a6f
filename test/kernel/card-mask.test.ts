import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maskCardNumbers, maskReport, mayHoldCardNumber } from '../../src/kernel/card-mask.ts';

/** A number of `length` digits that passes the Luhn check, built from the end without using the code under test. */
function withCheckDigit(body: string): string {
  for (let check = 0; check < 10; check += 1) {
    const digits = Array.from(`${body}${check}`).reverse().map(Number);
    const sum = digits.reduce((total, digit, place) => total + (place % 2 === 0 ? digit : [0, 2, 4, 6, 8, 1, 3, 5, 7, 9][digit]!), 0);
    if (sum % 10 === 0) return `${body}${check}`;
  }
  throw new Error('no check digit');
}

const cardNumber = fc.stringMatching(/^[1-9][0-9]{11,17}$/).map(withCheckDigit);

describe('card numbers', () => {
  it('keep six digits in front and four behind', () => {
    expect(maskCardNumbers('paid with 4111111111111111.')).toBe('paid with 411111******1111.');
    expect(maskCardNumbers('4111 1111 1111 1111')).toBe('411111******1111');
    expect(maskCardNumbers('4111-1111-1111-1111')).toBe('411111******1111');
  });

  it('of every length from 13 to 19 are masked wherever they stand', () => {
    fc.assert(
      fc.property(cardNumber, (number) => {
        const report = { note: `card ${number} ok`, list: [number], inner: { pan: number }, [`key ${number}`]: 1 };
        expect(JSON.stringify(maskReport(report))).not.toContain(number);
      }),
    );
  });

  it('are not overlooked in JSON, whatever stands beside them', () => {
    fc.assert(
      fc.property(cardNumber, fc.constantFrom('', ' ', '\u0001', '"', '\\', 'ț', '-', '\n'), (number, beside) => {
        for (const value of [`${beside}${number}`, { [`${number}${beside}`]: [1] }, [Number(number.slice(0, 15))]]) {
          const isMasked = JSON.stringify(maskReport(value)) !== JSON.stringify(value);
          if (isMasked) expect(mayHoldCardNumber(JSON.stringify(value))).toBe(true);
        }
        expect(maskCardNumbers(`${beside}${number}`)).not.toContain(number);
      }),
    );
    expect(mayHoldCardNumber('{"amount":150.5,"operationId":"000000012","rrn":"400000000100"}')).toBe(false);
  });

  it('are masked when a device writes them as numbers', () => {
    expect(maskReport({ pan: 4111111111111111 })).toEqual({ pan: '411111******1111' });
  });

  it('are not seen in what fails the check, is too short or too long', () => {
    for (const text of ['4111111111111112', '411111111111', '41111111111111111111', '2026-11-15T10:00:00.000Z']) {
      expect(maskCardNumbers(text)).toBe(text);
    }
  });

  it('are left alone in the references that later calls need', () => {
    const report = {
      operationId: '4111111111111111',
      rrn: '4111111111111111',
      authCode: '4111111111111111',
      token: '4111111111111111',
      receiptId: '4111111111111111',
      fiscalNumber: '4111111111111111',
      documentNumber: '4111111111111111',
      commandId: '4111111111111111',
    };
    expect(maskReport(report)).toEqual(report);
  });

  it('change nothing else of a report', () => {
    const report = { amount: 12.5, ok: true, none: null, items: [1, 'two', { three: 3 }] };
    expect(maskReport(report)).toEqual(report);
  });
});
