// Card numbers never rest here [D6]: what looks like one (13 to 19 digits, Luhn) is masked
// before a device's report is stored, logged or returned. Bank references that may look alike are left alone.
import { isExactNumber } from './exact-json.ts';

const leftAlone = new Set(['operationId', 'rrn', 'authCode', 'token', 'receiptId', 'fiscalNumber', 'documentNumber', 'commandId']);

// Digits may be grouped by single blanks or dashes, as cards print them.
const candidate = /(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)/g;

// Without a look at what stands around: in JSON a control character beside a card number is written with digits.
const enoughDigits = /\d(?:[ -]?\d){12}/;

/** False: no text or number in this JSON would be masked. */
export function mayHoldCardNumber(json: string): boolean {
  return enoughDigits.test(json);
}

function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let place = 0; place < digits.length; place += 1) {
    const digit = Number(digits[digits.length - 1 - place]);
    const doubled = place % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

export function maskCardNumbers(text: string): string {
  return text.replace(candidate, (found) => {
    const digits = found.replace(/\D/g, '');
    return passesLuhn(digits) ? `${digits.slice(0, 6)}${'*'.repeat(digits.length - 10)}${digits.slice(-4)}` : found;
  });
}

/** A copy of a device's report with card numbers masked in every text and number, keys included. */
export function maskReport(value: unknown, key = ''): unknown {
  if (typeof value === 'string') return leftAlone.has(key) ? value : maskCardNumbers(value);
  if (typeof value === 'number' || isExactNumber(value)) {
    if (leftAlone.has(key)) return value;
    const text = typeof value === 'number' ? String(value) : value.rawJSON;
    const masked = maskCardNumbers(text);
    return masked === text ? value : masked;
  }
  if (Array.isArray(value)) return value.map((item) => maskReport(item, key));
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [maskCardNumbers(name), maskReport(item, name)]));
  }
  return value;
}
