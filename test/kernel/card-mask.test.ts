import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maskReport } from '../../src/kernel/card-mask.ts';
import { maskCardNumbers, mayHoldCardNumber } from '../../src/kernel/card-numbers.ts';
import { seededRandom } from '../support/seeded-random.ts';

/** A number of `length` digits that passes the Luhn check, built from the end without using the code under test. */
function withCheckDigit(body: string): string {
  for (let check = 0; check < 10; check += 1) {
    const digits = Array.from(`${body}${check}`).reverse().map(Number);
    const sum = digits.reduce((total, digit, place) => total + (place % 2 === 0 ? digit : [0, 2, 4, 6, 8, 1, 3, 5, 7, 9][digit]!), 0);
    if (sum % 10 === 0) return `${body}${check}`;
  }
  throw new Error('no check digit');
}

/** An EAN-13. */
function withEanDigit(body: string): string {
  const sum = Array.from(body).reduce((total, digit, place) => total + Number(digit) * (place % 2 === 0 ? 1 : 3), 0);
  return `${body}${(10 - (sum % 10)) % 10}`;
}

/** What the card schemes publish, written down apart from the code under test. */
const schemes: [prefixes: string[], lengths: number[]][] = [
  [['4'], [16, 18, 19]],
  [['51', '52', '53', '54', '55', '2221', '2229', '223', '23', '26', '270', '271', '2720'], [16]],
  [
    ['50', '56', '57', '58', '6'],
    [16, 18, 19],
  ],
  [['34', '37'], [15]],
  [
    ['300', '305', '36', '38', '39'],
    [14, 16, 19],
  ],
  [
    ['6011', '644', '649', '65', '62', '3528', '3589', '81', '2200', '2204'],
    [16, 17, 18, 19],
  ],
  [['8600', '9860', '9112', '9792'], [16]],
];
const cardNumber = fc
  .constantFrom(...schemes.flatMap(([prefixes, lengths]) => prefixes.flatMap((prefix) => lengths.map((length) => ({ prefix, length })))))
  .chain(({ prefix, length }) =>
    fc
      .array(fc.integer({ min: 0, max: 9 }), { minLength: length - 1 - prefix.length, maxLength: length - 1 - prefix.length })
      .map((rest) => withCheckDigit(`${prefix}${rest.join('')}`)),
  );
/** The digits of a text with everything between them left out; what is hidden stays a star. */
const shown = (text: string) => text.replace(/[^0-9*]/g, '');

