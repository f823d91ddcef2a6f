// JSON from devices, read so that writing it again changes no digit [D6]: a number that a JavaScript number cannot hold
// (a fiscal number of twenty digits, 1e999) is kept as its own text. JSON.stringify writes it as it came.

/** A number as text: what JSON.rawJSON makes. */
export interface ExactNumber {
  readonly rawJSON: string;
}

// The types of TypeScript do not know these yet.
const json = JSON as typeof JSON & {
  rawJSON(text: string): ExactNumber;
  isRawJSON(value: unknown): value is ExactNumber;
};

export const isExactNumber = (value: unknown): value is ExactNumber => json.isRawJSON(value);

/**
 * Only a text with so many digits, or with an exponent, can hold such a number: all others are parsed the fast way. A number stands at the
 * beginning or after one of these signs; without them nearly every UUID would seem to have an exponent (…3e8…).
 */
const mayNeedCare = /[\d.]{16}|(?:^|[[:,\s])-?\d+(?:\.\d+)?[eE]/;

/** As JSON.parse, which throws on what is no JSON. */
export function parseExactJson(text: string): unknown {
  if (!mayNeedCare.test(text)) return JSON.parse(text);
  const parse = JSON.parse as (text: string, revive: (key: string, value: unknown, context: { source?: string }) => unknown) => unknown;
  return parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && !isHeld(value, source) ? json.rawJSON(source) : value,
  );
}

/** Whether writing the number gives its text again, or one as good: beyond fifteen digits not one may look different. */
function isHeld(value: number, source: string): boolean {
  if (!isSameNumber(value, source)) return false;
  const [mantissa = ''] = source.split(/[eE]/);
  return mantissa.replace(/\D/g, '').replace(/^0+/, '').length <= 15 || String(value) === source;
}

/** Whether the parser gave the number that the text says, and did not round it: 1.50, 1.5 and 15e-1 are one and the same. */
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
