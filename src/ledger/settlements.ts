// When each command was settled, in a table of its own, so that no index of `commands` changes with a settlement [D240]. The search, the
// summed hours and the removal read on in it. One row per settled command, which goes when the command
// is removed, and a further one for each report that the device sends after it.
import { type RawBuilder, sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import { operationOf } from '../kernel/operations.ts';
import type { Command } from './command.ts';

/** Settled later than this after it was issued, a command changes an hour whose figures may have been summed. */
export const lateAfterMs = 15 * 60_000;

/** It never stands in a settlement's way. `rows`: `new` as the settlement was given, joined with `settled` as the command stands after it. */
export function recording(rows: RawBuilder<unknown>): RawBuilder<unknown> {
  const hasFailed = sql`"new"."state" in ('refused', 'never')`;
  return sql`insert into "settlements" ("settled_at", "command_id", "failed_merchant_id", "failed_issued_at", "changes_past")
    select "settled"."settled_at", "new"."id", case when ${hasFailed} then "new"."merchant_id" end,
      case when ${hasFailed} then "settled"."issued_at" end,
      case when "new"."voids" = 1 or "settled"."settled_at" - "settled"."issued_at" > ${sql.lit(lateAfterMs)} then 1 end
    from ${rows} where 1 = 1 on conflict do nothing`;
}

/** Of a command that was settled outside of a batch, or once more. In the transaction that settles it. */
export async function recordSettlement(queries: Queries, command: Command, before?: Command): Promise<void> {
  const { id, settledAtMs, merchantId, state } = command;
  if (settledAtMs === null) return;
  if (before) await forgetSettlement(queries, before);
  const given = sql`select cast(${id} as text) as "id", cast(${merchantId} as text) as "merchant_id", cast(${state} as text) as "state",
    cast(${isVoid(command)} as bigint) as "voids"`;
  await recording(sql`(${given}) as "new" join "commands" as "settled" on "settled"."id" = "new"."id"`).execute(queries);
}

/** As it is given to `recording`. */
export function isVoid({ name }: Pick<Command, 'name'>): 0 | 1 {
  return operationOf(name).effect === 'void' ? 1 : 0;
}

/** A report of the device came after the settlement, with its numbers: the search reads the command once more. */
export async function recordReport(queries: Queries, { id }: Command): Promise<void> {
  await queries
    .insertInto('settlements')
    .values({ settled_at: nowMs, command_id: id })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

export async function forgetSettlement(queries: Queries, { id, settledAtMs }: Command): Promise<void> {
  await queries.deleteFrom('settlements').where('settled_at', '=', settledAtMs).where('command_id', '=', id).execute();
}
