// What migrations promise to programs that do not know them: which start, which refuse, and that the texts keep the promise.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Migration, migrationsDir, readMigrations, statementsFor } from '../../src/database/migration-files.ts';
import { migrateDatabase, type OpenOptions, openDatabase } from '../../src/database/open.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { emptyPlace, engines } from '../support/engines.ts';
import { seedMerchant } from '../support/fixtures.ts';
import { quietLogger } from '../support/quiet-logger.ts';

const known = readMigrations(migrationsDir).length;
const numbered = (version: number) => String(version).padStart(4, '0');

describe.each(engines)('a program that is older than its database, on %s', (engine) => {
  let newerDir: string;
  let place: Awaited<ReturnType<typeof emptyPlace>>;
  const options = (migrations?: string): OpenOptions => ({
    ...place.options,
    role: 'gateway',
    clock: systemClock,
    logger: quietLogger,
    migrationsDir: migrations,
  });
  const addNewer = (...texts: string[]) => {
    for (const [index, text] of texts.entries()) writeFileSync(join(newerDir, `${numbered(known + 1 + index)}_newer.sql`), text);
    return migrateDatabase(options(newerDir));
  };

  beforeEach(async () => {
    newerDir = mkdtempSync(join(tmpdir(), 'tillgate-migrations-'));
    cpSync(migrationsDir, newerDir, { recursive: true });
    place = await emptyPlace(engine);
  });
  afterEach(async () => {
    rmSync(newerDir, { recursive: true });
    await place.remove();
  });

  it('starts, reads and writes when every newer migration promises it', async () => {
    const promise = `-- runs under programs that know ${known} migrations\n`;
    await addNewer(
      `${promise}create table newer (id identity8, note text not null);`,
      `${promise}alter table merchants add column newer text;`,
    );
    for (const role of ['gateway', 'reader'] as const) {
      const database = await openDatabase({ ...options(), role });
      if (role === 'gateway') await seedMerchant(database.queries);
      expect(await database.queries.selectFrom('merchants').select('id').execute()).toHaveLength(1);
      await database.close();
    }
    expect(await migrateDatabase(options())).toEqual([]);
    expect(await migrateDatabase(options(newerDir))).toEqual([]);
  });

  it('refuses when one newer migration promises it only to newer programs, or nothing at all', async () => {
    await addNewer(
      `-- runs under programs that know ${known} migrations\ncreate table newer (id identity8);`,
      `-- runs under programs that know ${known + 1} migrations\ncreate table newest (id identity8);`,
    );
    await expect(openDatabase(options())).rejects.toThrow(`it has migration ${known + 2} "newer"`);
    await expect(openDatabase({ ...options(), role: 'reader' })).rejects.toThrow(/newer than this program/);
  });

  it('refuses a newer migration without a promise', async () => {
    await addNewer('create table newer (id identity8);');
    await expect(openDatabase(options())).rejects.toThrow(/newer than this program/);
  });
});

/** Indexes that are no rule: without one an older program finds the same, by another that is as good. */
const plainIndexes = new Set(
  readMigrations(migrationsDir)
    .flatMap(({ text }) => statementsFor('postgres', text))
    .map((statement) => /^create index (\w+)/i.exec(statement)?.[1]),
);

/** Dropped for speed [D242]: the rows stay as they were, so an older program can read them. */
const droppedChecks = /^(?:commands_(?:check1?|amount_bani_check)|invoices_check1?|idempotency_keys_subject_kind_check)$/;

/** What a text does that a program which does not know it could stumble over; none: it only adds, or asks less. */
function stumblingBlocks({ text }: Pick<Migration, 'text'>): string[] {
  const statements = statementsFor('postgres', text);
  const created = new Set(statements.map((one) => /^create table (\w+)/i.exec(one)?.[1]).filter((name) => name !== undefined));
  return statements.filter((statement) => {
    if (/^(create table|insert into|update) /i.test(statement)) return false;
    if (/^create or replace function now_ms\(\) returns bigint /i.test(statement)) return false;
    const [, constraint] = /^alter table \w+ drop constraint if exists (\w+)$/i.exec(statement) ?? [];
    if (constraint !== undefined) return !constraint.endsWith('_fkey') && !droppedChecks.test(constraint);
    const dropped = /^drop index (\w+)$/i.exec(statement)?.[1];
    if (dropped !== undefined) return !plainIndexes.has(dropped);
    const [, isUnique, table] = /^create (unique )?index \w+ on (\w+)/i.exec(statement) ?? [];
    // A new rule about rows that an older program writes could refuse them.
    if (table !== undefined) return isUnique !== undefined && !created.has(table);
    const filled = /^alter table (\w+) set \(fillfactor = \d+\)$/i.exec(statement)?.[1];
    if (filled !== undefined) return !created.has(filled);
    if (!/^alter table \w+ add column /i.test(statement)) return true;
    return /\bnot null\b/i.test(statement) && !/\bdefault\b/i.test(statement);
  });
}

it('every declaration matches the text: it only adds, and accepts rows of older programs', () => {
  const promising = readMigrations(migrationsDir).filter(({ oldestProgram, version }) => oldestProgram < version);
  for (const migration of promising) expect(stumblingBlocks(migration), `migration ${migration.version}`).toEqual([]);
});

it.each([
  'alter table merchants drop column name',
  'drop table callbacks',
  'drop index some_index',
  'drop index one_open_command_per_device',
  'alter table commands drop constraint if exists commands_state_check',
  'create or replace function other() returns bigint language sql as $$ select 1 $$',
  'alter table merchants rename column name to title',
  'alter table merchants add column colour text not null',
  'create unique index one_name on merchants (name)',
  'delete from callbacks',
])('"%s" is no addition', (text) => {
  expect(stumblingBlocks({ text })).toEqual([text]);
});

it.each([
  "alter table merchants add column colour text not null default 'red'",
  'create index by_name on merchants (name)',
  'drop index commands_by_amount',
  'alter table command_events drop constraint if exists command_events_command_id_fkey',
  'create table more (id int8 primary key); create unique index one on more (id)',
])('"%s" is one', (text) => {
  expect(stumblingBlocks({ text })).toEqual([]);
});

it('every migration from the first promise on says which programs run on it', () => {
  const all = readMigrations(migrationsDir);
  // The first makes the schema, for no older program.
  for (const { text, name } of all.slice(1)) expect(text, name).toMatch(/^-- runs under programs that know \d+ migrations$/m);
});
