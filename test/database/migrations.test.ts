// Migrations: right splitting, each whole or not at all, once only however many start together, and never on a database that does not fit.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LostToAnother } from '../../src/database/errors.ts';
import { migrationsDir, readMigrations, splitStatements, statementsFor } from '../../src/database/migration-files.ts';
import { migrateDatabase, type OpenOptions, openDatabase } from '../../src/database/open.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { emptyPlace, engines } from '../support/engines.ts';
import { seedMerchant } from '../support/fixtures.ts';
import { quietLogger, type RecordingLogger, recordingLogger } from '../support/quiet-logger.ts';
import { until } from '../support/until.ts';

describe('reading a migration', () => {
  it('splits at semicolons outside quotes and comments only', () => {
    const text = `-- a; comment
      create table a (b text check (b <> ';''--')); /* ; */ insert into a values ('x;y'); create table "c;d" (e int8)
      ; create function f() as $x$ select 1; $x$;;`;
    expect(splitStatements(text)).toEqual([
      "create table a (b text check (b <> ';''--'))",
      "insert into a values ('x;y')",
      'create table "c;d" (e int8)',
      'create function f() as $x$ select 1; $x$',
    ]);
  });

  it('translates its tokens outside quotes only, and makes tables strict on SQLite', () => {
    const text = "create table a (id identity8, n int8 not null default 1, t text default 'int8'); create index i on a (n);";
    expect(statementsFor('sqlite', text)).toEqual([
      "create table a (id integer primary key autoincrement, n integer not null default 1, t text default 'int8') strict",
      'create index i on a (n)',
    ]);
    expect(statementsFor('postgres', text)[0]).toBe(
      "create table a (id bigint generated always as identity primary key, n bigint not null default 1, t text default 'int8')",
    );
  });

  it('omits PostgreSQL-only statements on SQLite', () => {
    const text = 'create index i on a (n);\n-- on PostgreSQL only\nalter table a drop constraint b;\ndrop index c;';
    expect(statementsFor('sqlite', text)).toEqual(['create index i on a (n)']);
    expect(statementsFor('postgres', text)).toEqual(['create index i on a (n)', 'alter table a drop constraint b', 'drop index c']);
  });

  it('refuses a gap in the numbering', () => {
    const dir = mkdtempSync(join(tmpdir(), 'tillgate-migrations-'));
    writeFileSync(join(dir, '0002_second.sql'), 'select 1;');
    expect(() => readMigrations(dir)).toThrow(/0002_second.sql .*expected number 1/);
    rmSync(dir, { recursive: true });
  });
});

describe.each(engines)('migrating on %s', (engine) => {
  let dir: string;
  let place: Awaited<ReturnType<typeof emptyPlace>>;
  const options = (): OpenOptions => ({ ...place.options, role: 'gateway', clock: systemClock, logger: quietLogger, migrationsDir: dir });
  const shipped = readMigrations(migrationsDir).map(({ version, name }) => ({ version, name }));
  const nextFile = () => join(dir, `${String(shipped.length + 1).padStart(4, '0')}_more.sql`);
  const addMigration = (text: string) => writeFileSync(nextFile(), text);

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'tillgate-migrations-'));
    cpSync(migrationsDir, dir, { recursive: true });
    place = await emptyPlace(engine);
  });
  afterEach(async () => {
    rmSync(dir, { recursive: true });
    await place.remove();
  });

  it('reports what it applied, and applies nothing twice', async () => {
    expect(await migrateDatabase(options())).toEqual(shipped);
    expect(await migrateDatabase(options())).toEqual([]);
    addMigration('create table more (id identity8, note text not null);');
    expect(await migrateDatabase(options())).toEqual([{ version: shipped.length + 1, name: 'more' }]);
  });

  it('applies each migration whole or not at all, and can be retried', async () => {
    await migrateDatabase(options());
    addMigration("create table more (id identity8); insert into merchants (id) values ('incomplete');");
    await expect(migrateDatabase(options())).rejects.toThrow();
    addMigration('create table more (id identity8);');
    expect(await migrateDatabase(options())).toEqual([{ version: shipped.length + 1, name: 'more' }]);
  });

  it('refuses a database that is newer than the program', async () => {
    addMigration('create table more (id identity8);');
    await migrateDatabase(options());
    rmSync(nextFile());
    await expect(openDatabase(options())).rejects.toThrow(/newer than this program.*"more"/);
    await expect(openDatabase({ ...options(), role: 'reader' })).rejects.toThrow(/newer than this program/);
  });

  it('refuses a database that was migrated by another text of the same number', async () => {
    addMigration('create table more (id identity8);');
    await migrateDatabase(options());
    addMigration('create table more (id identity8, note text);');
    await expect(openDatabase(options())).rejects.toThrow(/another text/);
  });

  it('refuses a reader of an older database with a hint to start the gateway, and changes nothing', async () => {
    await migrateDatabase(options());
    addMigration('create table more (id identity8);');
    await expect(openDatabase({ ...options(), role: 'reader' })).rejects.toThrow(
      new RegExp(`lacks migration ${readMigrations(migrationsDir).length + 1}.*migrate`),
    );
    expect(await migrateDatabase(options())).toHaveLength(1);
  });

  it('lets a reader read and not write', async () => {
    await migrateDatabase(options());
    const reader = await openDatabase({ ...options(), role: 'reader' });
    expect(await reader.queries.selectFrom('merchants').select('id').execute()).toEqual([]);
    await expect(reader.queries.deleteFrom('merchants').execute()).rejects.toThrow(/can only be read/);
    await reader.close();
  });
});

