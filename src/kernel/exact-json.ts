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

/** Only a text with so many digits, or with an exponent, can hold such a number: all others are parsed the fast way. */
const mayNeedCare = /[\d.]{16}|\d[eE]/;

/** As JSON.parse, which throws on what is no JSON. */
export function parseExactJson(text: string): unknown {
  if (!mayNeedCare.test(text)) return JSON.parse(text);
  const parse = JSON.parse as (text: string, revive: (key: string, value: unknown, context: { source?: string }) => unknown) => unknown;
  return parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && !isHeld(value, source) ? json.rawJSON(source) : value,
  );
}

/** Whether the number says the same as its text; up to fifteen digits it always does. */
function isHeld(value: number, source: string): boolean {
  if (!Number.isFinite(value)) return false;
  const [mantissa = ''] = source.split(/[eE]/);
  if (mantissa.replace(/\D/g, '').replace(/^0+/, '').length <= 15) return value !== 0 || /^[-0.]*$/.test(mantissa);
  return String(value) === source;
}
