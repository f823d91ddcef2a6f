// Money [D12]: whole bani inside (1 leu = 100 bani), decimals in lei outside, never floating-point arithmetic.
// The largest amount, 9,999,999,999.99 lei, is far below 2^53 bani, so a JavaScript number holds every amount exactly.

import { isSameNumber } from './exact-json.ts';

export type Bani = number;

export const maxAmountBani: Bani = 999_999_999_999;

const decimalPattern = /^(0|[1-9]\d{0,9})(?:\.(\d{1,2}))?$/;

/** Lei as a JSON number or string, from 0.01 to 9,999,999,999.99 with at most two places; undefined for anything else. */
export function parseAmount(value: unknown): Bani | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined;
  // The shortest text of a number is what the sender wrote: a number that the parser would round arrives here as its source text.
  const match = decimalPattern.exec(String(value));
  if (!match) return undefined;
  const bani = Number(match[1]) * 100 + Number((match[2] ?? '').padEnd(2, '0'));
  return bani >= 1 ? bani : undefined;
}

const decimalTextPattern = /^-?(0|[1-9]\d{0,14})(\.\d{1,15})?$/;

/** A decimal, sent as a JSON number or text [D145], as an exactly equal number; undefined for anything else. */
export function parseDecimalNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value !== 'string' || !decimalTextPattern.test(value)) return undefined;
  const number = Number(value);
  return isSameNumber(number, value) ? number : undefined;
}

/** The rule of parseAmount, for error messages. */
export const amountRule = 'must be a decimal from 0.01 to 9999999999.99 with at most two places';

/** "12.05": exact text in lei. */
export function formatLei(bani: Bani): string {
  const sign = bani < 0 ? '-' : '';
  const digits = String(Math.abs(bani)).padStart(3, '0');
  return `${sign}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/** Lei as the JSON number that prints as the exact decimal: 1205 bani is 12.05. */
export function baniToLei(bani: Bani): number {
  return Number(formatLei(bani));
}
