// Card numbers never rest here [D6]: what looks like one (card-numbers.ts) is masked before a device's report is stored, logged or
// returned. Bank references that may look alike are left alone.
import { maskCardNumbers } from './card-numbers.ts';
import { isExactNumber } from './exact-json.ts';

const leftAlone = new Set(['operationId', 'rrn', 'authCode', 'token', 'receiptId', 'fiscalNumber', 'documentNumber', 'commandId']);

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
