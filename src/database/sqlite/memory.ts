// SQLite in memory, called synchronously on the main thread: only microtasks pass, so the order of everything is fixed. For tests and the simulation.
// The storage outlives its user: opened again, it drops what the last user left open, and that user's later statements never come back,
// as after a crash.
import { openSqlite, runScript, type SqliteConnection } from './connection.ts';
import type { SqliteExecutor } from './driver.ts';
import { translateSqliteError } from './errors.ts';

export interface MemoryStorage {
  /** Takes the storage over from its last owner. */
  connect(now: () => number): SqliteExecutor;
  close(): void;
}

/** `image`: what it begins with, made by `image()` of another one. */
export function createMemoryStorage(image?: Uint8Array): MemoryStorage & { image(): Uint8Array } {
  let readNow = () => 0;
  let generation = 0;
  const connection = openSqlite({ path: ':memory:', readOnly: false, now: () => readNow() });
  if (image) connection.load(image);

  return {
    connect(now) {
      readNow = now;
      generation += 1;
      if (connection.isTransaction) connection.exec('rollback');
      const mine = generation;
      return createDirectExecutor(connection, () => mine === generation);
    },
    image: () => connection.image(),
    close: () => connection.close(),
  };
}

function createDirectExecutor(connection: SqliteConnection, isCurrent: () => boolean): SqliteExecutor {
  function attempt<Result>(action: () => Result): Promise<Result> {
    if (!isCurrent()) return new Promise(() => {});
    try {
      return Promise.resolve(action());
    } catch (error) {
      return Promise.reject(error instanceof Error ? translateSqliteError(error) : error);
    }
  }

  return {
    run: (sql, parameters) => attempt(() => connection.run(sql, parameters)),
    script: (statements) => attempt(() => runScript(connection, statements)),
    begin: () => attempt(() => connection.exec('begin immediate')),
    commit: () => attempt(() => connection.exec('commit')),
    rollback: () =>
      attempt(() => {
        if (connection.isTransaction) connection.exec('rollback');
      }),
    ping: () => attempt(() => connection.exec('select 1')),
    // The storage belongs to its creator.
    close: () => Promise.resolve(),
  };
}
