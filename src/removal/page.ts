// What every kind of removable thing has in common: it is read in pages from the oldest on, looked at, and removed one by one.
import { type RawBuilder, sql } from 'kysely';
import type { Database, Queries } from '../database/database.ts';

const dayMs = 24 * 3_600_000;

/** A thing with the time that its age counts from; both together say how far the reading has come. */
export interface Aged {
  id: string;
  atMs: number;
}

export interface Removable {
  what: string;
  /** The next ones that are old enough, after the last one that was read. Short, however many of those before must be kept. */
  page(queries: Queries, keepDays: number, after: Aged | undefined, limit: number): Promise<Aged[]>;
  /** Those of them that nothing kept still needs. */
  filter(queries: Queries, ids: readonly string[]): Promise<string[]>;
  /** In one transaction that looks again; false when it must stay, or was removed already. */
  remove(database: Database, id: string): Promise<boolean>;
}

/** By the database's clock, asked once a statement so that an index on times can be searched. */
export function oldestAllowed(keepDays: number): RawBuilder<number> {
  return sql<number>`(select now_ms() - ${sql.lit(keepDays * dayMs)})`;
}
