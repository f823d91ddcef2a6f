// Opens the configured database: PostgreSQL by its address, a file in the data directory, or memory.
// A gateway brings it up to date first; a reader (the command line beside a running gateway) may only look.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Database } from './database.ts';
import { migrationsDir } from './migration-files.ts';
import { type AppliedMigration, checkMigrated, migrate } from './migrations.ts';
import { openPostgres, type PostgresBounds, withUnboundedQueries } from './postgres.ts';
import { createSqliteDatabase } from './sqlite.ts';
import { openSqlite } from './sqlite-connection.ts';
import { createMemoryStorage, type MemoryStorage } from './sqlite-memory.ts';

export interface OpenOptions {
  /** postgres://...; absent: embedded. */
  url?: string | undefined;
  dataDir?: string | undefined;
  inMemory?: boolean | undefined;
  /** In memory only: what an earlier user left behind. */
  storage?: MemoryStorage | undefined;
  role: 'gateway' | 'reader';
  clock: Clock;
  logger: Logger;
  migrationsDir?: string | undefined;
  bounds?: PostgresBounds | undefined;
}

export async function openDatabase(options: OpenOptions): Promise<Database> {
  return (await openMigrated(options)).database;
}

/** For the command line: brings the database up to date and tells what that took. */
export async function migrateDatabase(options: Omit<OpenOptions, 'role'>): Promise<AppliedMigration[]> {
  const { database, applied } = await openMigrated({ ...options, role: 'gateway' });
  await database.close();
  return applied;
}

async function openMigrated(options: OpenOptions): Promise<{ database: Database; applied: AppliedMigration[] }> {
  const { url } = options;
  const dir = options.migrationsDir ?? migrationsDir;
  const isReader = options.role === 'reader';
  // Before the pool opens: its statements are prepared against tables that no longer change.
  const appliedFirst =
    url && !isReader ? await withUnboundedQueries({ ...options, url }, (queries) => migrate('postgres', queries, dir)) : [];
  const database = url ? await openPostgres({ ...options, url }) : connect(options);
  try {
    if (isReader) await checkMigrated(database.engine, database.queries, dir);
    const applied = url || isReader ? appliedFirst : await migrate('sqlite', database.queries, dir);
    for (const { version, name } of applied) options.logger.info({ version, name }, 'migration applied');
    return { database, applied };
  } catch (error) {
    await database.close();
    throw error;
  }
}

function connect(options: OpenOptions): Database {
  const { clock, logger } = options;
  if (options.inMemory) {
    const storage = options.storage ?? createMemoryStorage();
    const isOwn = options.storage === undefined;
    return createSqliteDatabase({
      executor: storage.connect(() => clock.now()),
      clock,
      logger,
      inFlight: () => 0,
      onClose: () => {
        if (isOwn) storage.close();
      },
    });
  }
  if (!options.dataDir) throw new Error('A database needs an address or a data directory.');
  mkdirSync(options.dataDir, { recursive: true, mode: 0o700 });
  const connection = openSqlite({
    path: join(options.dataDir, 'tillgate.db'),
    readOnly: options.role === 'reader',
    now: () => clock.now(),
  });
  const run = async <Result>(action: () => Result) => action();
  return createSqliteDatabase({
    executor: {
      run: (sql, parameters) => run(() => connection.run(sql, parameters)),
      begin: () => run(() => connection.exec('begin immediate')),
      commit: () => run(() => connection.exec('commit')),
      rollback: () => run(() => connection.exec('rollback')),
      close: async () => {},
    },
    clock,
    logger,
    inFlight: () => 0,
    onClose: () => connection.close(),
  });
}
