// `npm run mutation`: how it runs tests without Vitest, and what it says about a run: which survivors count, which are accepted, and which
// entries of the list are no longer true.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { judgeReport, type MutationReport, summaryOf } from '../scripts/mutation/summary.ts';

const source = 'export function isFree(count: number): boolean {\n  return count < 1;\n}\n';
const at = (line: number, from: number, to: number) => ({ start: { line, column: from }, end: { line, column: to } });
const mutant = (status: string, replacement: string) => ({
  mutatorName: 'EqualityOperator',
  replacement,
  status,
  location: at(2, 10, 19),
});

const reportOf = (...mutants: MutationReport['files'][string]['mutants']): MutationReport => ({
  files: { 'src/room/file.ts': { source, mutants } },
});

const entry = {
  file: 'src/room/file.ts',
  line: 'return count < 1;',
  change: 'count < 1 → count <= 0',
  reason: 'A count is a whole number.',
};

describe('the summary of a mutation run', () => {
  it('names a survivor by its line and its change, and counts a mutant that no test reaches as one', () => {
    const judged = judgeReport(reportOf(mutant('Killed', 'true'), mutant('Survived', 'count <= 1'), mutant('NoCoverage', 'false')), []);
    expect(judged.total).toEqual({ mutants: 3, killed: 1, accepted: 0, survived: 2 });
    expect(judged.score).toBeCloseTo(33.3, 1);
    expect(summaryOf(judged, { isWhole: false, goal: 95 })).toContain(
      'src/room/file.ts:2  EqualityOperator\n    return count < 1;\n    count < 1 → count <= 1',
    );
  });

  it('leaves out what is accepted by line and change, and nothing else', () => {
    const judged = judgeReport(reportOf(mutant('Timeout', 'true'), mutant('Survived', 'count <= 0'), mutant('Survived', 'count <= 1')), [
      entry,
    ]);
    expect(judged.total).toEqual({ mutants: 3, killed: 1, accepted: 1, survived: 1 });
    expect(judged.score).toBe(50);
    expect(judged.stale).toEqual([]);
  });

  it('counts one that ended the process of its tests as a survivor: no test has failed by it', () => {
    const judged = judgeReport(reportOf(mutant('Killed', 'true'), mutant('RuntimeError', 'false'), mutant('Ignored', 'count <= 1')), []);
    expect(judged.total).toEqual({ mutants: 2, killed: 1, accepted: 0, survived: 1 });
  });

  it('tells of an entry whose mutant is killed by now or whose line has changed', () => {
    const judged = judgeReport(reportOf(mutant('Killed', 'count <= 0')), [entry, { ...entry, file: 'src/room/not-asked.ts' }]);
    expect(judged.stale).toEqual([entry]);
    expect(judged.score).toBe(100);
  });
});

const tests = `
import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
const said = [];
beforeAll(() => said.push('all'));
beforeEach(() => { said.push('each'); return () => said.push('cleaned'); });
describe.each(['one', 'two'])('suite %s', (name) => {
  afterEach(() => said.push('after ' + name));
  it.each([[1, 'a'], [2, 'b']])('%i is %s', (count, letter) => expect(letter).toBe(count === 1 ? 'a' : 'b'));
});
it('waits', { timeout: 5_000 }, async () => {
  onTestFinished(() => said.push('finished'));
  let count = 0;
  await expect.poll(() => (count += 1)).toBe(3);
  await vi.waitUntil(() => true);
  expect({ said: said.slice(0, 4) }).toEqual({ said: expect.arrayContaining(['all', 'each', 'after one']) });
});
it('fails', () => expect(said).toContain('finished by nobody'));
it('was cleaned up after', () => expect(said.filter((word) => word === 'finished')).toHaveLength(1));
`;

