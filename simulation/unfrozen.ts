// Kysely freezes every node of every statement that it builds; no code changes them, and in a simulated day it is a tenth of the time.

export function leaveUnfrozen(): void {
  Object.freeze = <Value>(value: Value): Readonly<Value> => value;
}
