// Numbers of devices come out as they went in, whatever JavaScript can hold.
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { maskReport } from '../../src/kernel/card-mask.ts';
import { isExactNumber, isSameNumber, parseExactJson } from '../../src/kernel/exact-json.ts';

const again = (text: string) => JSON.stringify(parseExactJson(text));

describe('exact JSON', () => {
  it.each([
    '90071992547409931',
    '-123456789012345678901',
    '1e999',
    '1e-999',
    '4.9e-324',
    '10000000000000000000000',
    '1.0000000000000000',
    '0.12345678901234567890',
    '12345678901234567890e-5',
  ])('keeps %s, which no JavaScript number holds', (text) => {
    expect(again(`{"a":[${text}]}`)).toBe(`{"a":[${text}]}`);
  });

  it.each(['1e999', ' -1E999', '[1e999]', '[ 1e999]', '[1,1.5e999]', '{"a":1e999}', '{"a" :\n-1e+999}', '["3e8",\t0.1e999]', '[1e-0400]'])(
    'sees the exponent in %j, wherever the number stands',
    (text) => {
      expect(again(text)).toBe(text.replaceAll(/\s/g, ''));
    },
  );

  it.each([
    ['a UUID', '{"v":1,"id":"3e812345-1e512-4e2e-9e3e-5e6e7e8e9e0e","amount":150.5}'],
    ['many digits in a text', '{"pan":"41111111111111111111","a":1}'],
    ['short exponents', `[${'1e9,'.repeat(1_000)}-2.5E+99,1e-99]`],
  ])('parses the fast way what every JavaScript number holds: %s', (_what, text) => {
    const parse = vi.spyOn(JSON, 'parse');
    expect(JSON.stringify(parseExactJson(text))).toBe(JSON.stringify(JSON.parse(text)));
    expect(parse.mock.calls.every((call) => call.length === 1)).toBe(true);
    parse.mockRestore();
  });

  it('holds every number of up to fifteen digits with a short exponent exactly', () => {
    const source = fc
      .tuple(fc.bigInt({ min: -(10n ** 15n) + 1n, max: 10n ** 15n - 1n }), fc.integer({ min: -99, max: 99 }))
      .map(([mantissa, exponent]) => `${mantissa}e${exponent}`);
    fc.assert(fc.property(source, (text) => isSameNumber(parseExactJson(text) as number, text)));
  });

  it('returns plain numbers for all values that they represent exactly', () => {
    for (const text of ['0', '-0.5', '150.50', '4111111111111111', '9007199254740991', '1e3', '0.30000000000000004', '0e9']) {
      expect(parseExactJson(text), text).toBe(Number(text));
    }
  });

  it('agrees with JSON.parse on everything that JSON.stringify writes, and writes it again the same', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(parseExactJson(text)).toEqual(JSON.parse(text));
        expect(again(text)).toBe(JSON.stringify(JSON.parse(text)));
      }),
    );
  });

  it('changes no digit of any whole number', () => {
    fc.assert(
      fc.property(fc.bigInt(), (whole) => {
        expect(again(String(whole))).toBe(String(whole));
      }),
    );
  });

  it('distinguishes a rounded number from one that is only written differently', () => {
    for (const text of ['1.50', '15e-1', '0', '-0', '0.00000000000000000000', '10.10000000000000000000', '1e22', '10000000000000000000000'])
      expect(isSameNumber(Number(text), text), text).toBe(true);
    for (const text of ['10.1000000000000000001', '90071992547409931', '1e999', '1e-999', '4.9e-324'])
      expect(isSameNumber(Number(text), text), text).toBe(false);
  });

  it('throws on what is no JSON', () => {
    expect(() => parseExactJson('12345678901234567890x')).toThrow(SyntaxError);
  });

  it('hides a card number of 19 digits that came as a number, and leaves a bank reference alone', () => {
    const masked = maskReport(parseExactJson('{"pan":6304000000000000000,"rrn":6304000000000000000,"total":123456789012345678901}'));
    expect(JSON.stringify(masked)).toBe('{"pan":"630400*********0000","rrn":6304000000000000000,"total":123456789012345678901}');
    expect(isExactNumber((masked as Record<string, unknown>)['total'])).toBe(true);
  });
});
