import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { baniToLei, formatLei, maxAmountBani, parseAmount } from '../../src/kernel/money.ts';

const anyAmount = fc.integer({ min: 1, max: maxAmountBani });

describe('amounts', () => {
  it.each([
    [0.01, 1],
    ['0.01', 1],
    [19.99, 1999],
    [1.15, 115],
    [4.35, 435],
    [0.1, 10],
    ['100', 10_000],
    ['100.5', 10_050],
    [9_999_999_999.99, maxAmountBani],
    ['9999999999.99', maxAmountBani],
  ])('%j is %d bani', (value, bani) => {
    expect(parseAmount(value)).toBe(bani);
  });

  it.each([
    0,
    -1,
    0.001,
    1e-7,
    '10.005',
    '0.00',
    '',
    ' 1',
    '1 ',
    '+1',
    '1.',
    '.5',
    '01',
    '1e3',
    '1,5',
    '0x10',
    10_000_000_000,
    '10000000000.00',
    0.1 + 0.2,
    Number('12345678901234567.89'),
    Number.NaN,
    Number.POSITIVE_INFINITY,
    null,
    true,
    undefined,
    [],
    [5],
    {},
    '٣',
  ])('%j is none', (value) => {
    expect(parseAmount(value)).toBeUndefined();
  });

  it('are read back exactly from every form in which they are written', () => {
    fc.assert(
      fc.property(anyAmount, (bani) => {
        // The last one is a JSON number that a device writes back. Plain comparisons: `expect` would take most of the time.
        const forms = [formatLei(bani), baniToLei(bani), JSON.parse(JSON.stringify({ amount: baniToLei(bani) })).amount];
        return forms.every((form) => parseAmount(form) === bani);
      }),
      { numRuns: 100_000 },
    );
  });

  it('with more than two places are never rounded into an amount', () => {
    fc.assert(
      fc.property(anyAmount, fc.stringMatching(/^[0-9]{1,6}$/), (bani, more) => {
        expect(parseAmount(`${formatLei(bani)}${more}`)).toBeUndefined();
      }),
    );
  });

  it('are written with two places', () => {
    expect([1, 10, 100, 1205, -350].map(formatLei)).toEqual(['0.01', '0.10', '1.00', '12.05', '-3.50']);
  });
});
