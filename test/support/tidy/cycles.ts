// Import cycles among source files, type imports included: each is named by the shortest way around.
import { posix } from 'node:path';
import { readFacts } from './references.ts';
import type { Files } from './rules.ts';

export function findCycles(files: Files): string[] {
  const importsOf = new Map([...files].map(([path, text]) => [path, localImports(path, text, files)]));
  const cycles = new Map<string, string>();
  for (const path of files.keys()) {
    const around = shortestWayBack(path, importsOf);
    // One line per set of files: the same cycle is found from each of them.
    if (around) cycles.set([...around].sort().join(), [...around, path].join(' -> '));
  }
  return [...cycles.values()];
}

function localImports(path: string, text: string, files: Files): string[] {
  const targets = readFacts(path, text).references.flatMap(({ target }) =>
    target?.startsWith('.') ? [posix.join(posix.dirname(path), target)] : [],
  );
  return [...new Set(targets)].filter((target) => files.has(target));
}

/** Breadth first: the files from `start` up to the one that imports it again. */
function shortestWayBack(start: string, importsOf: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const importedBy = new Map<string, string>();
  const queue = [start];
  for (const path of queue) {
    for (const target of importsOf.get(path) ?? []) {
      if (target === start) {
        const way = [path];
        for (let each = path; each !== start; ) {
          each = importedBy.get(each) ?? start;
          way.unshift(each);
        }
        return way;
      }
      if (importedBy.has(target)) continue;
      importedBy.set(target, path);
      queue.push(target);
    }
  }
  return undefined;
}
