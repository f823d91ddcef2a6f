// The number of rows of a list and the sum of their amounts, over the rows that the list would scan, up to a bound, so that no filter sums a
// whole ledger.
import { sql } from 'kysely';
import type { Queries } from '../../../database/database.ts';
import { moneySql } from '../money-sql.ts';
import type { Scope } from '../scope.ts';
import { outgoingNames } from '../shown-state.ts';
import type { CommandFilter } from './command-filter.ts';
import { readPlan } from './commands-list.ts';

const maxWalked = 20_000;
const signedBani = sql`case when c.name in (${sql.join(outgoingNames.map((name) => sql.lit(name)))}) then -c.amount_bani else c.amount_bani end`;

/** `done…`: commands done and not voided; refunds and payouts count negative. `isCut`: there are more rows; the figures cover the newest. */
export async function totalOfCommands(queries: Queries, scope: Scope, filter: CommandFilter) {
  const { sources, walked, sieve } = await readPlan(queries, scope, filter);
  if (sources.length === 0) return { count: 0, doneCount: 0, doneBani: 0, isCut: false };
  const isHit = sieve.length === 0 ? sql`1` : sql`case when ${sql.join(sieve, sql` and `)} then 1 else 0 end`;
  const walks = sources.map(
    ({ where, isOrdered }) =>
      sql`select * from (select c.id as id, ${isHit} as hit, ${signedBani} as bani,
        case when ${moneySql().of('c').keepsMoney} then 1 else 0 end as done
        from commands c where ${sql.join([where, ...walked], sql` and `)} order by ${isOrdered ? sql`c.issued_at` : sql`c.issued_at + 0`} desc, c.id desc
        limit ${sql.lit(maxWalked)}) as source`,
  );
  const { rows } = await sql<{ walked: number; count: number; doneCount: number; doneBani: number }>`
    select cast(count(*) as bigint) as "walked", cast(coalesce(sum(w.hit), 0) as bigint) as "count",
      cast(coalesce(sum(w.hit * w.done), 0) as bigint) as "doneCount",
      cast(coalesce(sum(w.hit * w.done * coalesce(w.bani, 0)), 0) as bigint) as "doneBani"
    from (${sql.join(walks, sql` union `)}) as w`.execute(queries);
  const { walked: seen = 0, count = 0, doneCount = 0, doneBani = 0 } = rows[0] ?? {};
  return { count, doneCount, doneBani, isCut: seen >= maxWalked };
}
