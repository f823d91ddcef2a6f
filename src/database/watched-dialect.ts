// A dialect that passes every statement to a watcher, for traces. Without a watcher, the dialect itself is used.
// The watcher gets the statement's text, without values, and must call `run` at once and exactly once.
import type { CompiledQuery, DatabaseConnection, Dialect, Driver, QueryResult, TransactionSettings } from 'kysely';

export type WatchStatement = <Result>(statement: string, run: () => Promise<Result>) => Promise<Result>;

export function watchedDialect(dialect: Dialect, watch: WatchStatement | undefined): Dialect {
  if (watch === undefined) return dialect;
  return {
    createAdapter: () => dialect.createAdapter(),
    createDriver: () => new WatchedDriver(dialect.createDriver(), watch),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
  };
}

class WatchedConnection implements DatabaseConnection {
  readonly inner: DatabaseConnection;
  readonly #watch: WatchStatement;

  constructor(inner: DatabaseConnection, watch: WatchStatement) {
    this.inner = inner;
    this.#watch = watch;
  }

  executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    return this.#watch(query.sql, () => this.inner.executeQuery<Row>(query));
  }

  streamQuery<Row>(query: CompiledQuery, chunkSize: number): AsyncIterableIterator<QueryResult<Row>> {
    return this.inner.streamQuery<Row>(query, chunkSize);
  }
}

class WatchedDriver implements Driver {
  readonly #inner: Driver;
  readonly #watch: WatchStatement;

  constructor(inner: Driver, watch: WatchStatement) {
    this.#inner = inner;
    this.#watch = watch;
  }

  init(): Promise<void> {
    return this.#inner.init();
  }

  async acquireConnection(): Promise<WatchedConnection> {
    return new WatchedConnection(await this.#inner.acquireConnection(), this.#watch);
  }

  beginTransaction({ inner }: WatchedConnection, settings: TransactionSettings): Promise<void> {
    return this.#watch('begin', () => this.#inner.beginTransaction(inner, settings));
  }

  commitTransaction({ inner }: WatchedConnection): Promise<void> {
    return this.#watch('commit', () => this.#inner.commitTransaction(inner));
  }

  rollbackTransaction({ inner }: WatchedConnection): Promise<void> {
    return this.#watch('rollback', () => this.#inner.rollbackTransaction(inner));
  }

  releaseConnection({ inner }: WatchedConnection): Promise<void> {
    return this.#inner.releaseConnection(inner);
  }

  destroy(): Promise<void> {
    return this.#inner.destroy();
  }
}
