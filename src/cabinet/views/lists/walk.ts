// Keyset pagination of a long table, newest first: the next page begins at the (time, id) of the last row.
// Invariant: a page scans at most about `maxPerPage` rows, in a few short statements, so that no filter, however rare its hits, slows down a
// payment. A page may therefore be short or empty and still have a next one [D81].
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Queries } from '../../../database/database.ts';
import type { Place } from './cursor.ts';

export type Condition = RawBuilder<SqlBool>;

export interface Walkable {
  /** With its alias: `commands c`. */
  table: RawBuilder<unknown>;
  time: RawBuilder<unknown>;
  id: RawBuilder<unknown>;
}

/** One query on one index. */
export interface Lookup {
  where: Condition;
  /** The index returns rows by time. Otherwise the rows are few and sorted, in a way that keeps the planner from scanning an index by time. */
  isOrdered: boolean;
}

export interface Walk {
  /** Each with its own index; together they find all matching rows. None: there are no matching rows. */
  sources: Lookup[];
  /** Conditions of every source that its index covers. */
  walked: Condition[];
  /** Conditions that need the row. */
  sieve: Condition[];
}

export interface PageWanted {
  limit: number;
  after?: Place | undefined;
}

interface Walked {
  id: string;
  time: number;
}

/** The first query is small, because most filters match often; each further one is larger. */
const firstPerWalk = 250;
const maxPerPage = 2_000;

export async function walk(
  queries: Queries,
  rows: Walkable,
  { sources, walked, sieve }: Walk,
  page: PageWanted,
): Promise<{ ids: string[]; next: Place | undefined }> {
  if (sources.length === 0) return { ids: [], next: undefined };
  const found: Place[] = [];
  let after = page.after;
  // Each source returns as many rows, so that the newest are among them.
  const sizeOf = (total: number) => Math.max(page.limit + 1, Math.ceil(total / sources.length));
  let size = sieve.length === 0 ? page.limit + 1 : sizeOf(firstPerWalk);
  for (let seen = 0; ; size = sizeOf(Math.max(firstPerWalk, maxPerPage - seen))) {
    const statement = walkOf(rows, sources, walked, sieve, size, after);
    const { hits, last, count } = await (sieve.length === 0
      ? readAll(queries, statement)
      : look(queries, statement, page.limit + 1 - found.length));
    found.push(...hits);
    after = count < size ? undefined : last;
    seen += size * sources.length;
    if (after === undefined || found.length > page.limit || seen >= maxPerPage) break;
  }
  const shown = found.slice(0, page.limit);
  return { ids: shown.map(({ id }) => id), next: found.length > page.limit ? shown.at(-1) : after };
}

/** The `size` newest rows after the cursor, each with whether it matches. Each source returns as many: the newest of all are among them. */
function walkOf(
  { table, time, id }: Walkable,
  sources: Lookup[],
  walked: Condition[],
  sieve: Condition[],
  size: number,
  after: Place | undefined,
): RawBuilder<unknown> {
  const shared = [
    ...walked,
    // Written out instead of a row comparison: both engines can then use an index that ends with the time.
    ...(after === undefined
      ? []
      : [
          sql<SqlBool>`${time} <= cast(${after.atMs} as bigint)`,
          sql<SqlBool>`(${time} < cast(${after.atMs} as bigint) or ${id} < ${after.id})`,
        ]),
  ];
  const isHit = sieve.length === 0 ? sql`1` : sql`case when ${sql.join(sieve, sql` and `)} then 1 else 0 end`;
  const walks = sources.map(({ where, isOrdered }) => {
    const order = isOrdered ? time : sql`${time} + 0`;
    return sql`select ${id} as id, ${time} as time, ${isHit} as hit from ${table} where ${sql.join([where, ...shared], sql` and `)}
      order by ${order} desc, ${id} desc limit ${sql.lit(size)}`;
  });
  const [only] = walks;
  if (only !== undefined && walks.length === 1) return only;
  // A row that two sources find counts once.
  const union = sql.join(
    walks.map((each) => sql`select * from (${each}) as source`),
    sql` union `,
  );
  return sql`select id, time, hit from (${union}) as found order by time desc, id desc limit ${sql.lit(size)}`;
}

interface Looked {
  /** Newest first. */
  hits: Place[];
  /** The last scanned row. */
  last: Place | undefined;
  count: number;
}

async function readAll(queries: Queries, statement: RawBuilder<unknown>): Promise<Looked> {
  const { rows } = await (statement as RawBuilder<Walked>).execute(queries);
  const hits = rows.map((row) => ({ atMs: row.time, id: row.id }));
  return { hits, last: hits.at(-1), count: hits.length };
}

/** One statement: the matching rows among the scanned ones, newest first, and the last scanned row. */
async function look(queries: Queries, statement: RawBuilder<unknown>, limit: number): Promise<Looked> {
  const { rows } = await sql<Walked & { count: number }>`
    with w as materialized (${statement})
    select * from (select w.id, w.time, cast(0 as bigint) as count from w where w.hit = 1 order by w.time desc, w.id desc limit ${sql.lit(limit)}) as hits
    union all
    select * from (select w.id, w.time, (select cast(count(*) as bigint) from w) as count from w order by w.time, w.id limit 1) as last`.execute(
    queries,
  );
  const places = rows.map((row) => ({ atMs: row.time, id: row.id, count: row.count }));
  const end = places.find(({ count }) => count > 0);
  const hits = places.filter(({ count }) => count === 0).map(({ atMs, id }) => ({ atMs, id }));
  // SQL guarantees no order of a union's parts.
  hits.sort((one, other) => other.atMs - one.atMs || (one.id < other.id ? 1 : -1));
  return { hits, last: end && { atMs: end.atMs, id: end.id }, count: end?.count ?? 0 };
}
