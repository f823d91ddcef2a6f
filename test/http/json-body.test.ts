import { describe, expect, it } from 'vitest';
import { parseJsonBody } from '../../src/http/json-body.ts';
import { parseAmount } from '../../src/kernel/money.ts';

const caps = { deepest: 32, maxValues: 1_000 };
const read = (text: string) => parseJsonBody(Buffer.from(text), caps) as Record<string, unknown>;
const amountIn = (literal: string) => parseAmount(read(`{"amount":${literal}}`)['amount']);

describe('an amount as a JSON number', () => {
  it.each([
    '10.10000000000000000000001',
    '10.0999999999999999999999',
    '0.10000000000000001',
    '9999999999.9900000000001',
    '9999999999.98999999999999999',
    '1010000000000000000000001e-23',
    '9999999999990001e-6',
    '12345678901234567.89',
  ])('is invalid with more than two places, however close it is to a valid one: %s', (literal) => {
    expect(amountIn(literal)).toBeUndefined();
  });

  it('keeps its digits as a string in each field with too many', () => {
    const text = '{"a":10.1000000000000000001,"b":7,"c":10.2000000000000000001}';
    expect(read(text)).toEqual({ a: '10.1000000000000000001', b: 7, c: '10.2000000000000000001' });
  });

  it.each([
    ['10.1', 1_010],
    ['10.10000000000000000000000', 1_010],
    ['0.1e2', 1_000],
    ['101000000000000000000000e-22', 1_010],
    ['9999999999.99', 999_999_999_999],
  ])('may be written in any exact form: %s', (literal, bani) => {
    expect(amountIn(literal)).toBe(bani);
  });
});

describe('a long number', () => {
  it('that is no valid JSON stays invalid', () => {
    for (const text of [
      '{"a":01234567890123456789}',
      '{"a":12345678901234567890.}',
      '{"a":-12345678901234567890-1}',
      '{12345678901234567890.5:1}',
    ])
      expect(() => read(text), text).toThrow('The body must be valid JSON.');
  });

  it('is allowed in at most a hundred fields', () => {
    const body = (fields: number) => `{${Array.from({ length: fields }, (_, n) => `"f${n}":0.10000000000000001`).join(',')}}`;
    expect(Object.values(read(body(100)))).toEqual(Array(100).fill('0.10000000000000001'));
    expect(() => read(body(101))).toThrow('more than 100 fields with such long numbers');
  });
});

describe('nested numbers', () => {
  it('are parsed as JavaScript numbers', () => {
    const body = read(
      '{"Receipt":{"Items":[{"Price":0.30000000000000004,"Quantity":0.1000000000000000055}]},"note":"1234567890123456789012"}',
    );
    expect(body).toEqual({ Receipt: { Items: [{ Price: 0.30000000000000004, Quantity: 0.1 }] }, note: '1234567890123456789012' });
  });

  it('do not affect top-level fields of the same name, nor bodies without fields', () => {
    expect(read('{"a":{"amount":0.1000000000000000055},"amount":5}')).toEqual({ a: { amount: 0.1 }, amount: 5 });
    expect(read('[0.1000000000000000055]')).toEqual([0.1]);
    expect(read('0.1000000000000000055')).toBe(0.1);
  });
});
