// One SQLite in memory for several gateways at once, as one PostgreSQL would be: every gateway has a session of its own, a transaction
// locks the whole database, and the open transaction of a dead session is rolled back. Only microtasks run in between, so the order is
// fixed.
//
// At every write and every commit the session asks for faults, before and after:
//   crash ..... the process dies: this session never answers again
//   lost ...... the connection breaks: before, it was not done; after, it was done and its caller does not know
//   stall ..... the process freezes, and continues from there later
import { databaseDown } from '../src/database/errors.ts';
import { openSqlite, runScript, type SqliteConnection, type Statement, type StatementResult } from '../src/database/sqlite/connection.ts';
import { createTransactionGate, type SqliteExecutor, type TransactionGate } from '../src/database/sqlite/driver.ts';
import { translateSqliteError } from '../src/database/sqlite/errors.ts';
import type { MemoryStorage } from '../src/database/sqlite/memory.ts';
import type { Clock } from '../src/kernel/clock.ts';
import type { Standstill } from './standstill.ts';
import { besideCommands, placeOf, placeOfAll, tableOf } from './statement-places.ts';

export type When = 'before' | 'after';
export type Harm = 'crash' | 'lost' | 'stall';

export interface SessionOptions {
  standstill: Standstill;
  /** The fault of this session at this place; a crash has happened already when it says so. */
  meet(place: string, when: When): Harm | undefined;
  isDatabaseDown(): boolean;
}

export interface Session {
  /** For openDatabase, which connects to this session. */
  storage: MemoryStorage;
  /** The process is gone. */
  kill(): void;
}

export interface SharedStorage {
  session(options: SessionOptions): Session;
  /** The current content, for the checks: no session, no faults, no time. */
  peek(sql: string, parameters: readonly unknown[]): Record<string, string | number | null>[];
  /** `peek` shows changes that may be rolled back. */
  isInTransaction(): boolean;
  close(): void;
}

/** The server ends a transaction whose session is idle. */
const idleInTransactionMs = 5_000;
const forever = new Promise<never>(() => {});

interface Server {
  clock: Clock;
  connection: SqliteConnection;
  gate: TransactionGate;
}

/** `image`: the initial content. */
export function createSharedStorage(clock: Clock, image?: Uint8Array): SharedStorage {
  const connection = openSqlite({ path: ':memory:', readOnly: false, now: () => clock.now() });
  if (image) connection.load(image);
  const server: Server = { clock, connection, gate: createTransactionGate() };
  return {
    session: (options) => openSession(server, options),
    peek: (sql, parameters) => connection.run(sql, parameters).rows as ReturnType<SharedStorage['peek']>,
    isInTransaction: () => connection.isTransaction,
    close: () => connection.close(),
  };
}

function attempt<Result>(action: () => Result): Result {
  try {
    return action();
  } catch (error) {
    throw error instanceof Error ? translateSqliteError(error) : error;
  }
}

function runAll(connection: SqliteConnection, statements: readonly Statement[]): StatementResult[] {
  if (statements.length > 1) return runScript(connection, statements);
  return statements.map(({ sql, parameters }) => connection.run(sql, parameters));
}

const onlyOf = ([result]: readonly StatementResult[]) => result as StatementResult;

/** The session of one process. */
function openSession({ clock, connection, gate }: Server, options: SessionOptions): Session {
  const { standstill, meet, isDatabaseDown } = options;
  let isDead = false;
  /** The transaction of this session, if it has one: the tables it wrote to. */
  let written: Set<string> | undefined;

  function endTransaction(how: 'commit' | 'rollback'): void {
    if (!written) return;
    written = undefined;
    try {
      if (connection.isTransaction) attempt(() => connection.exec(how));
    } finally {
      gate.leave();
    }
  }

  /** It freezes; its transaction does not last that long. */
  function outlast(): Promise<void> {
    const mine = written;
    const endIfIdle = () => void (written === mine && standstill.isOn && endTransaction('rollback'));
    if (mine) clock.after(idleInTransactionMs, endIfIdle);
    return standstill.ended();
  }

  async function suffer(place: string | undefined, when: When): Promise<void> {
    if (isDead) return forever;
    if (when === 'before' && isDatabaseDown()) throw databaseDown('The database is away.');
    const harm = place === undefined ? undefined : meet(place, when);
    if (isDead || harm === 'crash') return forever;
    if (harm === 'lost') throw databaseDown('The connection to the database broke.');
    if (standstill.isOn) await outlast();
    return isDead ? forever : undefined;
  }

  async function runAlone(statements: readonly Statement[]): Promise<StatementResult[]> {
    const place = placeOfAll(statements.map(({ sql }) => sql));
    await suffer(place, 'before');
    // Executed in the same microtask in which it is admitted: no transaction is open then.
    const result = await gate.pass(async () => (isDead ? forever : attempt(() => runAll(connection, statements))));
    await suffer(place, 'after');
    return result;
  }

  async function runInTransaction(sql: string, parameters: readonly unknown[]): Promise<StatementResult> {
    const place = placeOf(sql);
    await suffer(place, 'before');
    if (!written) throw databaseDown('The transaction was ended by the server.');
    const result = attempt(() => connection.run(sql, parameters));
    if (place !== undefined && !besideCommands.has(tableOf(place))) written.add(tableOf(place));
    await suffer(place, 'after');
    return result;
  }

  async function commit(): Promise<void> {
    const tables = [...(written ?? [])].sort();
    const place = tables.length === 0 ? undefined : `commit ${tables.join(' + ')}`;
    try {
      await suffer(place, 'before');
    } catch (error) {
      endTransaction('rollback');
      throw error;
    }
    if (!written) throw databaseDown('The transaction was ended by the server.');
    endTransaction('commit');
    await suffer(place, 'after');
  }

  const executor: SqliteExecutor = {
    run: (sql, parameters, place) =>
      place === 'in-transaction' ? runInTransaction(sql, parameters) : runAlone([{ sql, parameters }]).then(onlyOf),
    script: runAlone,
    begin: () =>
      gate.enter(async () => {
        if (isDead) {
          gate.leave();
          return forever;
        }
        written = new Set();
        attempt(() => connection.exec('begin immediate'));
        if (standstill.isOn) await outlast();
      }),
    commit,
    async rollback() {
      if (isDead) return forever;
      endTransaction('rollback');
    },
    ping: async () => (isDead ? forever : undefined),
    close: async () => {}, // the storage belongs to its creator
  };

  return {
    storage: { connect: () => executor, close: () => {} },
    kill() {
      if (isDead) return;
      isDead = true;
      endTransaction('rollback');
    },
  };
}
