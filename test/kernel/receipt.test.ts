import { Ajv } from 'ajv';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../src/kernel/error-codes.ts';
import { checkReceipt, hasCardPayment, isLongerThan, isPlainText, paymentCodesOf, receiptLimits } from '../../src/kernel/receipt.ts';

const line = { Name: 'Bread', Quantity: 1, Price: 12.5 };
const check = (receipt: unknown, needsPayments = false) => checkReceipt(receipt, { needsPayments });

function complaint(receipt: unknown, needsPayments = false): string {
  try {
    check(receipt, needsPayments);
  } catch (error) {
    expect(error).toBeInstanceOf(GatewayError);
    expect((error as GatewayError).errorName).toBe('Invalid_Request');
    return (error as GatewayError).message;
  }
  throw new Error('The receipt was accepted.');
}

describe('a receipt', () => {
  it('is kept as it is, with unknown fields', () => {
    const receipt = {
      Zeta: [null, { deep: true }],
      Number: 'A-1',
      Uid: 'u-1',
      Items: [{ VAT: 'A', ...line }],
      Payments: [{ PaymentCode: 1, Sum: 1 }],
    };
    expect(check(receipt)).toEqual(receipt);
  });

  it.each([
    ['{"Code":12345678901234567890}', 'Receipt.Code must'],
    ['{"Items":[{"Code":-9007199254740993}]}', 'Receipt.Items[0].Code must'],
    ['{"Deep":[{"Far":1e999}]}', 'Receipt.Deep[0].Far must'],
  ])('with a number that would not be passed on as it came is refused: %s', (json, place) => {
    const { Items, ...more } = JSON.parse(json) as { Items?: object[] };
    expect(complaint({ ...more, Items: [{ ...line, ...Items?.[0] }] })).toContain(place);
  });

  it('keeps every number that can be kept, and long ones as texts', () => {
    const receipt = { Items: [line], Code: '12345678901234567890', Largest: Number.MAX_SAFE_INTEGER, Small: -0.000_001 };
    expect(JSON.parse(JSON.stringify(check(receipt)))).toEqual(receipt);
  });

  it('accepts decimals as texts and passes them on as numbers [D145]', () => {
    const asTexts = {
      Items: [
        { Name: 'Bread', Quantity: '2', Price: '12.50', Code: '007' },
        { Name: 'Discount', Quantity: 1, Price: '-0.10' },
      ],
      Payments: [
        { PaymentCode: '1', Amount: '20.00', Note: '1' },
        { PaymentCode: 0, Amount: '' },
        { PaymentCode: 0, Amount: null },
      ],
    };
    expect(check(asTexts)).toEqual({
      Items: [
        { Name: 'Bread', Quantity: 2, Price: 12.5, Code: '007' },
        { Name: 'Discount', Quantity: 1, Price: -0.1 },
      ],
      Payments: [{ PaymentCode: '1', Amount: 20, Note: '1' }, { PaymentCode: 0 }, { PaymentCode: 0, Amount: null }],
    });
  });

  it('may do without number, uid and payments, or have null for them', () => {
    check({ Items: [line] });
    check({ Number: null, Uid: null, Payments: null, Items: [line] });
  });

  it.each([
    ['a text', 'Receipt must be an object'],
    [null, 'Receipt must be an object'],
    [[line], 'Receipt must be an object'],
    [{}, 'Receipt.Items'],
    [{ Items: [] }, 'Receipt.Items'],
    [{ Items: line }, 'Receipt.Items'],
    [{ Items: Array.from({ length: receiptLimits.items + 1 }, () => line) }, 'Receipt.Items'],
    [{ Items: [line, null] }, 'Receipt.Items[1]'],
    [{ Items: [line, [line]] }, 'Receipt.Items[1]'],
    [{ Items: [{ ...line, Name: '' }] }, 'Receipt.Items[0].Name'],
    [{ Items: [{ ...line, Name: 5 }] }, 'Receipt.Items[0].Name'],
    [{ Items: [{ ...line, Name: 'x'.repeat(receiptLimits.name + 1) }] }, 'Receipt.Items[0].Name'],
    [{ Items: [{ ...line, Quantity: 0 }] }, 'Receipt.Items[0].Quantity'],
    [{ Items: [{ ...line, Quantity: -1 }] }, 'Receipt.Items[0].Quantity'],
    [{ Items: [{ ...line, Quantity: '1,5' }] }, 'Receipt.Items[0].Quantity'],
    [{ Items: [{ ...line, Quantity: Number.POSITIVE_INFINITY }] }, 'Receipt.Items[0].Quantity'],
    [{ Items: [{ Name: 'Bread', Quantity: 1 }] }, 'Receipt.Items[0].Price'],
    [{ Items: [{ ...line, Price: '12.50 MDL' }] }, 'Receipt.Items[0].Price'],
    [{ Items: [{ ...line, Price: null }] }, 'Receipt.Items[0].Price'],
    [{ Items: [{ ...line, Price: 10_000_000_000 }] }, 'Receipt.Items[0].Price'],
    [{ Items: [{ ...line, Price: -10_000_000_000 }] }, 'Receipt.Items[0].Price'],
    [{ Items: [line], Number: 5 }, 'Receipt.Number'],
    [{ Items: [line], Number: 'x'.repeat(receiptLimits.identifier + 1) }, 'Receipt.Number'],
    [{ Items: [line], Uid: '' }, 'Receipt.Uid'],
    [{ Items: [{ ...line, Price: '0.1234567890123456' }] }, 'Receipt.Items[0].Price'],
    [{ Items: [{ ...line, Quantity: '0.00' }] }, 'Receipt.Items[0].Quantity'],
    [{ Items: [line], Payments: [{ PaymentCode: 0, Amount: 'all' }] }, 'Receipt.Payments[0].Amount'],
    [{ Items: [line], Uid: 'a\u0000b' }, 'Receipt.Uid'],
    [{ Items: [line], Uid: '\ud800' }, 'Receipt.Uid'],
    [{ Items: [line], Payments: {} }, 'Receipt.Payments'],
    [{ Items: [line], Payments: [1] }, 'Receipt.Payments[0]'],
    [{ Items: [line], Payments: [{}] }, 'Receipt.Payments[0].PaymentCode'],
    [{ Items: [line], Payments: [{ PaymentCode: 1.5 }] }, 'Receipt.Payments[0].PaymentCode'],
    [{ Items: [line], Payments: [{ PaymentCode: '1.5' }] }, 'Receipt.Payments[0].PaymentCode'],
    [{ Items: [line], Payments: [{ PaymentCode: '' }] }, 'Receipt.Payments[0].PaymentCode'],
    [{ Items: [line], Payments: [{ PaymentCode: -1 }] }, 'Receipt.Payments[0].PaymentCode'],
    [{ Items: [line], Payments: [{ PaymentCode: true }] }, 'Receipt.Payments[0].PaymentCode'],
    [{ Items: [line], Payments: Array.from({ length: receiptLimits.payments + 1 }, () => ({ PaymentCode: 1 })) }, 'Receipt.Payments'],
  ])('is refused, naming the place: %j', (receipt, place) => {
    expect(complaint(receipt)).toContain(place);
  });

  it('has at most 256 KiB as JSON, counted in bytes', () => {
    // 'ș' is one character and two bytes.
    const sized = (bytes: number, letter: string, letterBytes: number) => {
      const bare = Buffer.byteLength(JSON.stringify({ Items: [line], Note: '' }));
      const letters = letter.repeat((bytes - bare) / letterBytes);
      return { Items: [line], Note: letters + 'x'.repeat(bytes - bare - Buffer.byteLength(letters)) };
    };
    for (const [letter, letterBytes] of [
      ['x', 1],
      ['ș', 2],
    ] as const) {
      check(sized(256 * 1024, letter, letterBytes));
      expect(complaint(sized(256 * 1024 + 1, letter, letterBytes))).toBe('Receipt must not be larger than 262144 bytes as JSON.');
    }
  });

  it('accepts a discount line and amounts in the whole range', () => {
    fc.assert(
      fc.property(
        fc.double({ min: -receiptLimits.price, max: receiptLimits.price, noNaN: true }),
        fc.double({ min: 0, minExcluded: true, max: receiptLimits.quantity, noNaN: true }),
        (Price, Quantity) => {
          check({ Items: [{ Name: 'Any', Price, Quantity }] });
        },
      ),
    );
  });

  it('needs payments where it is printed', () => {
    expect(complaint({ Items: [line] }, true)).toContain('Receipt.Payments');
    expect(complaint({ Items: [line], Payments: [] }, true)).toContain('Receipt.Payments');
    check({ Items: [line], Payments: [{ PaymentCode: 0 }] }, true);
  });

  it('recognises a card payment by its code, as number and as text', () => {
    const paidBy = (...codes: unknown[]) => check({ Items: [line], Payments: codes.map((PaymentCode) => ({ PaymentCode })) });
    expect(paymentCodesOf(paidBy(1, '1000', 5))).toEqual([1, 1000, 5]);
    for (const code of [1, 2, 7, 1000, '1', '2', '7', '1000']) expect(hasCardPayment(paidBy(0, code))).toBe(true);
    for (const code of [0, 3, 10, 1001, '3']) expect(hasCardPayment(paidBy(code))).toBe(false);
    expect(hasCardPayment({ Items: [line] })).toBe(false);
  });
});

