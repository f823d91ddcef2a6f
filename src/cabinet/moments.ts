// Moments at the admin API's edge: ISO 8601 in UTC outwards, ISO 8601 inwards, milliseconds inside.
import { invalidRequest } from '../kernel/error-codes.ts';

export function isoTime(ms: number): string;
export function isoTime(ms: number | undefined | null): string | undefined;
export function isoTime(ms: number | undefined | null): string | undefined {
  return ms === undefined || ms === null ? undefined : new Date(ms).toISOString();
}

/** Without an offset it is in the server's own time zone, as everywhere [D23]. */
export function readMoment(field: string, text: string): number {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw invalidRequest(`${field} must be a date and time such as 2030-01-31T12:00:00Z.`);
  return ms;
}
