// Databases for tests: fresh, migrated, on each engine that is at hand. now_ms() follows the clock that is given, or real time plus a shift,
// on both engines, so that the same virtual-time tests run on both.
import { createHash, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FunctionNode, type KyselyPlugin, OperationNodeTransformer, type RawNode, sql } from 'kysely';
import pg from 'pg';
import type { Database } from '../../src/database/database.ts';
import type { Engine } from '../../src/database/dialect.ts';
import { migrationsDir, readMigrations } from '../../src/database/migration-files.ts';
import { openDatabase } from '../../src/database/open.ts';
import { createMemoryStorage, type MemoryStorage } from '../../src/database/sqlite/memory.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { quietLogger } from './quiet-logger.ts';

const postgresUrl = process.env['TILLGATE_TEST_POSTGRES_URL'];

export const engines: Engine[] = postgresUrl ? ['sqlite', 'postgres'] : ['sqlite'];

export interface TestDatabase extends Database {
  /** Makes now_ms() go forward, on top of the clock that was given. */
  shiftClock(ms: number): void;
  /** PostgreSQL only: another instance on the same database, under the same clock. Close it before the first. */
  another(): Promise<TestDatabase>;
  /** The PostgreSQL address or the SQLite data directory, for child processes. */
  readonly place: { url?: string; dataDir?: string };
}

/** A fresh, migrated database of its own. Close it at the end of the test: that removes it. */
export function openTestDatabase(engine: Engine, clock?: Clock): Promise<TestDatabase> {
  return engine === 'postgres' ? openTestPostgres(clock) : openTestSqlite(clock);
}

/** In this thread, microtasks only. */
export async function memoryDatabase(clock: Clock): Promise<Database> {
  const storage = await migratedStorage();
  const database = await openDatabase({ inMemory: true, storage, role: 'gateway', clock, logger: quietLogger });
  return {
    ...database,
    async close() {
      await database.close();
      storage.close();
    },
  };
}

let migratedImage: Promise<Uint8Array> | undefined;

/** SQLite in memory, migrated already: the migrations run once for a process and not once for every test. */
export async function migratedStorage(): Promise<MemoryStorage> {
  return createMemoryStorage(await imageOfMigrated());
}

function imageOfMigrated(): Promise<Uint8Array> {
  migratedImage ??= (async () => {
    const storage = createMemoryStorage();
    await openDatabase({ inMemory: true, storage, role: 'gateway', clock: systemClock, logger: quietLogger });
    return storage.image();
  })();
  return migratedImage;
}

/** For a virtual clock's `settle`: statements under way have ended, and those that followed from them as well. */
export async function untilIdle(database: Database): Promise<void> {
  do await new Promise((resolve) => setImmediate(resolve));
  while (database.load().busy > 0);
}

/** PostgreSQL only: somebody stands in line for what another transaction holds. */
export async function waitsForLock({ queries }: Database): Promise<boolean> {
  const { rows } = await sql`
    select 1 from pg_locks l join pg_stat_activity a on a.pid = l.pid where not l.granted and a.datname = current_database()`.execute(
    queries,
  );
  return rows.length > 0;
}

/** Where a database could be, and none is yet: for tests of opening and migrating. */
export async function emptyPlace(engine: Engine): Promise<{ options: { url?: string; dataDir?: string }; remove(): Promise<void> }> {
  if (engine === 'sqlite') {
    const dataDir = mkdtempSync(join(tmpdir(), 'tillgate-db-'));
    return { options: { dataDir }, remove: async () => rmSync(dataDir, { recursive: true, force: true }) };
  }
  const name = newName();
  await asAdmin((admin) => admin.query(`create database ${name}`));
  return { options: { url: urlOf(name) }, remove: () => dropDatabase(name) };
}

