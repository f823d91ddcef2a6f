// Errors that end a check: the device broke the clause, or it cannot be tested here.

/** The device broke the clause. */
export class Broken extends Error {}

/** The clause cannot be tested here: no second channel, or no way to cut the power. */
export class Untested extends Error {}

export function must(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Broken(otherwise);
}

export function untested(why: string): never {
  throw new Untested(why);
}
