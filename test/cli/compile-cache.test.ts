// Compiled code comes only from a directory that nobody else can write to, and never instead of a file that was changed.
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

const part = join(import.meta.dirname, '../../bin/compile-cache.mjs');
let place: string;
let program: string;

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'tillgate-compiled-'));
  program = join(place, 'program.ts');
  writeFileSync(program, 'export const answer: number = 1;');
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

/** Whether code is kept, and what the program says. */
function run(directory: string): { isKept: boolean; answer: number } {
  const script = `
    const { flushCompileCache } = await import('node:module');
    const { keepCompiledCode } = await import(${JSON.stringify(part)});
    const isKept = keepCompiledCode(${JSON.stringify(directory)});
    const { answer } = await import(${JSON.stringify(program)});
    flushCompileCache();
    console.log(JSON.stringify({ isKept, answer }));
    process.kill(process.pid, 'SIGKILL');`;
  // The tests themselves keep what they compile elsewhere.
  const { NODE_COMPILE_CACHE: _, ...env } = process.env;
  // Its last act is its own death: what is kept was written before.
  try {
    execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8', env, stdio: ['ignore', 'pipe', 'inherit'] });
  } catch (error) {
    return JSON.parse((error as { stdout: string }).stdout) as { isKept: boolean; answer: number };
  }
  throw new Error('The program did not come to its end.');
}

const filesIn = (directory: string) => readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());

it('is kept, closed to others, also by a process that is killed, and follows the source', () => {
  const directory = join(place, 'deep/kept');
  expect(run(directory)).toEqual({ isKept: true, answer: 1 });
  expect(filesIn(directory).length).toBeGreaterThan(0);
  expect(statSync(directory).mode & 0o777).toBe(0o700);
  expect(run(directory)).toEqual({ isKept: true, answer: 1 });
  writeFileSync(program, 'export const answer: number = 2;');
  expect(run(directory)).toEqual({ isKept: true, answer: 2 });
});

it.each([0o777, 0o775, 0o702])('is not kept in a directory that others can write to (%o)', (mode) => {
  const directory = join(place, 'open');
  mkdirSync(directory);
  chmodSync(directory, mode);
  expect(run(directory)).toEqual({ isKept: false, answer: 1 });
  expect(filesIn(directory)).toEqual([]);
});

it('is not kept where no directory can be made, and the program runs', () => {
  expect(run(join(program, 'below a file'))).toEqual({ isKept: false, answer: 1 });
});
