// The thread that writes SQLite starts under flags of the operator's own, with compiled code kept or not.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

const source = (path: string) => JSON.stringify(join(import.meta.dirname, '../../../src', path));
let place: string;

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'tillgate-flags-'));
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

const script = (keeps: boolean) => `
  if (${keeps}) (await import('node:module')).enableCompileCache(${JSON.stringify(join(place, 'kept'))});
  const { openDatabase } = await import(${source('database/open.ts')});
  const { systemClock } = await import(${source('kernel/system.ts')});
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const database = await openDatabase({ dataDir: ${JSON.stringify(join(place, 'data'))}, role: 'gateway', clock: systemClock, logger });
  console.log(database.engine);
  await database.close();`;

it.each([
  [['--max-old-space-size=512', '--expose-gc', '--title=till'], true],
  [['--max-old-space-size=512'], false],
  [['--max-semi-space-size=16'], true],
  [[], true],
])('%j, compiled code kept: %s', (flags, keeps) => {
  const file = join(place, 'opens.mjs');
  writeFileSync(file, script(keeps));
  const printed = execFileSync(process.execPath, [...flags, file], { encoding: 'utf8' });
  expect(printed).toBe('sqlite\n');
});