describe.each(engines.filter((engine) => engine === 'postgres'))('several instances on %s', () => {
  it('start together, and each migration is applied once', async () => {
    const place = await emptyPlace('postgres');
    const open = () => openDatabase({ ...place.options, role: 'gateway', clock: systemClock, logger: quietLogger });
    const databases = await Promise.all(Array.from({ length: 6 }, open));
    const [first] = databases;
    const marks = await sql<{ version: number }>`select version from applied_migrations order by version`.execute(
      first?.queries ?? expect.fail(),
    );
    expect(marks.rows.map((row) => row.version)).toEqual(readMigrations(migrationsDir).map((migration) => migration.version));
    await Promise.all(databases.map((database) => database.close()));
    await place.remove();
  });

  describe('beside a running gateway', () => {
    const oneMore = readMigrations(migrationsDir).length + 1;
    let dir: string;
    let place: Awaited<ReturnType<typeof emptyPlace>>;
    let logger: RecordingLogger;
    const migrateTo = (text: string) => {
      writeFileSync(join(dir, `${String(oneMore).padStart(4, '0')}_more.sql`), text);
      return migrateDatabase({ ...place.options, clock: systemClock, logger, migrationsDir: dir });
    };

    beforeEach(async () => {
      dir = mkdtempSync(join(tmpdir(), 'tillgate-migrations-'));
      cpSync(migrationsDir, dir, { recursive: true });
      place = await emptyPlace('postgres');
      logger = recordingLogger();
    });
    afterEach(async () => {
      rmSync(dir, { recursive: true });
      await place.remove();
    });

    it('are retried when the database aborts them in its favour, and leave it alone', async () => {
      const gateway = await openDatabase({ ...place.options, role: 'gateway', clock: systemClock, logger: quietLogger });
      const other = new pg.Client({ connectionString: place.options.url });
      await other.connect();
      await other.query('select pg_advisory_lock(7)');
      const pausing = [
        'alter table commands add column more text',
        'select pg_advisory_xact_lock(7)',
        'alter table command_events add column more text',
      ];
      let migrated: Promise<unknown> | undefined;
      // As a gateway writes a line of the timeline: it holds the second table, and comes to need the first.
      await gateway.transaction(async (tx) => {
        // A session looks for a deadlock once, this long after it began to wait: the migration begins last, and is ended.
        await sql`set local deadlock_timeout = '1min'`.execute(tx);
        await sql`lock table command_events in row exclusive mode`.execute(tx);
        await seedMerchant(tx);
        migrated = migrateTo(`set local deadlock_timeout = '10ms'; ${pausing.join('; ')};`);
        await until(() => isAwaited(other, "locktype = 'advisory' and objid = 7"));
        const locked = sql`lock table commands in row share mode`.execute(tx);
        await until(() => isAwaited(other, "relation = 'commands'::regclass"));
        await other.end();
        await locked;
      });
      expect(await migrated).toEqual([{ version: oneMore, name: 'more' }]);
      expect(await gateway.queries.selectFrom('merchants').select('id').execute()).toHaveLength(1);
      expect(logger.lines.filter(({ level }) => level === 'warn')).toEqual([
        {
          level: 'warn',
          fields: { attempt: 1, of: 10, err: expect.any(LostToAnother) },
          message: 'a migration lost a deadlock against a running gateway and will be retried',
        },
      ]);
      await gateway.close();
    });

    it('are not tried for ever, and say why', async () => {
      const always = "create table more (id int8); do $$ begin raise exception 'deadlock detected' using errcode = '40P01'; end $$;";
      await expect(migrateTo(always)).rejects.toThrow('The database was too busy with the same rows; try again. deadlock detected');
      expect(logger.lines.filter(({ level }) => level === 'warn')).toHaveLength(9);
      expect(await migrateTo('create table more (id int8);')).toEqual([{ version: oneMore, name: 'more' }]);
    });
  });
});

async function isAwaited(client: pg.Client, what: string): Promise<boolean> {
  const here = '(select oid from pg_database where datname = current_database())';
  const { rows } = await client.query(`select 1 from pg_locks where not granted and database = ${here} and ${what}`);
  return rows.length === 1;
}
