// The Levenshtein distance of two names, for suggestions after a typing error.

/** The time is proportional to the product of the lengths: bound them first. */
export function editDistance(one: string, other: string): number {
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
