// The test files of a run. The long ones (`npm run test:long`, nightly) are listed here and omitted from `npm test`; a caller that names a
// file runs it either way. Files that need an unavailable server are omitted, and counted.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { notOnTheNewCore } from '../test/support/not-on-the-new-core.ts';

/** Runs that look for rare errors: random kills, load, random input, and speed. Each rule that they check has a short test too. */
export const longTests: readonly string[] = [
  'test/bench/quick.server.test.ts',
  'test/cabinet/views/scale.test.ts',
  'test/clients/killed-gateway.server.test.ts',
  'test/clients/python-device-guide.server.test.ts',
  'test/conformance/neighbours.test.ts',
  'test/conformance/silence.test.ts',
  'test/deploy/alert-hours.server.test.ts',
  'test/deploy/two-gateways.server.test.ts',
  'test/docs/generated-sales.server.test.ts',
  'test/docs/running-clients.test.ts',
  'test/e2e/endpoints.server.test.ts',
  'test/e2e/fleet.server.test.ts',
  'test/e2e/load.test.ts',
  'test/faults/kill-series.server.test.ts',
  'test/faults/kill-series.test.ts',
  'test/faults/restored-backup.server.test.ts',
  'test/fuzz/fuzz.test.ts',
  'test/support/servers/rabbitmq.server.test.ts',
  'test/upgrade/version-before.test.ts',
];

/**
 * Random searches and long lists of cases that are short by day and long at night, with test/support/at-length.ts. What the night adds: rounds
 * of a search; two restarts of RabbitMQ and a killed gateway whose answer was lost; the role matrix, the pages of transcripts and five stories on PostgreSQL; in a
 * browser four stories, five widths, what an operator is offered, and the phone in two more languages.
 */
export const longerTests: readonly string[] = [
  'test/browser/cabinet.server.test.ts',
  'test/browser/playground.server.test.ts',
  'test/browser/support-desk.server.test.ts',
  'test/cabinet/roles.test.ts',
  'test/cabinet/views/agreement.test.ts',
  'test/conformance/rabbitmq.server.test.ts',
  'test/faults/servers-killed.server.test.ts',
  'test/faults/two-gateways.server.test.ts',
  'test/fiscal/day.test.ts',
  'test/invoices/model.test.ts',
  'test/money/recompute.test.ts',
  'test/money/slow-gateways.test.ts',
  'test/playground/stories.test.ts',
  'test/simulation/simulation.test.ts',
];

/** `short`: all but the long ones. `long`: only those. `all`: for files that are named by hand. */
export type Selection = 'short' | 'long' | 'all';

export function excludedBy(selection: Selection): string[] {
  return selection === 'short' ? [...longTests] : [];
}

export interface AbsentServer {
  name: string;
  /** Found in the text of a test, or of its imports from the tests, if it needs the server. */
  sign: RegExp;
}

export interface LeftOut {
  path: string;
  /** As written; one that runs for several values counts once. */
  tests: number;
}

/** Files named *.server.test.ts that need one of these. Others use the available servers. */
export function leftOutWithout(root: string, absent: readonly AbsentServer[]): LeftOut[] {
  const files = globSync('test/**/*.server.test.ts', { cwd: root }).sort();
  return files
    .filter((path) => {
      const texts = textsBehind(root, path);
      return absent.some(({ sign }) => texts.some((text) => sign.test(text)));
    })
    .map((path) => ({ path, tests: readFileSync(join(root, path), 'utf8').match(/^\s*it(?:\.each)?\(/gm)?.length ?? 0 }));
}

/** The text of a test and of all its imports from the tests and scripts. `engines.ts` offers PostgreSQL and does not need it. */
function textsBehind(root: string, first: string, isFollowed?: (path: string) => boolean): string[] {
  return [...filesBehind(root, first, isFollowed).values()];
}

function filesBehind(root: string, first: string, isFollowed = (path: string) => /^(?:test|scripts)\//.test(path)): Map<string, string> {
  const texts = new Map<string, string>();
  const waiting = [first];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (texts.has(path) || path.endsWith('support/engines.ts') || !existsSync(join(root, path))) continue;
    const text = readFileSync(join(root, path), 'utf8');
    texts.set(path, text);
    for (const [, target = ''] of text.matchAll(/(?:from|import\() ?'(\.[^']+\.ts)'/g)) {
      const imported = join(dirname(path), target);
      if (isFollowed(imported) && imported !== 'scripts/test-servers.ts') waiting.push(imported);
    }
  }
  return texts;
}

