// A random search is short by day and long in `npm run test:long`, for the files that scripts/test-selection.ts lists as such.

/** The number of rounds, operations or days of this run. */
export function byDayOrNight(day: number, night: number): number {
  return process.env['TILLGATE_TEST_SELECTION'] === 'long' ? night : day;
}
