// A clock's reading as it stands on the wire, read leniently: whatever JavaScript takes for a time, if it can be written again as a date-time.
// Both ends read it here, so that neither believes a time that the other could not answer in [D55].

/** Far more than any way to write a time needs. */
const maxTextLength = 40;
/** A year has four digits in a date-time; a command's limits lie minutes beyond the reading, so the last year is left out. */
const earliestMs = Date.parse('0001-01-01T00:00:00Z');
const latestMs = Date.parse('9999-01-01T00:00:00Z');

/** Milliseconds since 1970, or undefined if the value is no such time. */
export function clockReadingMs(value: unknown): number | undefined {
  if (typeof value !== 'string' || value.length > maxTextLength) return undefined;
  const ms = Date.parse(value);
  return ms >= earliestMs && ms <= latestMs ? ms : undefined;
}