describe('the length of a text', () => {
  it('is counted in characters, as the document that callers check their texts by', () => {
    const most = 4;
    const allows = new Ajv().compile({ type: 'string', maxLength: most });
    const units = fc.constantFrom('a', 'ș', '😀', '\ud83d', '\ude00');
    fc.assert(
      fc.property(fc.array(units, { maxLength: 3 * most }), (parts) => {
        const text = parts.join('');
        expect(isLongerThan(text, most)).toBe(!allows(text));
      }),
      { examples: [[Array(most).fill('😀')], [Array(most + 1).fill('😀')], [Array(2 * most).fill('a')]] },
    );
  });

  it('holds the names on a receipt', () => {
    const named = (letter: string, more: number) => ({
      Items: [{ ...line, Name: letter.repeat(receiptLimits.name) }],
      Number: letter.repeat(receiptLimits.identifier),
      Uid: letter.repeat(receiptLimits.identifier + more),
    });
    for (const letter of ['x', '😀']) {
      check(named(letter, 0));
      expect(complaint(named(letter, 1))).toContain('Receipt.Uid');
      expect(complaint({ Items: [{ ...line, Name: letter.repeat(receiptLimits.name + 1) }] })).toContain('Receipt.Items[0].Name');
    }
  });
});

describe('plain text', () => {
  it.each(['a\nb', 'a\u007fb', '\u0085', '\udc00', 'x\ud800'])('has neither control characters nor halves of a pair: %j', (text) => {
    expect(isPlainText(text)).toBe(false);
  });
  it.each(['', 'Pâine & 🥖', '#State#'])('is anything else: %j', (text) => {
    expect(isPlainText(text)).toBe(true);
  });
});