/** What `ask` prints as JSON when a process that has `Runner` and these tests runs it. */
function askRunner(testFile: string, ask: string): unknown {
  const directory = mkdtempSync(join(tmpdir(), 'tillgate-mutation-test-'));
  try {
    writeFileSync(join(directory, 'some.test.mjs'), testFile);
    const runner = JSON.stringify(new URL('../scripts/mutation/runner.ts', import.meta.url).href);
    const script = `const { strykerPlugins: [{ injectableClass: Runner }] } = await import(${runner});\n${ask}\nprocess.exit();`;
    writeFileSync(join(directory, 'ask.mjs'), script);
    const env = {
      ...process.env,
      TILLGATE_MUTATION_TESTS: '*.test.mjs',
      TILLGATE_MUTATION_NOTES: directory,
      TILLGATE_MUTATION_PATIENCE_MS: '1000',
      TILLGATE_MUTATION_IDLE_MS: '200',
    };
    return JSON.parse(execFileSync(process.execPath, ['ask.mjs'], { cwd: directory, env, encoding: 'utf8' }));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

it('the runner speaks the tests’ language without Vitest, and tells which one failed', () => {
  const ask = `
    const { tests } = await new Runner().dryRun();
    console.log(JSON.stringify(tests.map(({ name, status }) => [name.split('#')[1], status])));`;
  expect(askRunner(tests, ask)).toEqual([
    ['suite one > 1 is a', 0],
    ['suite one > 2 is b', 0],
    ['suite two > 1 is a', 0],
    ['suite two > 2 is b', 0],
    ['waits', 0],
    ['fails', 1],
    ['was cleaned up after', 0],
  ]);
});

const waitingTests = `
import { afterAll, it } from 'vitest';
const { __stryker__: state } = globalThis;
const forEver = () => new Promise(() => {});
it('waits for ever with mutant 1', () => state.activeMutant === '1' ? forEver() : undefined);
it('works for longer than it may wait', () => { for (const until = Date.now() + 400; Date.now() < until; ); });
afterAll(() => state.activeMutant === '2' ? forEver() : undefined);
`;

it('a mutant that makes a test wait for ever is killed at once, work is no waiting, and what does not end ends nothing else', () => {
  const ask = `
    const runner = new Runner();
    await runner.dryRun();
    const statuses = [];
    for (const id of ['1', '2', '3']) {
      const { status } = await runner.mutantRun({ activeMutant: { id }, mutantActivation: 'runtime' });
      statuses.push(status);
    }
    console.log(JSON.stringify(statuses));`;
  const from = performance.now();
  expect(askRunner(waitingTests, ask)).toEqual(['killed', 'survived', 'survived']);
  expect(performance.now() - from).toBeLessThan(15_000);
});

const throwingTests = `
import { it } from 'vitest';
const { __stryker__: state } = globalThis;
let times = 0;
it('has an uncaught error, each time with mutant 1 and once with mutant 2', async () => {
  if (state.activeMutant === '1' || (state.activeMutant === '2' && (times += 1) === 1)) setImmediate(() => { throw new Error('odd'); });
  await new Promise((resolve) => setTimeout(resolve, 20));
});
`;

it('an uncaught error kills its mutant if it comes each time, and never the process that asks', () => {
  const ask = `
    const runner = new Runner();
    await runner.dryRun();
    const found = [];
    for (const id of ['1', '2', '3']) {
      const { status, failureMessage } = await runner.mutantRun({ activeMutant: { id }, mutantActivation: 'runtime' });
      found.push([status, failureMessage?.includes('odd')]);
    }
    console.log(JSON.stringify(found));`;
  expect(askRunner(throwingTests, ask)).toEqual([
    ['killed', true],
    ['survived', null],
    ['survived', null],
  ]);
});

describe('the lists of accepted mutants', () => {
  const directory = new URL('../scripts/mutation/accepted/', import.meta.url);

  it.each(readdirSync(directory))('%s: each entry is about a line that is still there', (list) => {
    const entries = JSON.parse(readFileSync(new URL(list, directory), 'utf8')) as { file: string; line: string }[];
    const isThere = ({ file, line }: (typeof entries)[number]) =>
      readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
        .split('\n')
        .some((text) => text.trim() === line);
    expect(entries.filter((entry) => !isThere(entry))).toEqual([]);
  });
});
