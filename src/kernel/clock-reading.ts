// Parses a clock reading from the wire, leniently: anything that JavaScript accepts as a time, if it can be written again as a date-time.
// Gateway and devices share this code, so that neither accepts a time that the other could not use [D55].

/** Far more than any format of a time needs. */
const maxTextLength = 40;
/** A year has four digits in a date-time; a command's deadlines are minutes after the reading, so the last year is excluded. */
const earliestMs = Date.parse('0001-01-01T00:00:00Z');
const latestMs = Date.parse('9999-01-01T00:00:00Z');

/** Milliseconds since 1970; undefined: not a valid reading. */
export function clockReadingMs(value: unknown): number | undefined {
  if (typeof value !== 'string' || value.length > maxTextLength) return undefined;
  const ms = Date.parse(value);
  return ms >= earliestMs && ms <= latestMs ? ms : undefined;
}
