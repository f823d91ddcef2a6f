// Card numbers are never stored [D6]: in a device's report, they (card-numbers.ts) are masked before it is stored, logged or returned.
// Fields with bank references, which may look like card numbers, are not changed.
import { maskCardNumbers } from './card-numbers.ts';
import { isExactNumber } from './exact-json.ts';

const unmaskedFields = new Set(['operationId', 'rrn', 'authCode', 'token', 'receiptId', 'fiscalNumber', 'documentNumber', 'commandId']);

/** A copy of a device's report with card numbers masked in every text and number, keys included. */
export function maskReport(value: unknown, key = ''): unknown {
  if (typeof value === 'string') return unmaskedFields.has(key) ? value : maskCardNumbers(value);
  if (typeof value === 'number' || isExactNumber(value)) {
    if (unmaskedFields.has(key)) return value;
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
