// Local time in a time zone, by Node's time zone data. Pure; times are milliseconds since 1970, a local time is written as if it were UTC.

export function isTimeZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone }).format(0);
    return true;
  } catch {
    return false;
  }
}

/** Converts a local time of the zone. A local time that a clock change skips counts by the offset before the change. */
export function fromLocalTime(localMs: number, zone: string): number {
  const format = offsetFormat(zone);
  // Twice, because the first guess may be on the other side of a clock change.
  const guess = localMs - offsetAt(localMs, format);
  return localMs - offsetAt(guess, format);
}

/** ISO 8601 with the zone's offset at that time; in UTC if the local year would have five digits. */
export function isoTimeIn(zone: string, atMs: number): string {
  const offsetMs = offsetAt(atMs, offsetFormat(zone));
  const local = new Date(atMs + offsetMs).toISOString();
  if (local.length !== '0000-00-00T00:00:00.000Z'.length) return new Date(atMs).toISOString();
  const minutes = Math.abs(offsetMs) / 60_000;
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  return `${local.replace(/(?:\.000)?Z$/, '')}${offsetMs < 0 ? '-' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`;
}

function offsetFormat(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-CA', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
}

function offsetAt(atMs: number, format: Intl.DateTimeFormat): number {
  const parts = Object.fromEntries(format.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]));
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(atMs / 1000) * 1000;
}
