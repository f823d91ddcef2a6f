// The count of a run, and what a second try may change in it: a failure goes only where its own file was run again and passed [D132].
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import {
  afterSecondTry,
  countLine,
  failedTests,
  onNewCore,
  readReport,
  secondTry,
  slowest,
  type TestReport,
  together,
} from '../scripts/test-report.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const place = mkdtempSync(join(tmpdir(), 'tillgate-report-'));
afterAll(() => rmSync(place, { recursive: true, force: true }));

const good = { path: 'test/good.test.ts', passed: 5, failed: [], durationMs: 1_000 };
const bad = { path: 'test/bad.test.ts', passed: 2, failed: ['test/bad.test.ts > one', 'test/bad.test.ts > two'], durationMs: 2_000 };
const run = (...files: TestReport['files']): TestReport => ({ files, strayErrors: 0 });

describe('the slowest files', () => {
  it('are shown of a long run, the slowest first, and of a short one none', () => {
    const many = Array.from({ length: 12 }, (_, at) => ({ ...good, path: `test/${at}.test.ts`, durationMs: at * 1_000 }));
    const lines = slowest(run(...many));
    expect(lines.slice(0, 2)).toEqual(['66.0 s in all files together, and longest in:', '  11.0 s test/11.test.ts']);
    expect(lines).toHaveLength(11);
    expect(slowest(run(...many.slice(2)))).toEqual([]);
  });
});

describe('the run on the new core', () => {
  it('counts beside the other one, and its failures say so', () => {
    const both = together(run(good), onNewCore(run(good, bad)));
    expect(countLine(both, true)).toBe('12 passed, 2 failed');
    expect(failedTests(both)).toEqual(['test/bad.test.ts > one (new core)', 'test/bad.test.ts > two (new core)']);
  });
});

describe('a second attempt', () => {
  it('is for the files that failed, and for no more than ten', () => {
    expect(secondTry(run(good, bad))).toEqual([bad.path]);
    expect(secondTry(run(good))).toEqual([]);
    const many = Array.from({ length: 11 }, (_, at) => ({ ...bad, path: `test/${at}.test.ts` }));
    expect(secondTry(run(...many.slice(1)))).toHaveLength(10);
    expect(secondTry(run(...many))).toEqual([]);
  });

  it('is for no file when something was thrown outside of every test', () => {
    expect(secondTry({ ...run(good, bad), strayErrors: 1 })).toEqual([]);
  });

  it('counts instead of the first, file by file', () => {
    const passed = { ...bad, passed: 4, failed: [] };
    expect(afterSecondTry(run(good, bad), run(passed))).toEqual(run(good, passed));
    const half = { ...bad, passed: 3, failed: ['test/bad.test.ts > two'] };
    expect(failedTests(afterSecondTry(run(good, bad), run(half)))).toEqual(['test/bad.test.ts > two']);
  });

  it('changes nothing for a file that it did not run, and brings its own stray errors', () => {
    expect(afterSecondTry(run(good, bad), { files: [], strayErrors: 2 })).toEqual({ files: [good, bad], strayErrors: 2 });
  });
});

describe('the count', () => {
  it('is of all tests, of stray errors too, and never without a failure when the run failed', () => {
    expect(countLine(run(good), false)).toBe('5 passed, 0 failed');
    expect(countLine(run(good, bad), true)).toBe('7 passed, 2 failed');
    expect(countLine({ ...run(good), strayErrors: 1 }, true)).toBe('5 passed, 1 failed');
    expect(countLine(readReport(join(place, 'missing.json')), true)).toBe('0 passed, 1 failed');
  });
});

describe('the report that Vitest writes', () => {
  it('names what failed in a test, around the tests, while loading, and outside of everything', () => {
    const test = (name: string, text: string) =>
      writeFileSync(join(place, 'test', name), `import { afterAll, describe, expect, it } from 'vitest';\n${text}`);
    mkdirSync(join(place, 'test'));
    symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'));
    test(
      'a.test.ts',
      `describe('sums', () => { it('right', () => {}); it('wrong', () => { Promise.reject(new Error('left behind')); expect(1).toBe(2); }); it.skip('left', () => {}); });`,
    );
    test('b.test.ts', `it('right', () => {}); afterAll(() => { throw new Error('late'); });`);
    test('c.test.ts', `throw new Error('early');`);
    test(
      'd.test.ts',
      `it('right', async () => { Promise.reject(new Error('stray')); await new Promise((done) => setTimeout(done, 50)); });`,
    );
    const file = join(place, 'report.json');
    const command = [
      join(root, 'node_modules/vitest/vitest.mjs'),
      'run',
      '--root',
      place,
      `--reporter=${join(root, 'scripts/test-report.ts')}`,
    ];
    const { status } = spawnSync(process.execPath, command, { cwd: place, env: { ...process.env, TILLGATE_TEST_REPORT: file } });
    const { files, strayErrors } = readReport(file);
    const durationMs: unknown = expect.any(Number);
    expect(status).toBe(1);
    expect(files.find(({ path }) => path === 'test/d.test.ts')?.durationMs).toBeGreaterThan(40);
    expect(files.toSorted((one, other) => one.path.localeCompare(other.path))).toEqual([
      { path: 'test/a.test.ts', passed: 1, failed: ['test/a.test.ts > sums > wrong'], durationMs },
      { path: 'test/b.test.ts', passed: 1, failed: ['test/b.test.ts'], durationMs },
      { path: 'test/c.test.ts', passed: 0, failed: ['test/c.test.ts'], durationMs },
      { path: 'test/d.test.ts', passed: 1, failed: [], durationMs },
    ]);
    expect(strayErrors).toBe(1);
  });
});
