// Kysely's driver for SQLite. Statements outside a transaction are sent at once, many in parallel; a transaction has exclusive access:
// while it is open, all others wait in the order of arrival. The executor runs requests in the order of its calls.
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type LimitNode,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  ValueNode,
} from 'kysely';
import type { TransactionGuard } from '../transaction-guard.ts';
import type { Statement, StatementResult } from './connection.ts';

export type Place = 'alone' | 'in-transaction';

export interface SqliteExecutor {
  run(sql: string, parameters: readonly unknown[], place: Place): Promise<StatementResult>;
  /** All in one transaction of their own, at one time of the clock. */
  script(statements: readonly Statement[]): Promise<StatementResult[]>;
  begin(): Promise<void>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
  /** At any time, also while a transaction is open. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export type StartExecutor = () => Promise<SqliteExecutor>;

export type TransactionGate = ReturnType<typeof createTransactionGate>;

/** Admits statements until a transaction takes the database; an admitted action starts synchronously. */
export function createTransactionGate() {
  let isTaken = false;
  const queue: { takes: boolean; start: () => void }[] = [];

  function admit<Result>(takes: boolean, action: () => Promise<Result>): Promise<Result> {
    if (!isTaken && queue.length === 0) {
      isTaken = takes;
      return action();
    }
    return new Promise<Result>((resolve, reject) => {
      queue.push({ takes, start: () => action().then(resolve, reject) });
    });
  }

  return {
    pass: <Result>(action: () => Promise<Result>) => admit(false, action),
    enter: (action: () => Promise<void>) => admit(true, action),
    leave(): void {
      isTaken = false;
      while (!isTaken) {
        const next = queue.shift();
        if (!next) return;
        isTaken = next.takes;
        next.start();
      }
    },
    get isTaken() {
      return isTaken;
    },
    get waiting() {
      return queue.length;
    },
  };
}

class SqliteDriverConnection implements DatabaseConnection {
  readonly #executor: SqliteExecutor;
  readonly #gate: TransactionGate;
  holdsGate = false;

  constructor(executor: SqliteExecutor, gate: TransactionGate) {
    this.#executor = executor;
    this.#gate = gate;
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const { rows, changes } = await (this.holdsGate
      ? this.#executor.run(query.sql, query.parameters, 'in-transaction')
      : this.#gate.pass(() => this.#executor.run(query.sql, query.parameters, 'alone')));
    return changes === undefined ? { rows: rows as Row[] } : { rows: rows as Row[], numAffectedRows: BigInt(changes) };
  }

  // Required by the interface; unused.
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error('Streaming is not supported: read in pages.');
  }
}

class SqliteDriver implements Driver {
  readonly #start: StartExecutor;
  readonly #gate: TransactionGate;
  readonly #guard: TransactionGuard;
  #started: SqliteExecutor | undefined;

  constructor(start: StartExecutor, gate: TransactionGate, guard: TransactionGuard) {
    this.#start = start;
    this.#gate = gate;
    this.#guard = guard;
  }

  get #executor(): SqliteExecutor {
    if (this.#started === undefined) throw new Error('Kysely calls init first.');
    return this.#started;
  }

  /** Kysely calls it before the first statement; again if it failed. */
  async init(): Promise<void> {
    this.#started = await this.#start();
  }

  async acquireConnection(): Promise<SqliteDriverConnection> {
    this.#guard.checkOutside();
    return new SqliteDriverConnection(this.#executor, this.#gate);
  }

  async beginTransaction(connection: SqliteDriverConnection): Promise<void> {
    await this.#gate.enter(() => {
      connection.holdsGate = true;
      return this.#executor.begin();
    });
  }

  async commitTransaction(): Promise<void> {
    await this.#executor.commit();
  }

  async rollbackTransaction(): Promise<void> {
    await this.#executor.rollback();
  }

  async releaseConnection(connection: SqliteDriverConnection): Promise<void> {
    if (!connection.holdsGate) return;
    connection.holdsGate = false;
    this.#gate.leave();
  }

  async destroy(): Promise<void> {
    await this.#executor.close();
  }
}

class PipeliningAdapter extends SqliteAdapter {
  // Otherwise Kysely would run one statement at a time.
  override get supportsMultipleConnections(): true {
    return true;
  }
}

/** Limits as literals: SQLite plans by the value bound to `limit ?`, and discards the plan when another value is bound. */
class LiteralLimitCompiler extends SqliteQueryCompiler {
  protected override visitLimit(node: LimitNode): void {
    const value = ValueNode.is(node.limit) ? node.limit.value : undefined;
    if (typeof value !== 'number' || !Number.isSafeInteger(value)) return super.visitLimit(node);
    this.append(`limit ${value}`);
  }
}

export function createSqliteDialect(start: StartExecutor, gate: TransactionGate, guard: TransactionGuard): Dialect {
  return {
    createAdapter: () => new PipeliningAdapter(),
    createDriver: () => new SqliteDriver(start, gate, guard),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new LiteralLimitCompiler(),
  };
}
