// What every full run must have reached: each kind of event with each answer, and each invariant in a state in which it is interesting. A
// search that never meets a situation proves nothing about it.
import { invariants } from './invariants.ts';
import type { Met } from './search.ts';

/** Answers by kind of event. */
export const expected: Readonly<Record<string, readonly string[]>> = {};

export function unreached({ reached, interesting }: Met): string[] {
  const names = Object.values(invariants).flatMap((group) => Object.keys(group));
  return [
    ...Object.entries(expected).flatMap(([event, codes]) => codes.map((code) => `${event} ${code}`).filter((place) => !reached[place])),
    ...names.filter((name) => !interesting[name]).map((name) => `the invariant "${name}" was never interesting`),
  ];
}