describe('card numbers', () => {
  it('keep six digits in front and four behind', () => {
    expect(maskCardNumbers('paid with 4111111111111111.')).toBe('paid with 411111******1111.');
    expect(maskCardNumbers('4111 1111 1111 1111')).toBe('4111 11** **** 1111');
    expect(maskCardNumbers('4111-1111-1111-1111')).toBe('4111-11**-****-1111');
  });

  it.each([
    ['4111111111111111 12/27', '411111******1111 12/27'],
    ['17.11.2026 14:02 4111111111111111', '17.11.2026 14:02 411111******1111'],
    ['17.11.2026 4111 1111 1111 1111', '17.11.2026 4111 11** **** 1111'],
    ['TERM 12 4111111111111111', 'TERM 12 411111******1111'],
    ['TERM 12 4111 1111 1111 1111 12/27', 'TERM 12 4111 11** **** 1111 12/27'],
    ['4111111111111111-1', '411111******1111-1'],
    ['41111111111111111227', '411111******11111227'],
    ['41111111111111112712', '411111******11112712'],
    ['4111111111111111122027', '411111******1111122027'],
    ['4111111111111111202712', '411111******1111202712'],
    ['4111  1111  1111  1111', '4111  11**  ****  1111'],
    ['4111.1111.1111.1111', '4111.11**.****.1111'],
    ['4111\u00a01111\u202f1111\u00a01111', '4111\u00a011**\u202f****\u00a01111'],
    ['4111 - 1111 - 1111 - 1111', '4111 - 11** - **** - 1111'],
    ['3782 822463 10005', '3782 82**** *0005'],
    ['3056 930902 5904', '3056 93**** 5904'],
    ['5100 4111 1111 1111 1111', '5100 4111 11** **** 1111'],
    ['PAN:4111111111111111EXP', 'PAN:411111******1111EXP'],
    [';4111111111111111=27122010000012300000?', ';411111******1111=********************?'],
    ['57114111111111111111D27122010000012300', '5711411111******1111D*****************'],
    ['%B4111111111111111^DOE/JOHN^2712', '%B411111******1111^DOE/JOHN^2712'],
    ['4111111111111111 5555555555554444', '411111******1111 555555******4444'],
    ['4222222222222', '422222***2222'],
    ['card 4222222222222 12/27', 'card 422222***2222 12/27'],
    ['4222 222 222 222', '4222 22* **2 222'],
    ['4222 2222 2222 2', '4222 22** *222 2'],
    ['42222222222221227', '422222***22221227'],
    [';4222222222222=27122010000012300000?', ';422222***2222=********************?'],
  ])('are masked with other digits beside them: %s', (text, masked) => {
    expect(maskCardNumbers(text)).toBe(masked);
  });

  it('are masked beside any text, and in every form printed on cards', () => {
    const separator = fc.constantFrom(' ', '  ', '-', '.', '\u00a0', '\u202f', '\u2009', ' - ', '\u2013');
    const before = fc.constantFrom(
      '',
      'TERM 12 ',
      '17.11.2026 14:02 ',
      '12 ',
      '1 ',
      '0001-',
      'a',
      '\u0001',
      'RRN 632114123456 ',
      '2026-11-17 ',
      ';',
    );
    const after = fc.constantFrom(
      '',
      ' 12/27',
      ' 1227',
      '-1',
      ' 632114123456',
      'x',
      ' 17.11.2026',
      '.',
      ' 150.50',
      '=27122010000012300000?',
    );
    const grouping = fc.constantFrom('whole', 'fours', 'as American Express');
    fc.assert(
      fc.property(cardNumber, grouping, separator, before, after, (number, how, between, front, behind) => {
        const sizes = how === 'as American Express' ? /^(.{4})(.{6})(.*)$/ : /(.{4})(?=.)/g;
        const isGrouped = how === 'fours' || (how === 'as American Express' && number.length <= 15);
        const printed = isGrouped ? number.replace(sizes, how === 'fours' ? `$1${between}` : `$1${between}$2${between}$3`) : number;
        const masked = shown(maskCardNumbers(`${front}${printed}${behind}`));
        // At most its first six and last four, wherever the number that was found begins and ends.
        const pieces = Array.from({ length: number.length - 10 }, (_, at) => number.slice(at, at + 11));
        return [number, ...pieces].every((piece) => !masked.includes(piece));
      }),
      { numRuns: 2_000 },
    );
  });

  it('with an expiry date right behind them are masked', () => {
    const month = fc.integer({ min: 1, max: 12 }).map((value) => String(value).padStart(2, '0'));
    const year = fc.integer({ min: 20, max: 49 }).map(String);
    fc.assert(
      fc.property(cardNumber, month, year, fc.integer({ min: 0, max: 3 }), (number, mm, yy, form) => {
        const expiry = [`${mm}${yy}`, `${yy}${mm}`, `${mm}20${yy}`, `20${yy}${mm}`][form];
        expect(maskCardNumbers(`${number}${expiry}`)).not.toContain(number);
      }),
    );
  });

  it('of every scheme and length are masked in any position', () => {
    fc.assert(
      fc.property(cardNumber, (number) => {
        const report = { note: `card ${number} ok`, list: [number], inner: { pan: number }, [`key ${number}`]: 1 };
        expect(JSON.stringify(maskReport(report))).not.toContain(number);
      }),
    );
  });

  it('are found in JSON, beside any text', () => {
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

  it('are not found in numbers that fail the check, are too short or too long', () => {
    for (const text of ['4111111111111112', '411111111111', '411111111111111111111', '1111111111111117', '2026-11-15T10:00:00.000Z']) {
      expect(maskCardNumbers(text)).toBe(text);
    }
  });

  it('are not found in references, UUIDs, dates, amounts and barcodes, alone or in sequence', () => {
    const digits = (length: number) => fc.stringMatching(new RegExp(`^[0-9]{${length}}$`));
    const barcode = fc
      .oneof(
        digits(12),
        digits(11).map((rest) => `4${rest}`),
      )
      .map(withEanDigit);
    const date = fc.date({ min: new Date('2020-01-01'), max: new Date('2049-12-31'), noInvalidDate: true });
    const token = fc.oneof(
      digits(12),
      digits(6),
      digits(8),
      barcode,
      digits(13).filter((number) => !number.startsWith('4')),
      fc.uuid(),
      fc.stringMatching(/^[0-9]{8}-[0-9]{4}-4[0-9]{3}-8[0-9]{3}-[0-9]{12}$/),
      date.map((at) => at.toISOString()),
      date.map((at) => at.toISOString().slice(0, 10).split('-').reverse().join('.')),
      date.map((at) => at.toISOString().slice(0, 19).replace(/\D/g, '')),
      date.map((at) => String(at.getTime())),
      fc.integer({ min: 1, max: 999_999_999_999 }).map((bani) => (bani / 100).toFixed(2)),
      fc.integer({ min: 1, max: 999_999_999_999 }).map((bani) => (bani / 100).toLocaleString('ro-MD', { minimumFractionDigits: 2 })),
    );
    const text = fc
      .array(token, { minLength: 1, maxLength: 6 })
      .chain((tokens) => fc.constantFrom(' ', ', ', '; ', ' - ', '/').map((between) => tokens.join(between)));
    fc.assert(
      fc.property(text, (line) => {
        const report = maskReport({ line }) as { line: string };
        return maskCardNumbers(line) === line && report.line === line && Object.keys(report).length === 1;
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    '00000000-5555-5036-9249-8042a0000000 01.01.2020',
    '4d2982bf-4000-4405-8025-2b37ca7be079',
    'ref a2bc1891-4736-4778-8150-8181bea8b2a9.',
    'AAAA4111-1111-4111-8110-AAAAAAAAAAAA',
  ])('are not found in a UUID whose groups would be one: %s', (text) => {
    expect(maskCardNumbers(text)).toBe(text);
  });

  it.each([
    ['0000000-4111-4111-8111-1110a0000000', '0000000-4111-41**-****-1110a0000000'],
    ['00000000-4111-4111-8111-1110a000000', '00000000-4111-41**-****-1110a000000'],
    ['00000000-4111-4111-8111-1110a00000000', '00000000-4111-41**-****-1110a00000000'],
    ['x00000000-4111-4111-8111-1110a0000000', 'x00000000-4111-41**-****-1110a0000000'],
    ['TERM0001-4111-4111-8111-1110a0000000', 'TERM0001-4111-41**-****-1110a0000000'],
    ['00000000 4111 4111 8111 1110a0000000', '00000000 4111 41** **** 1110a0000000'],
    ['4111-4111-8111-1110-a00000000000', '4111-41**-****-1110-a00000000000'],
    ['00000000-4111-1111-1111-1111a0000000', '00000000-4111-11**-****-1111a0000000'],
    ['00000000-4111-4111-1111-1115a0000000', '00000000-4111-41**-****-1115a0000000'],
  ])('are found in what only resembles a UUID: %s', (text, masked) => {
    expect(maskCardNumbers(text)).toBe(masked);
  });

  it('of 13 digits are masked for Visa, except those that are barcodes too', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^4[0-9]{11}$/), fc.constantFrom('', ' 12/27', '1227'), (body, behind) => {
        const number = withCheckDigit(body);
        const isBarcode = withEanDigit(body) === number;
        expect(maskCardNumbers(`${number}${behind}`) === `${number}${behind}`).toBe(isBarcode);
      }),
    );
    // A Moldovan barcode that passes the Luhn check as well, and a number of another issuer.
    expect(['4840000000039', '5222222222221'].map(maskCardNumbers)).toEqual(['4840000000039', '5222222222221']);
    for (const [json, may] of [
      ['{"at":1794972000000}', false],
      ['{"pan":4222222222222}', true],
    ] as const)
      expect(mayHoldCardNumber(json)).toBe(may);
  });

  /** The figures of docs/decisions.md, D161. */
  it.each([
    [13, 0.01],
    [14, 0.007],
    [15, 0.01],
    [16, 0.043],
    [19, 0.035],
    [20, 0.004],
    [24, 0.001],
  ])('are found by mistake in few random numbers of %d digits', (length, most) => {
    const random = seededRandom(28);
    const numbers = Array.from({ length: 20_000 }, () => Array.from({ length }, () => Math.floor(random.fraction() * 10)).join(''));
    const masked = numbers.filter((number) => maskCardNumbers(number) !== number).length;
    expect(masked / numbers.length).toBeLessThanOrEqual(most);
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