/**
 * What a run begins with, while servers are installed and the program is packed, or what it ends with [D260]; and what is run once more,
 * on the new core [D300].
 */
export type Part = 'beginning' | 'rest' | 'new core';

/** In a text: another engine, a server, the packed program, or an address of them. */
const signOfServers = /\/engines\.ts'|postgres-databases|servers\/|gateway-process|packed-program|TILLGATE_TEST_(?!SELECTION|REPORT)/;

/** The files that need neither a server nor the packed program, so that both may still be missing. */
export function beginningFiles(root: string): string[] {
  const isFollowed = (path: string) => !/^(?:src|web|node_modules)\//.test(path);
  return globSync('test/**/*.test.ts', { cwd: root, exclude: ['**/node_modules/**'] })
    .filter((path) => !longTests.includes(path) && !path.endsWith('.server.test.ts'))
    .filter((path) => !waiting.some((place) => path.startsWith(place)))
    .filter((path) => !textsBehind(root, path, isFollowed).some((text) => signOfServers.test(text)))
    .sort();
}

/** Shops in memory that run on the core that test/support/core.ts chooses. */
const shops = ['test/support/sale-world.ts', 'test/invoices/shop.ts'];

/** Files that start gateways as processes, for the run on the new core. The others run there by hand. */
const withProcesses = ['test/faults/gateway-killed.test.ts'];

/** The files whose shop can run on the new core: all that use it, themselves or by an import, but the long ones. */
export function filesWithShop(root: string): string[] {
  return globSync('test/**/*.test.ts', { cwd: root, exclude: ['**/node_modules/**'] })
    .filter((path) => !longTests.includes(path))
    .filter((path) => {
      const behind = filesBehind(root, path);
      return shops.some((shop) => behind.has(shop));
    })
    .sort();
}

export function filesOnNewCore(root: string): string[] {
  const without = new Set(Object.keys(notOnTheNewCore));
  return [...withProcesses, ...filesWithShop(root).filter((path) => !without.has(path))];
}

/** One line for people: which servers, how many files and tests. */
export function leftOutLine(absent: readonly AbsentServer[], leftOut: readonly LeftOut[], why: string): string {
  const names = absent.map(({ name }) => name).join(', ');
  const tests = leftOut.reduce((sum, file) => sum + file.tests, 0);
  const engines = absent.some(({ name }) => name === 'PostgreSQL') ? ' Tests for both databases ran on SQLite alone.' : '';
  return `left out, because ${names} cannot be installed here (${why}): ${leftOut.length} files with ${tests} tests.${engines}`;
}

/** Folders whose tests mostly wait: for processes, restarted servers, and browsers. */
const waiting = ['test/faults/', 'test/e2e/', 'test/deploy/', 'test/browser/', 'test/conformance/', 'test/clients/', 'test/contract/'];

/** Short files that take long: sorted by size they would run last, when fewer processes are left than cores. */
const lengthy = [
  'test/cli/data-directory.test.ts',
  'test/conformance-run/desk.test.ts',
  'test/conformance-run/planted-faults.test.ts',
  'test/database/durability.test.ts',
  'test/database/growth.server.test.ts',
  'test/docs/erp-guide.test.ts',
  'test/docs/php-erp.server.test.ts',
  'test/money/recompute.test.ts',
  'test/money/slow-gateways.test.ts',
  'test/playground/stories.test.ts',
  'test/simulation/simulation.test.ts',
  'test/static.test.ts',
  'test/virtual/wire/rabbitmq.server.test.ts',
];

/**
 * Mixes files that wait with files that compute, so that the cores always have work; files that wait start well before the end,
 * because one that starts last delays the whole run. Within both groups the order is Vitest's: by duration of an earlier run, or by size.
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
