// Random searches and long lists of cases are short by day and long in `npm run test:long`, for the files that scripts/test-selection.ts
// lists as such.

/** For a test whose rule has a shorter test; by day it is listed as skipped. */
export const isNight = process.env['TILLGATE_TEST_SELECTION'] === 'long';

/** The number of rounds, operations or days of this run, or its cases. */
export function byDayOrNight<Value>(day: Value, night: Value): Value {
  return isNight ? night : day;
}
