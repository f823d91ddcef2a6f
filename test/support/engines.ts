// Databases for tests: fresh, migrated, on each engine that is at hand. now_ms() follows the clock that is given, or real time plus a shift,
// on both engines, so that the same virtual-time tests run on both.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FunctionNode, type KyselyPlugin, OperationNodeTransformer, type RawNode, sql } from 'kysely';
import type { Database } from '../../src/database/database.ts';
import type { Engine } from '../../src/database/dialect.ts';
import { openDatabase } from '../../src/database/open.ts';
import { createMemoryStorage, type MemoryStorage } from '../../src/database/sqlite/memory.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { createEmpty, dropDatabase, postgresUrl, returnDatabase, takeDatabase, urlOf } from './postgres-databases.ts';
import { quietLogger } from './quiet-logger.ts';

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

/** For tests of query plans: on PostgreSQL one that no test has used before. */
export function openNewDatabase(engine: Engine): Promise<TestDatabase> {
  return engine === 'postgres' ? openTestPostgres(undefined, true) : openTestSqlite();
}

/** For tests of rules: SQLite in memory and in this thread, because to start its thread takes longer than most of them. */
export async function openQuickDatabase(engine: Engine, clock?: Clock): Promise<TestDatabase> {
  if (engine === 'postgres') return openTestPostgres(clock);
  const { shifted, shiftClock } = shiftable(clock);
  return { ...(await memoryDatabase(shifted)), place: {}, shiftClock, another: onlyOne };
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
  const name = await createEmpty();
  return { options: { url: urlOf(name) }, remove: () => dropDatabase(name) };
}

async function openTestSqlite(clock?: Clock): Promise<TestDatabase> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tillgate-db-'));
  writeFileSync(join(dataDir, 'tillgate.db'), await imageOfMigrated(), { mode: 0o600 });
  const { shifted, shiftClock } = shiftable(clock);
  const database = await openDatabase({ dataDir, role: 'gateway', clock: shifted, logger: quietLogger });
  return {
    ...database,
    place: { dataDir },
    shiftClock,
    another: onlyOne,
    async close() {
      await database.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

async function onlyOne(): Promise<never> {
  throw new Error('SQLite serves one gateway.');
}

function shiftable(clock: Clock = systemClock): { shifted: Clock; shiftClock(ms: number): void } {
  let shiftMs = 0;
  const shifted: Clock = {
    now: () => clock.now() + shiftMs,
    elapsed: () => clock.elapsed(),
    after: (delayMs, action) => clock.after(delayMs, action),
  };
  return {
    shifted,
    shiftClock(ms) {
      shiftMs += ms;
    },
  };
}

async function openTestPostgres(clock?: Clock, isNew = false): Promise<TestDatabase> {
  const name = await takeDatabase(isNew);
  const shift = { ms: 0 };
  const plugin = createClockPlugin(clock, shift);
  const url = urlOf(name);

  async function open(onClose: () => Promise<unknown>): Promise<TestDatabase> {
    const database = await openDatabase({ url, role: 'gateway', clock: clock ?? systemClock, logger: quietLogger });
    return {
      ...database,
      place: { url },
      queries: database.queries.withPlugin(plugin),
      pages: database.pages.withPlugin(plugin),
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
  return open(() => returnDatabase(name));
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
