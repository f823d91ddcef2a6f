// The interface of every kind of removable record: read in pages, oldest first, then checked and removed one by one.
import { type RawBuilder, sql } from 'kysely';
import type { Database, Queries } from '../database/database.ts';

const dayMs = 24 * 3_600_000;

/** A record with the start of its age; both together are the cursor of the pages. */
export interface Aged {
  id: string;
  atMs: number;
}

export interface Removable {
  what: string;
  /** The next records that are old enough, after the cursor. Fast, however many earlier ones must be kept. */
  page(queries: Queries, keepDays: number, after: Aged | undefined, limit: number): Promise<Aged[]>;
  /** Those that no kept record needs. */
  filter(queries: Queries, ids: readonly string[], keepDays?: number): Promise<string[]>;
  /** In one transaction that checks again; false: it must stay, or was removed already. `atMs`: of its page. */
  remove(database: Database, id: string, atMs?: number): Promise<boolean>;
}

/** Pages of rows by a time column and the id; `isCandidate`: a further condition of an index. */
export function pagesBy(table: string, time: string, id: string, { isNumber = false, isCandidate = sql`true` } = {}): Removable['page'] {
  // With the table: `order by` prefers a column of the result, and texts of numbers have another order.
  const [at, key] = [sql.ref(`${table}.${time}`), sql.ref(`${table}.${id}`)];
  return async (queries, keepDays, after, limit) => {
    const next =
      after === undefined
        ? sql`true`
        : sql`(${at}, ${key}) > (cast(${after.atMs} as bigint), ${isNumber ? sql`cast(${after.id} as bigint)` : after.id})`;
    const { rows } = await sql<Aged>`
      select ${isNumber ? sql`cast(${key} as text)` : key} as "id", ${at} as "atMs" from ${sql.table(table)}
      where ${isCandidate} and ${at} <= ${oldestAllowed(keepDays)} and ${next} order by ${at}, ${key} limit ${sql.lit(limit)}`.execute(
      queries,
    );
    return rows;
  };
}

/** By the database's clock, evaluated once per statement so that an index on times can be used. */
export function oldestAllowed(keepDays: number): RawBuilder<number> {
  return sql<number>`(select now_ms() - ${sql.lit(keepDays * dayMs)})`;
}
