// A JSON parser for devices' messages that preserves every digit [D6]: a number that JavaScript cannot represent (a fiscal number of twenty
// digits, 1e999) is kept as its source text, and JSON.stringify writes that text.
import { numbersIn } from './json-shape.ts';

/** A number as text, from JSON.rawJSON. */
export interface ExactNumber {
  readonly rawJSON: string;
}

// Not yet in TypeScript's types.
const json = JSON as typeof JSON & {
  rawJSON(text: string): ExactNumber;
  isRawJSON(value: unknown): value is ExactNumber;
};

export const isExactNumber = (value: unknown): value is ExactNumber => json.isRawJSON(value);

/**
 * Only a number with more than fifteen characters, or an exponent of three digits, may be inexact in JavaScript: a text without such a
 * number is parsed the fast way.
 */
function needsCare(text: string): boolean {
  return numbersIn(text).some(({ start, end }) => end - start > heldDigits || longExponent.test(text.slice(start, end)));
}

const longExponent = /e[+-]?\d{3}/i;

/** Like JSON.parse; throws on invalid JSON. */
export function parseExactJson(text: string): unknown {
  if (!needsCare(text)) return JSON.parse(text);
  const parse = JSON.parse as (text: string, revive: (key: string, value: unknown, context: { source?: string }) => unknown) => unknown;
  return parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && !isHeld(value, source) ? json.rawJSON(source) : value,
  );
}

/** Every JavaScript number represents this many digits exactly, unless it is outside the normal range. */
const heldDigits = 15;
const smallestNormal = 2.2250738585072014e-308;

/** Whether the number, written again, has the same value as its text; with more than fifteen digits, the text must be identical. */
function isHeld(value: number, source: string): boolean {
  const digits = significantDigits(source);
  if (digits === 0) return true;
  const isNormal = Number.isFinite(value) && Math.abs(value) >= smallestNormal;
  return (digits <= heldDigits && isNormal) || String(value) === source;
}

/** Digits of the mantissa, without leading zeros. */
function significantDigits(source: string): number {
  let count = 0;
  for (let at = 0; at < source.length; at += 1) {
    const unit = source.charCodeAt(at);
    if (unit === 0x65 || unit === 0x45) break;
    if (unit > 0x30 && unit <= 0x39) count += 1;
    else if (unit === 0x30 && count > 0) count += 1;
  }
  return count;
}

/** Whether the parser did not round the number: 1.50, 1.5 and 15e-1 are the same. */
export function isSameNumber(value: number, source: string): boolean {
  return Number.isFinite(value) && decimalOf(source) === decimalOf(String(value));
}

/** Digits and power of ten. */
function decimalOf(text: string): string {
  const [mantissa = '', power = '0'] = text.toLowerCase().split('e');
  const [whole = '', places = ''] = mantissa.replace('-', '').split('.');
  const digits = `${whole}${places}`.replace(/^0+/, '');
  let end = digits.length;
  while (end > 0 && digits[end - 1] === '0') end -= 1;
  return end === 0 ? '0' : `${digits.slice(0, end)}e${Number(power) - places.length + digits.length - end}`;
}
