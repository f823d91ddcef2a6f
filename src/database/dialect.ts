// The few differences between the engines that stores must handle. Everything else in a store is plain Kysely that runs on both.
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';

export type Engine = 'sqlite' | 'postgres';

/** One value per engine, for example a statement whose text differs. */
export function forEachEngine<Made>(make: (engine: Engine) => Made): Record<Engine, Made> {
  return { sqlite: make('sqlite'), postgres: make('postgres') };
}

/** The database's own clock in milliseconds: the time of the statement on both engines, not of the transaction. */
export const nowMs: RawBuilder<number> = sql<number>`now_ms()`;

/** Locks the rows until the transaction ends. SQLite needs no lock: its transactions run one at a time. */
export function lockRows<DB, TB extends keyof DB, O>(engine: Engine, query: SelectQueryBuilder<DB, TB, O>): SelectQueryBuilder<DB, TB, O> {
  return engine === 'postgres' ? query.forUpdate() : query;
}

/** Like lockRows, but skips rows that another transaction has locked: for claiming work that several instances share. */
export function skipLocked<DB, TB extends keyof DB, O>(
  engine: Engine,
  query: SelectQueryBuilder<DB, TB, O>,
): SelectQueryBuilder<DB, TB, O> {
  return engine === 'postgres' ? query.forUpdate().skipLocked() : query;
}
