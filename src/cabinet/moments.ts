// Moments in the admin API's answers: ISO 8601 in UTC outwards, milliseconds inside. What comes in is read as ValidTo is [D23].

export function isoTime(ms: number): string;
export function isoTime(ms: number | undefined | null): string | undefined;
export function isoTime(ms: number | undefined | null): string | undefined {
  return ms === undefined || ms === null ? undefined : new Date(ms).toISOString();
}
