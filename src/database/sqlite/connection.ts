// One synchronous SQLite connection: exact binding of values, a cache of prepared statements, the clock as a function of the connection.
// Independent of threads: the worker and the in-memory engine both use it.
import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { BoundedMap } from '../../kernel/bounded-map.ts';
import { GuardFailed } from '../errors.ts';
import { toBindable } from '../values.ts';

export interface StatementResult {
  rows: Record<string, unknown>[];
  changes: number | undefined;
}

export interface Statement {
  sql: string;
  parameters: readonly unknown[];
}

export interface SqliteConnection {
  run(sql: string, parameters: readonly unknown[]): StatementResult;
  exec(sql: string): void;
  /** SQLite itself ends a transaction after some errors (for example a full disk): check after each failure. */
  readonly isTransaction: boolean;
  readonly isReadOnly: boolean;
  close(): void;
}

/** Saves and restores the whole database as bytes. */
interface Imaged {
  image(): Uint8Array;
  load(image: Uint8Array): void;
}

interface Prepared {
  statement: StatementSync;
  /** Names of the returned columns, in order. */
  columns: readonly string[];
}

const maxPrepared = 500;
const busyTimeoutMs = 5_000;
/**
 * The commit that reaches this size of the write-ahead log runs the checkpoint before any call is answered. A command writes about twenty
 * pages: with SQLite's default of a thousand, one command in fifty waits for that. A larger log also writes a page back once for several
 * changes.
 */
const pagesOfLog = 4_000;
/** A busy day's tables and indexes, so that few pages are read twice. */
const cacheKib = 16_384;

export interface SqliteOptions {
  path: string;
  readOnly: boolean;
  /** The value of now_ms(). */
  now: () => number;
}

export function openSqlite(options: SqliteOptions): SqliteConnection & Imaged {
  const database = new DatabaseSync(options.path, {
    readOnly: options.readOnly,
    enableForeignKeyConstraints: true,
    timeout: busyTimeoutMs,
  });
  database.function('must', { deterministic: false }, (isSo) => {
    if (Number(isSo) !== 1) throw new GuardFailed();
    return 1;
  });
  database.function('now_ms', { deterministic: false }, () => BigInt(Math.floor(options.now())));
  if (!options.readOnly) {
    if (options.path !== ':memory:') database.exec('pragma journal_mode = wal');
    database.exec('pragma synchronous = full');
    database.exec(`pragma wal_autocheckpoint = ${pagesOfLog}`);
  }
  // Sorted rows and statement journals in memory, not in a file: they are needed only while this process lives.
  database.exec('pragma temp_store = memory');
  database.exec(`pragma cache_size = ${-cacheKib}`);
  const prepared = new BoundedMap<string, Prepared>(maxPrepared);

  function prepare(sql: string): Prepared {
    const known = prepared.get(sql);
    if (known) return known;
    const statement = database.prepare(sql);
    const columns = statement.columns().map(({ name }) => name);
    statement.setReturnArrays(true);
    const fresh = { statement, columns };
    prepared.set(sql, fresh);
    return fresh;
  }

  return {
    run(sql, parameters) {
      const { statement, columns } = prepare(sql);
      const values = parameters.map(toSqliteValue);
      if (columns.length > 0) {
        const rows = statement.all(...values) as unknown as SQLOutputValue[][];
        return { rows: rows.map((row) => named(columns, row)), changes: undefined };
      }
      return { rows: [], changes: Number(statement.run(...values).changes) };
    },
    exec: (sql) => database.exec(sql),
    get isTransaction() {
      return database.isTransaction;
    },
    isReadOnly: options.readOnly,
    image: () => database.serialize(),
    load: (image) => database.deserialize(image),
    close: () => database.close(),
  };
}

/** The driver's objects have no prototype and are slow to create and read: from arrays it takes a third of the time. */
function named(columns: readonly string[], values: readonly SQLOutputValue[]): Record<string, unknown> {
  const row: Record<string, unknown> = {};
  for (let at = 0; at < columns.length; at += 1) row[columns[at] as string] = values[at];
  return row;
}

/** A JavaScript number binds as REAL; as a BigInt it stays an integer. */
function toSqliteValue(value: unknown): null | string | number | bigint | Uint8Array {
  const bindable = toBindable(value);
  return typeof bindable === 'number' && Number.isInteger(bindable) ? BigInt(bindable) : bindable;
}

/** All or nothing, outside any transaction. */
export function runScript(connection: SqliteConnection, statements: readonly Statement[]): StatementResult[] {
  connection.exec('begin immediate');
  try {
    const results = statements.map(({ sql, parameters }) => connection.run(sql, parameters));
    connection.exec('commit');
    return results;
  } catch (error) {
    // SQLite itself may have ended it.
    if (connection.isTransaction) connection.exec('rollback');
    throw error;
  }
}
