// How a check ends other than by passing: the device broke the clause, or it could not be tested here.

/** The device broke the clause. */
export class Broken extends Error {}

/** It cannot be tested here: no second channel, no way to pull the plug. */
export class Untested extends Error {}

export function must(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Broken(otherwise);
}

export function untested(why: string): never {
  throw new Untested(why);
}
