// Which money core the tests run on: the old rooms, or the new one [D300]. The gateway itself has no such setting.
export const core: 'old' | 'new' = process.env['TILLGATE_TEST_CORE'] === 'new' ? 'new' : 'old';
/** For what a decision wants otherwise (docs/core-differences.md), and for statements and columns that only one core has. */
export const isNewCore = core === 'new';

/** The environment of a process whose tests run on the core that an option `--core` names. */
export function coreVariables(named: string): Record<string, string> {
  if (named !== 'old' && named !== 'new') throw new Error(`--core is old or new, not ${named}.`);
  return { TILLGATE_TEST_CORE: named };
}
