// SQLite in memory, called synchronously on the main thread: only microtasks run in between, so the order is deterministic. For tests and
// the simulation. The storage outlives its user: connecting again rolls back the last user's open transaction, and later statements of that
// user never return, as after a crash.
import { openSqlite, runScript, type SqliteConnection } from './connection.ts';
import type { SqliteExecutor } from './driver.ts';
import { translateSqliteError } from './errors.ts';

export interface MemoryStorage {
  /** Takes the storage over from its last user. */
  connect(now: () => number): SqliteExecutor;
  close(): void;
}

/** `image`: the initial content, from `image()` of another storage. */
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
    // Closed by its creator.
    close: () => Promise.resolve(),
  };
}