async function openTestSqlite(clock: Clock = systemClock): Promise<TestDatabase> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tillgate-db-'));
  writeFileSync(join(dataDir, 'tillgate.db'), await imageOfMigrated(), { mode: 0o600 });
  let shiftMs = 0;
  const shifted: Clock = {
    now: () => clock.now() + shiftMs,
    elapsed: () => clock.elapsed(),
    after: (delayMs, action) => clock.after(delayMs, action),
  };
  const database = await openDatabase({ dataDir, role: 'gateway', clock: shifted, logger: quietLogger });
  return {
    ...database,
    place: { dataDir },
    shiftClock(ms) {
      shiftMs += ms;
    },
    async another() {
      throw new Error('SQLite serves one gateway.');
    },
    async close() {
      await database.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function openTestPostgres(clock?: Clock): Promise<TestDatabase> {
  const name = newName();
  const migrated = await preparedTemplate();
  await asAdmin((admin) => admin.query(`create database ${name} template ${migrated}`));
  const shift = { ms: 0 };
  const plugin = createClockPlugin(clock, shift);
  const url = urlOf(name);

  async function open(onClose: () => Promise<unknown>): Promise<TestDatabase> {
    const database = await openDatabase({ url, role: 'gateway', clock: clock ?? systemClock, logger: quietLogger });
    return {
      ...database,
      place: { url },
      queries: database.queries.withPlugin(plugin),
      transaction: (work) => database.transaction((tx) => work(tx.withPlugin(plugin))),
      load: () => database.load(),
      shiftClock(ms) {
        shift.ms += ms;
      },
      another: () => open(async () => {}),
      async close() {
        await database.close();
        await onClose();
      },
    };
  }
  return open(() => dropDatabase(name));
}

/** Writes the test's time in the place of now_ms(): the server's own clock cannot be moved, and this reaches every connection of the pool. */
function createClockPlugin(clock: Clock | undefined, shift: { ms: number }): KyselyPlugin {
  // With a blank inside, because a subquery passes here twice and must be shifted once.
  const nowText = () => (clock ? `${Math.floor(clock.now() + shift.ms)}::bigint` : `(now_ms( ) + ${shift.ms})`);
  class ClockTransformer extends OperationNodeTransformer {
    protected override transformRaw(node: RawNode): RawNode {
      const raw = super.transformRaw(node);
      return { ...raw, sqlFragments: raw.sqlFragments.map((fragment) => fragment.replaceAll('now_ms()', nowText())) };
    }
    protected override transformFunction(node: FunctionNode): FunctionNode {
      if (node.func === 'now_ms') throw new Error('Write nowMs of dialect.ts instead.');
      return super.transformFunction(node);
    }
  }
  const transformer = new ClockTransformer();
  return {
    transformQuery: ({ node }) => (clock || shift.ms !== 0 ? transformer.transformNode(node) : node),
    transformResult: async ({ result }) => result,
  };
}

let template: Promise<string> | undefined;

/** One migrated database that the others are copied from; asked for once by each test process. */
function preparedTemplate(): Promise<string> {
  template ??= prepareTemplate();
  return template;
}

/** Test processes that start together take turns. */
async function prepareTemplate(): Promise<string> {
  const checksums = readMigrations(migrationsDir).map((migration) => migration.checksum);
  const name = `tillgate_template_${createHash('sha256').update(checksums.join()).digest('hex').slice(0, 16)}`;
  await asAdmin(async (admin) => {
    await admin.query('select pg_advisory_lock(20260102)');
    try {
      const { rows } = await admin.query('select 1 from pg_database where datname = $1', [name]);
      if (rows.length > 0) return;
      // Under another name until it is whole: a test process that dies in the middle leaves no half-made template.
      const draft = `${name}_draft`;
      await admin.query(`drop database if exists ${draft} with (force)`);
      await admin.query(`create database ${draft}`);
      const database = await openDatabase({ url: urlOf(draft), role: 'gateway', clock: systemClock, logger: quietLogger });
      await database.close();
      await admin.query(`alter database ${draft} rename to ${name}`);
    } finally {
      await admin.query('select pg_advisory_unlock(20260102)');
    }
  });
  return name;
}

function newName(): string {
  return `tillgate_test_${randomUUID().replaceAll('-', '')}`;
}

async function dropDatabase(name: string): Promise<void> {
  await asAdmin((admin) => admin.query(`drop database if exists ${name} with (force)`));
}

function urlOf(databaseName: string): string {
  const url = new URL(postgresUrl ?? '');
  url.pathname = `/${databaseName}`;
  return url.href;
}

let admins: pg.Pool | undefined;

/** Connections are kept, because every one is a process of the server; they do not keep the test process alive. */
async function asAdmin<Result>(work: (admin: pg.ClientBase) => Promise<Result>): Promise<Result> {
  // An idle connection that breaks is replaced by the next call.
  admins ??= new pg.Pool({ connectionString: postgresUrl, allowExitOnIdle: true }).on('error', () => {});
  const admin = await admins.connect();
  try {
    return await work(admin);
  } finally {
    admin.release();
  }
}
