// The command that somebody meant who typed another: the nearest name, if it is near enough to be no guess.

/** Letters to add, drop or replace. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_cell, place) => place);
  for (let line = 0; line < one.length; line += 1) {
    const next = [line + 1];
    for (let place = 0; place < other.length; place += 1) {
      const replaced = (row[place] ?? 0) + (one[line] === other[place] ? 0 : 1);
      next.push(Math.min(replaced, (row[place + 1] ?? 0) + 1, (next[place] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}

const longest = 40;

/** ` Did you mean "key list"?`, or nothing. */
export function didYouMean(typed: string, names: readonly string[]): string {
  if (typed.length > longest) return '';
  const near = names
    .map((name) => ({ name, apart: distance(typed.toLowerCase(), name) }))
    .filter(({ name, apart }) => apart <= Math.max(1, Math.floor(name.length / 3)))
    .sort((one, other) => one.apart - other.apart)[0];
  return near === undefined ? '' : ` Did you mean "${near.name}"?`;
}
