// Which test files a run takes. The long ones (`npm run test:long`, nightly) are listed here and left out of `npm test`; a caller that names a file
// runs it either way. Files that need a server which is not to be had are left out, and counted.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Runs that look for the rare: random kills, load, random input, packing, and figures of speed. Each rule they hold has a short test too. */
export const longTests: readonly string[] = [
  'test/bench/quick.server.test.ts',
  'test/clients/python-device-guide.server.test.ts',
  'test/conformance/neighbours.test.ts',
  'test/conformance/silence.test.ts',
  'test/deploy/alert-hours.server.test.ts',
  'test/deploy/two-gateways.server.test.ts',
  'test/docs/running-clients.test.ts',
  'test/e2e/fleet.server.test.ts',
  'test/e2e/load.test.ts',
  'test/e2e/packed.test.ts',
  'test/faults/kill-series.server.test.ts',
  'test/faults/kill-series.test.ts',
  'test/faults/restored-backup.server.test.ts',
  'test/fuzz/fuzz.test.ts',
  'test/support/servers/rabbitmq.server.test.ts',
  'test/upgrade/version-before.test.ts',
];

/** `short`: all but the long ones. `long`: those alone. `all`: what a file named by hand needs. */
export type Selection = 'short' | 'long' | 'all';

export function excludedBy(selection: Selection): string[] {
  return selection === 'short' ? [...longTests] : [];
}

export interface AbsentServer {
  name: string;
  /** Found in the text of a test, or of what it imports from the tests, when it needs the server. */
  sign: RegExp;
}

export interface LeftOut {
  path: string;
  /** As written; one that runs for several values counts once. */
  tests: number;
}

/** Files named *.server.test.ts that need one of these. Others take what is there. */
export function leftOutWithout(root: string, absent: readonly AbsentServer[]): LeftOut[] {
  const files = globSync('test/**/*.server.test.ts', { cwd: root }).sort();
  return files
    .filter((path) => {
      const texts = textsBehind(root, path);
      return absent.some(({ sign }) => texts.some((text) => sign.test(text)));
    })
    .map((path) => ({ path, tests: readFileSync(join(root, path), 'utf8').match(/^\s*it(?:\.each)?\(/gm)?.length ?? 0 }));
}

/** The text of a test and of all that it imports from the tests and scripts. `engines.ts` offers PostgreSQL and does not need it. */
function textsBehind(root: string, first: string): string[] {
  const seen = new Set<string>();
  const texts: string[] = [];
  const waiting = [first];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (seen.has(path) || path.endsWith('support/engines.ts') || !existsSync(join(root, path))) continue;
    seen.add(path);
    const text = readFileSync(join(root, path), 'utf8');
    texts.push(text);
    for (const [, target = ''] of text.matchAll(/from '(\.[^']+\.ts)'/g)) {
      const imported = join(dirname(path), target);
      if (/^(?:test|scripts)\//.test(imported) && imported !== 'scripts/test-servers.ts') waiting.push(imported);
    }
  }
  return texts;
}

/** One line for people: which servers, how many files and tests. */
export function leftOutLine(absent: readonly AbsentServer[], leftOut: readonly LeftOut[], why: string): string {
  const names = absent.map(({ name }) => name).join(', ');
  const tests = leftOut.reduce((sum, file) => sum + file.tests, 0);
  const engines = absent.some(({ name }) => name === 'PostgreSQL') ? ' Tests for both databases ran on SQLite alone.' : '';
  return `left out, because ${names} cannot be installed here (${why}): ${leftOut.length} files with ${tests} tests.${engines}`;
}

/** Where tests mostly wait: for processes, servers that come back, and browsers. */
const waiting = ['test/faults/', 'test/e2e/', 'test/deploy/', 'test/browser/', 'test/conformance/', 'test/clients/', 'test/contract/'];

/** Short files that compute for long: sorted by size they would run last, when fewer processes are left than cores. */
const lengthy = [
  'test/cabinet/views/scale.test.ts',
  'test/conformance-run/planted-faults.test.ts',
  'test/simulation/simulation.test.ts',
  'test/static.test.ts',
];

/**
 * Files that wait among files that compute, so that the cores have work all the time; those that wait are all begun well before the end,
 * because one that begins last keeps the whole run waiting. Within both groups the order that Vitest has: by duration of an earlier run, or by size.
 */
export function mixed<File>(files: readonly File[], pathOf: (file: File) => string): File[] {
  const isIn = (places: readonly string[], file: File) => places.some((place) => pathOf(file).includes(place));
  const waiters = files.filter((file) => isIn(waiting, file));
  const computing = files.filter((file) => !isIn(waiting, file));
  const others = [...computing.filter((file) => isIn(lengthy, file)), ...computing.filter((file) => !isIn(lengthy, file))];
  const between = Math.floor((others.length * 0.6) / Math.max(1, waiters.length));
  const begun = waiters.flatMap((file, at) => [file, ...others.slice(at * between, (at + 1) * between)]);
  return [...begun, ...others.slice(waiters.length * between)];
}
