// Suggests a command for a mistyped one: the nearest name, if it is near enough.
import { editDistance } from '../kernel/edit-distance.ts';

const longest = 40;

/** ` Did you mean "key list"?`, or nothing. */
export function didYouMean(typed: string, names: readonly string[]): string {
  if (typed.length > longest) return '';
  const near = names
    .map((name) => ({ name, apart: editDistance(typed.toLowerCase(), name) }))
    .filter(({ name, apart }) => apart <= Math.max(1, Math.floor(name.length / 3)))
    .sort((one, other) => one.apart - other.apart)[0];
  return near === undefined ? '' : ` Did you mean "${near.name}"?`;
}
