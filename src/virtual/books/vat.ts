// VAT letters and rates with dates of validity: laws change them, and a receipt keeps the rate of its day.
import type { Bani } from '../../kernel/money.ts';

export interface VatRate {
  letter: string;
  /** Hundredths of a percent: 2000 is 20 %. */
  basisPoints: number;
  /** Valid from this time on, ISO. */
  validFrom: string;
}

export type VatTable = readonly VatRate[];

export const moldovanVat: VatTable = [
  { letter: 'A', basisPoints: 2_000, validFrom: '1998-01-01T00:00:00Z' },
  { letter: 'B', basisPoints: 800, validFrom: '1998-01-01T00:00:00Z' },
  { letter: 'D', basisPoints: 0, validFrom: '1998-01-01T00:00:00Z' },
];

/** The rate in force at that time; undefined: there is no such letter then. */
export function vatRateAt(table: VatTable, letter: string, atMs: number): VatRate | undefined {
  let found: VatRate | undefined;
  for (const rate of table) {
    const fromMs = Date.parse(rate.validFrom);
    if (rate.letter === letter && fromMs <= atMs && (!found || fromMs >= Date.parse(found.validFrom))) found = rate;
  }
  return found;
}

/** The tax within a gross amount, rounded half away from zero. */
export function vatWithin(grossBani: Bani, rate: VatRate): Bani {
  const tax = Math.round((Math.abs(grossBani) * rate.basisPoints) / (10_000 + rate.basisPoints));
  return grossBani < 0 ? -tax : tax;
}
