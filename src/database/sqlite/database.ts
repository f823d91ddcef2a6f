// SQLite as a Database: a file that a worker thread writes, or memory of this thread.
import { type CompiledQuery, Kysely } from 'kysely';
import type { Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import { atTurnsEnd } from '../../kernel/system.ts';
import type { Database, Queries } from '../database.ts';
import { databaseDown } from '../errors.ts';
import { createLocalWake } from '../local-wake.ts';
import type { Schema } from '../schema.ts';
import { createTransactionGuard } from '../transaction-guard.ts';
import { type WatchStatement, watchedDialect } from '../watched-dialect.ts';
import { createWriteCheck } from '../write-check.ts';
import { createSqliteDialect, createTransactionGate, type SqliteExecutor, type StartExecutor, type TransactionGate } from './driver.ts';
import { createSnapshot } from './snapshot.ts';

const checkAtMostMs = 5_000;

export interface SqliteDatabaseOptions {
  executor: SqliteExecutor;
  clock: Clock;
  logger: Logger;
  /** Statements run in another thread, which may hang on its disk. */
  isThreaded: boolean;
  /** Another process makes the changes. */
  isReader?: boolean;
  /** Statements that are sent and not yet answered. */
  inFlight: () => number;
  onClose: () => void;
  /** For pages, at their first statement; absent: they share `executor`. */
  startReader?: StartExecutor | undefined;
  watchStatement?: WatchStatement | undefined;
}

export function createSqliteDatabase(options: SqliteDatabaseOptions): Database {
  const { executor } = options;
  const gate = createTransactionGate();
  const guard = createTransactionGuard();
  const open = (start: StartExecutor, itsGate: TransactionGate) =>
    new Kysely<Schema>({ dialect: watchedDialect(createSqliteDialect(start, itsGate, guard), options.watchStatement) });
  const queries = open(async () => executor, gate);
  const pages = options.startReader ? open(options.startReader, createTransactionGate()) : queries;
  const local = createLocalWake(options.logger);
  let closing: Promise<void> | undefined;

  async function close() {
    await pages.destroy();
    await queries.destroy();
    await executor.close();
    options.onClose();
  }

  const checkWrite = createWriteCheck(queries);

  async function transaction<Result>(work: (tx: Queries) => Promise<Result>): Promise<Result> {
    guard.checkOutside();
    return await queries.transaction().execute((tx) => guard.run(() => work(tx)));
  }

  async function inOneGo(statements: readonly CompiledQuery[]) {
    guard.checkOutside();
    const run = () => gate.pass(() => executor.script(statements));
    // The watcher gets one text for all: they run in one round trip and at one time of the clock.
    const text = () => statements.map(({ sql }) => sql).join('; ');
    const results = await (options.watchStatement ? options.watchStatement(text(), run) : run());
    return results.map(({ rows }) => rows);
  }

  return {
    engine: 'sqlite',
    queries,
    pages,
    transaction,
    inOneGo,
    snapshot: createSnapshot({ isReader: options.isReader === true, inOneGo, transaction }),
    wake: (topic, detail = '') => local.wake(topic, detail),
    hint: (topic, detail = '') => local.wake(topic, detail),
    setAlone() {},
    soon: options.isThreaded ? atTurnsEnd : (action) => action(),
    onWake: (topic, listener) => local.onWake(topic, listener),
    checkWrite: () => (options.isThreaded ? withinBound(options.clock, checkWrite()) : checkWrite()),
    load() {
      const isBusy = gate.isTaken || options.inFlight() > 0;
      return { busy: isBusy ? 1 : 0, idle: isBusy ? 0 : 1, waiting: gate.waiting };
    },
    close() {
      closing ??= close();
      return closing;
    },
  };
}

function withinBound(clock: Clock, work: Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(checkAtMostMs, () => reject(databaseDown('The database file does not answer.')));
    work.then(resolve, reject).finally(cancel);
  });
}
