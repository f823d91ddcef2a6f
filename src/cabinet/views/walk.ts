// Walking a long table newest first, by keyset: (time, id) of the last row shown is where the next page begins.
// Always holds: one statement looks at no more than `maxPerWalk` rows of one index, so that no filter, however rare its hits, keeps the
// database from a payment; a page may therefore be short and still have a next one [D81].
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Queries } from '../../database/database.ts';
import type { Place } from './cursor.ts';

export type Condition = RawBuilder<SqlBool>;

export interface Walkable {
  /** With its alias: `commands c`. */
  table: RawBuilder<unknown>;
  time: RawBuilder<unknown>;
  id: RawBuilder<unknown>;
}

/** One look into one index. */
export interface Lookup {
  where: Condition;
  /** The index gives its rows in the order of time. Otherwise they are few, and sorted: the order must not tempt an engine to walk by time. */
  isOrdered: boolean;
}

export interface Walk {
  /** Each with an index of its own; together they find all that is wanted. None: there is nothing to find. */
  sources: Lookup[];
  /** What holds for every source and its index knows. */
  walked: Condition[];
  /** What only the row itself tells. */
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

const maxPerWalk = 2_000;
const walksPerPage = 50;

export async function walk(
  queries: Queries,
  rows: Walkable,
  { sources, walked, sieve }: Walk,
  page: PageWanted,
): Promise<{ ids: string[]; next: Place | undefined }> {
  const found: Place[] = [];
  let after = page.after;
  for (let walks = 0; walks < walksPerPage && sources.length > 0; walks += 1) {
    const wanted = page.limit + 1 - found.length;
    const size = sieve.length === 0 ? wanted : Math.ceil(maxPerWalk / sources.length);
    const statement = walkOf(rows, sources, walked, size, after);
    found.push(...(await sieved(queries, rows, statement, sieve, wanted)));
    after = found.length > page.limit || sieve.length === 0 ? undefined : await endOf(queries, statement, size);
    if (after === undefined) break;
  }
  const shown = found.slice(0, page.limit);
  return { ids: shown.map(({ id }) => id), next: found.length > page.limit ? shown.at(-1) : after };
}

/** The `size` newest rows after the place. Each source gives as many: the newest of all are among them. */
function walkOf({ table, time, id }: Walkable, sources: Lookup[], walked: Condition[], size: number, after?: Place): RawBuilder<Walked> {
  const shared = [
    ...walked,
    // Written out rather than as a comparison of rows: an index that ends with the time serves it on both engines.
    ...(after === undefined
      ? []
      : [
          sql<SqlBool>`${time} <= cast(${after.atMs} as bigint)`,
          sql<SqlBool>`(${time} < cast(${after.atMs} as bigint) or ${id} < ${after.id})`,
        ]),
  ];
  const walks = sources.map(({ where, isOrdered }) => {
    const order = isOrdered ? time : sql`${time} + 0`;
    return sql<Walked>`select ${id} as id, ${time} as time from ${table} where ${sql.join([where, ...shared], sql` and `)}
      order by ${order} desc, ${id} desc limit ${sql.lit(size)}`;
  });
  const [only] = walks;
  if (only !== undefined && walks.length === 1) return only;
  // A row that two sources find counts once.
  const union = sql.join(
    walks.map((each) => sql`select * from (${each}) as source`),
    sql` union `,
  );
  return sql<Walked>`select id, time from (${union}) as found order by time desc, id desc limit ${sql.lit(size)}`;
}

async function sieved(
  queries: Queries,
  { table, id }: Walkable,
  statement: RawBuilder<Walked>,
  sieve: Condition[],
  limit: number,
): Promise<Place[]> {
  const whole =
    sieve.length === 0
      ? statement
      : sql<Walked>`select w.id, w.time from (${statement}) as w join ${table} on ${id} = w.id
          where ${sql.join(sieve, sql` and `)} order by w.time desc, w.id desc limit ${sql.lit(limit)}`;
  const { rows } = await whole.execute(queries);
  return rows.map((row) => ({ atMs: row.time, id: row.id }));
}

/** The last row that was walked, if the walk was cut there. */
async function endOf(queries: Queries, statement: RawBuilder<Walked>, size: number): Promise<Place | undefined> {
  const { rows } = await sql<Walked & { count: number }>`
    select w.id, w.time, cast(count(*) over () as bigint) as count from (${statement}) as w order by w.time, w.id limit 1`.execute(queries);
  const [last] = rows;
  return last !== undefined && last.count >= size ? { atMs: last.time, id: last.id } : undefined;
}
