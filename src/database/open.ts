// Opens the configured database: PostgreSQL by its address, a file in the data directory, or memory.
// A gateway brings it up to date first; a reader (the command line beside a running gateway) may only look.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Database } from './database.ts';
import { migrationsDir } from './migration-files.ts';
import { type AppliedMigration, checkMigrated, migrate } from './migrations.ts';
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
}

export async function openDatabase(options: OpenOptions): Promise<Database> {
  const database = connect(options);
  try {
    await prepare(database, options);
  } catch (error) {
    await database.close();
    throw error;
  }
  return database;
}

async function prepare(database: Database, options: OpenOptions): Promise<AppliedMigration[]> {
  const dir = options.migrationsDir ?? migrationsDir;
  if (options.role === 'reader') {
    await checkMigrated(database.engine, database.queries, dir);
    return [];
  }
  const applied = await migrate(database.engine, database.queries, dir);
  for (const { version, name } of applied) options.logger.info({ version, name }, 'migration applied');
  return applied;
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
