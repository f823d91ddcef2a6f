// The number of a printed receipt as people search for it: kept as the register wrote it, or left in the report alone.
import { describe, expect, it } from 'vitest';
import { receiptIdToFind } from '../../src/fiscal/notices.ts';
import { parseExactJson } from '../../src/kernel/exact-json.ts';
import type { JsonObject } from '../../src/link/protocol.ts';

const idIn = (text: string) => receiptIdToFind(parseExactJson(text) as JsonObject).receiptId;

describe('the number of a receipt', () => {
  it.each([
    ['a text', '{"receiptId":"F-17"}', 'F-17'],
    ['a number', '{"receiptId":17}', '17'],
    ['a number that JavaScript would round', '{"receiptId":90071992547409931234}', '90071992547409931234'],
    ['of the most characters', `{"receiptId":"${'7'.repeat(128)}"}`, '7'.repeat(128)],
    ['of as many that take two units each', `{"receiptId":"${'😀'.repeat(128)}"}`, '😀'.repeat(128)],
  ])('is %s, as it was written', (_what, text, expected) => {
    expect(idIn(text)).toBe(expected);
  });

  it.each([
    ['missing', '{}'],
    ['null', '{"receiptId":null}'],
    ['a truth value', '{"receiptId":true}'],
    ['an object', '{"receiptId":{"a":1}}'],
    ['one character longer', `{"receiptId":"${'7'.repeat(129)}"}`],
    ['a text that no database keeps', '{"receiptId":"a\\u0000b"}'],
  ])('that is %s is not searched for', (_what, text) => {
    expect(idIn(text)).toBeUndefined();
  });
});
