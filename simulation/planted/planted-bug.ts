// A bug as a change of src: texts to find, each exactly once in the files of its room, and their replacements. A text
// that is no longer found is an error: the table of bugs must follow the code.
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export type Kind =
  | 'commit and publish'
  | 'guards'
  | 'locks'
  | 'transactions'
  | 'journal rules'
  | 'keys'
  | 'leases'
  | 'order of callbacks'
  | 'sums'
  | 'expiry'
  | 'fencing'
  | 'joins'
  | 'aborts'
  | 'answers'
  | 'repeats'
  | 'evidence'
  | 'invoices'
  | 'notices'
  | 'mutant';

export interface Edit {
  /** A folder below the project: src/ledger. */
  room: string;
  find: string;
  instead: string;
}

export interface PlantedBug {
  /** It is a bug of the new core, on which its tests and its days run. Absent: the old one. */
  core?: 'new';
  name: string;
  kind: Kind;
  /** The harm to a shop. */
  harm: 'double charge' | 'lost money' | 'stuck' | 'lie' | 'callback';
  edits: readonly Edit[];
  /** The tests that find it, if the simulation cannot or should not. */
  tests?: readonly string[];
}

/** The simulation itself must catch these, unless they are bugs of the new core, whose tests are tried first. */
export function costsMoney({ harm }: Pick<PlantedBug, 'harm'>): boolean {
  return harm === 'double charge' || harm === 'lost money' || harm === 'stuck';
}

/** The one file of the room that has the text. */
export function placeOfEdit(root: string, { room, find }: Edit): string {
  const files = globSync(`${room}/**/*.{ts,sql}`, { cwd: root }).sort();
  const found = files.flatMap((file) => {
    const times = readFileSync(join(root, file), 'utf8').split(find).length - 1;
    return Array.from({ length: times }, () => file);
  });
  const [file] = found;
  if (file === undefined || found.length > 1)
    throw new Error(
      `A planted bug looks for this ${found.length === 0 ? 'and does not find it' : `and finds it ${found.length} times`} in ${room}; change its text in simulation/planted:\n${find}`,
    );
  return file;
}

/** Changes the copy of the project at `root`. */
export function plant(root: string, bug: PlantedBug): void {
  const places = bug.edits.map((edit) => placeOfEdit(root, edit));
  for (const [at, { find, instead }] of bug.edits.entries()) {
    const path = join(root, places[at] ?? '');
    writeFileSync(
      path,
      readFileSync(path, 'utf8').replace(find, () => instead),
    );
  }
}
