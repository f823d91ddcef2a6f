// Parses times from callers [D23, D150]: ISO 8601 with date and time; without an offset, in the given zone or the server's own.
// Whether a time has passed is decided elsewhere, by the database's clock.
import { invalidRequest } from './error-codes.ts';
import { fromLocalTime } from './time-zones.ts';

// Up to nine decimals, because .NET writes seven; a blank instead of the T, as in SQL.
const pattern = /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(Z|z|[+-]\d{2}:?\d{2})?$/;

/** Offsets in use reach from -12:00 to +14:00. */
const maxOffsetMinutes = 14 * 60;

/** After it the year has five digits, which is no valid date-time. The first year is 100, so that no offset leads before the year 1. */
const lastMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Milliseconds since 1970. Smaller fractions are cut off. `field`: its name in the API. */
export function parseMoment(field: string, text: string, zone?: string): number {
  const match = pattern.exec(text);
  if (!match) throw broken(field, 'must be a date and time such as 2030-12-31T23:59:59 or 2030-12-31T21:59:59Z');
  const part = (index: number) => Number(match[index] ?? '0');
  const [year, month, day, hour, minute, second] = [part(1), part(2), part(3), part(4), part(5), part(6)];
  const millisecond = Number((match[7] ?? '').padEnd(3, '0').slice(0, 3));

  // Date.UTC converts a date that does not exist (30 February, 24:00) to another one.
  const inUtc = new Date(Date.UTC(year, month - 1, day, hour, minute, second, millisecond));
  const isReal =
    inUtc.getUTCFullYear() === year &&
    inUtc.getUTCMonth() === month - 1 &&
    inUtc.getUTCDate() === day &&
    inUtc.getUTCHours() === hour &&
    inUtc.getUTCMinutes() === minute &&
    inUtc.getUTCSeconds() === second;
  if (!isReal) throw broken(field, 'must be a date and time that exists, from the year 100 on');

  const offset = match[8];
  let atMs: number;
  if (offset !== undefined) atMs = inUtc.getTime() - parseOffset(field, offset) * 60_000;
  // Before 1970, offsets may have seconds; such dates are not needed.
  else if (zone !== undefined && year >= 1970) atMs = fromLocalTime(inUtc.getTime(), zone);
  else atMs = new Date(year, month - 1, day, hour, minute, second, millisecond).getTime();
  if (atMs > lastMs) throw broken(field, 'must not be after 9999-12-31T23:59:59Z');
  return atMs;
}

export function isoTime(ms: number): string;
export function isoTime(ms: number | undefined | null): string | undefined;
export function isoTime(ms: number | undefined | null): string | undefined {
  return ms === undefined || ms === null ? undefined : new Date(ms).toISOString();
}

function parseOffset(field: string, text: string): number {
  if (text === 'Z' || text === 'z') return 0;
  const digits = text.replace(/\D/g, '');
  const minutes = Number(digits.slice(2));
  const total = Number(digits.slice(0, 2)) * 60 + minutes;
  if (minutes > 59 || total > maxOffsetMinutes) throw broken(field, 'must have an offset of at most 14 hours');
  return text.startsWith('-') ? -total : total;
}

function broken(field: string, rule: string): Error {
  return invalidRequest(`${field} ${rule}.`);
}
