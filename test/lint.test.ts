// The bans on reaching for time and chance hold the simulation up, so that they bite is itself tested.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

const violations: [text: string, rule: string][] = [
  ['export const a = Date.now();', 'no-restricted-properties'],
  ['export const a = performance.now();', 'no-restricted-properties'],
  ['export const a = process.hrtime();', 'no-restricted-properties'],
  ['export const a = new Date();', 'no-new-date-without-arguments'],
  ['export const a = setTimeout(() => {}, 1);', 'no-restricted-globals'],
  ['export const a = setInterval(() => {}, 1);', 'no-restricted-globals'],
  ['export const a = setImmediate(() => {});', 'no-restricted-globals'],
  ['export const a = globalThis.setTimeout;', 'no-restricted-globals'],
  ["import { setTimeout as wait } from 'node:timers/promises';\nexport const a = wait(1);", 'no-restricted-imports'],
  ['export const a = Math.random();', 'no-restricted-properties'],
  ['export const a = crypto.randomUUID();', 'no-restricted-properties'],
  ["import { randomUUID } from 'node:crypto';\nexport const a = randomUUID();", 'no-restricted-imports'],
  ["import { randomBytes } from 'node:crypto';\nexport const a = randomBytes(1);", 'no-restricted-imports'],
  ["import * as all from 'node:crypto';\nexport const a = all.randomBytes(1);", 'no-restricted-imports'],
  ["import { performance } from 'node:perf_hooks';\nexport const a = performance.now();", 'no-restricted-imports'],
  ['export default 1;', 'no-default-export'],
  ['async function work() {}\nwork();\nexport const a = 1;', 'no-floating-promises'],
];

describe('lint bans', () => {
  const house = mkdtempSync(join(tmpdir(), 'tillgate-lint-'));
  let found: string[] = [];

  function plant(path: string, text: string): void {
    mkdirSync(dirname(join(house, path)), { recursive: true });
    writeFileSync(join(house, path), `${text}\n`);
  }

  beforeAll(() => {
    for (const name of ['.oxlintrc.json', 'scripts/lint', 'tsconfig.json', 'package.json']) {
      cpSync(join(root, name), join(house, name), { recursive: true });
    }
    symlinkSync(join(root, 'node_modules'), join(house, 'node_modules'));
    for (const [index, [text]] of violations.entries()) plant(`src/room/violation-${index}.ts`, text);
    plant('src/room/allowed.ts', 'export const a = new Date(5);');
    plant('src/kernel/system.ts', 'export const a = Date.now() + Math.random();');
    const result = spawnSync(join(root, 'node_modules/.bin/oxlint'), ['--format=unix', 'src'], { cwd: house, encoding: 'utf8' });
    found = result.stdout.split('\n').filter((line) => line.startsWith('src/'));
  });
  afterAll(() => rmSync(house, { recursive: true, force: true }));

  it.each(violations.map(([text, rule], index) => ({ text, rule, file: `src/room/violation-${index}.ts:` })))(
    'finds $text',
    ({ file, rule }) => {
      expect(found.filter((line) => line.startsWith(file)).join('\n')).toContain(rule);
    },
  );

  it('lets an argument to Date, and the one adapter, pass', () => {
    expect(found.filter((line) => !line.startsWith('src/room/violation-'))).toEqual([]);
  });
});
