// Opens the configured database: PostgreSQL by its address, a file in the data directory, or memory.
// A gateway migrates it first; a reader (the command line beside a running gateway) may only read.
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../kernel/clock.ts';
import { GatewayError } from '../kernel/error-codes.ts';
import type { Logger } from '../kernel/logger.ts';
import { systemSentence } from '../kernel/system-errors.ts';
import type { Database } from './database.ts';
import { databaseDown } from './errors.ts';
import { refuseFiles } from './file-access.ts';
import { migrationsDir } from './migration-files.ts';
import { type AppliedMigration, checkMigrated, migrate } from './migrations.ts';
import { openPostgres, type PostgresBounds, withUnboundedQueries } from './postgres/database.ts';
import { createSqliteDatabase } from './sqlite/database.ts';
import { takeGatewayLock } from './sqlite/lock.ts';
import { createMemoryStorage, type MemoryStorage } from './sqlite/memory.ts';
import { startSqliteWorker, type WorkerExecutor } from './sqlite/worker-link.ts';
import type { WatchStatement } from './watched-dialect.ts';

export interface OpenOptions {
  /** postgres://...; absent: embedded. */
  url?: string | undefined;
  dataDir?: string | undefined;
  inMemory?: boolean | undefined;
  /** In memory only: the storage of an earlier user. */
  storage?: MemoryStorage | undefined;
  role: 'gateway' | 'reader';
  clock: Clock;
  logger: Logger;
  migrationsDir?: string | undefined;
  /** This process cannot use the database any more (the thread that writes the file has ended): only a new process can. */
  onLost?: ((error: Error) => void) | undefined;
  bounds?: PostgresBounds | undefined;
  /** Wraps every statement, for traces. */
  watchStatement?: WatchStatement | undefined;
}

export async function openDatabase(options: OpenOptions): Promise<Database> {
  return (await openMigrated(options).catch(explain)).database;
}

/** Read-only, without a check of the migrations: for diagnosis. */
export async function connectReader(options: Omit<OpenOptions, 'role'>): Promise<Database> {
  return await connect({ ...options, role: 'reader' });
}

/** For the command line: migrates the database and returns the applied migrations. */
export async function migrateDatabase(options: Omit<OpenOptions, 'role'>): Promise<AppliedMigration[]> {
  const { database, applied } = await openMigrated({ ...options, role: 'gateway' }).catch(explain);
  await database.close();
  return applied;
}

/** At the start, the operator reads the message, so it includes the cause, which API callers must not see. */
function explain(error: unknown): never {
  if (!(error instanceof GatewayError) || !(error.cause instanceof Error)) throw error;
  throw databaseDown(`${error.message} ${systemSentence(error.cause) ?? error.cause.message}`, error.cause);
}

async function openMigrated(options: OpenOptions): Promise<{ database: Database; applied: AppliedMigration[] }> {
  const { url } = options;
  const dir = options.migrationsDir ?? migrationsDir;
  const isReader = options.role === 'reader';
  // Before the pool opens, so that its statements are prepared against the final tables.
  const appliedFirst =
    url && !isReader ? await withUnboundedQueries({ ...options, url }, (queries) => migrate('postgres', queries, dir, options.logger)) : [];
  const database = await connect(options);
  try {
    if (isReader) await checkMigrated(database.engine, database.queries, dir);
    const applied = url || isReader ? appliedFirst : await migrate('sqlite', database.queries, dir, options.logger);
    for (const { version, name } of applied) options.logger.info({ version, name }, 'migration applied');
    return { database, applied };
  } catch (error) {
    await database.close();
    throw error;
  }
}

function connect(options: OpenOptions): Database | Promise<Database> {
  if (options.url) return openPostgres({ ...options, url: options.url });
  if (options.inMemory) return openMemory(options);
  if (options.dataDir) return openFile(options, options.dataDir);
  throw new Error('A database needs an address or a data directory.');
}

function openMemory({ clock, logger, storage: given, watchStatement }: OpenOptions): Database {
  const storage = given ?? createMemoryStorage();
  return createSqliteDatabase({
    executor: storage.connect(() => clock.now()),
    clock,
    logger,
    isThreaded: false,
    inFlight: () => 0,
    onClose() {
      if (!given) storage.close();
    },
    watchStatement,
  });
}

/** It contains secrets, so no other user may read it. A directory that existed before (/tmp, a home) keeps its mode, with a warning. */
function ensurePrivate(dataDir: string, databasePath: string, logger: Logger): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  if ((statSync(dataDir).mode & 0o077) === 0) return;
  try {
    if (!existsSync(databasePath)) throw new Error('it was there before Tillgate');
    chmodSync(dataDir, 0o700);
  } catch (error) {
    logger.warn({ dataDir, err: error }, 'other users of this machine can read the data directory; run chmod 700 on it');
  }
}

async function openFile({ clock, logger, role, onLost, watchStatement }: OpenOptions, dataDir: string): Promise<Database> {
  const path = join(dataDir, 'tillgate.db');
  const readOnly = role === 'reader';
  refuseFiles(dataDir, role);
  if (!readOnly) ensurePrivate(dataDir, path, logger);
  const lock = readOnly ? undefined : takeGatewayLock(dataDir, clock.now());
  try {
    // The file contains secrets; SQLite's side files get the same mode.
    if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
    const start = (isReader: boolean) => startSqliteWorker({ path, readOnly: isReader }, clock, (error) => onLost?.(error));
    const executor = await start(readOnly);
    let reader: WorkerExecutor | undefined;
    const startReader = async () => (reader = await start(true));
    return createSqliteDatabase({
      executor,
      clock,
      logger,
      isThreaded: true,
      isReader: readOnly,
      inFlight: () => executor.inFlight + (reader?.inFlight ?? 0),
      onClose: () => lock?.release(),
      startReader: readOnly ? undefined : startReader,
      watchStatement,
    });
  } catch (error) {
    lock?.release();
    throw error;
  }
}
