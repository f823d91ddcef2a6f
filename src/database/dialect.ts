// The few places where the two engines differ and a store has to say so.
// Everything else in a store is plain Kysely that runs on both.
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';

export type Engine = 'sqlite' | 'postgres';

/** What is made for each engine by itself: a statement whose text differs, for example. */
export function forEachEngine<Made>(make: (engine: Engine) => Made): Record<Engine, Made> {
  return { sqlite: make('sqlite'), postgres: make('postgres') };
}

/** The database's own clock in milliseconds: of the statement on both engines, not of the transaction. */
export const nowMs: RawBuilder<number> = sql<number>`now_ms()`;

/** Holds the rows until the transaction ends. SQLite needs nothing: its transactions run one at a time. */
export function lockRows<DB, TB extends keyof DB, O>(engine: Engine, query: SelectQueryBuilder<DB, TB, O>): SelectQueryBuilder<DB, TB, O> {
  return engine === 'postgres' ? query.forUpdate() : query;
}

/** As lockRows, passing over rows that another transaction holds: for claiming work that several instances share. */
export function skipLocked<DB, TB extends keyof DB, O>(
  engine: Engine,
  query: SelectQueryBuilder<DB, TB, O>,
): SelectQueryBuilder<DB, TB, O> {
  return engine === 'postgres' ? query.forUpdate().skipLocked() : query;
}
