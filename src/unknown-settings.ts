// Variables of the environment that look like settings and are none. One that is nearly a setting is a misspelling, and the default that
// stands in for it may be the wrong one: `serve` does not start with it. Others have a reason of their own, such as the variables that
// Kubernetes sets for each Service, and get a notice [D154].
import { editDistance } from './kernel/edit-distance.ts';

const maxDistance = 2;

export interface UnknownSettings {
  /** One sentence each. */
  misspelled: string[];
  others: string[];
}

export function findUnknownSettings(variables: readonly string[], known: readonly string[]): UnknownSettings {
  const names = new Set(known);
  const misspelled: string[] = [];
  const others: string[] = [];
  for (const variable of variables) {
    if (names.has(variable) || variable.startsWith('TILLGATE_TEST_')) continue;
    const meant = nearest(variable, known);
    if (meant !== undefined) misspelled.push(`${variable} is not a setting of Tillgate; ${meant} is: correct the name, or remove it.`);
    else if (variable.startsWith('TILLGATE_'))
      others.push(`${variable} is not a setting of Tillgate and has no effect; docs/operating.md lists those that are.`);
  }
  return { misspelled, others };
}

/** The beginning may be misspelled as well (`TILGATE_PORT`), so that every variable is compared, first by its length. */
function nearest(variable: string, known: readonly string[]): string | undefined {
  let best: { name: string; apart: number } | undefined;
  for (const name of known) {
    if (Math.abs(name.length - variable.length) > maxDistance) continue;
    const apart = editDistance(variable, name);
    if (apart <= Math.min(maxDistance, (best?.apart ?? maxDistance + 1) - 1)) best = { name, apart };
  }
  return best?.name;
}
