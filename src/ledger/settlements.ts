// When each command was settled, in a table of its own, so that a settlement changes no index of `commands` [D240]. The search, the hourly
// sums and the removal read it from where they stopped. One row per settled command, deleted with the command, and another row for each
// report that the device sends after the settlement.
import { type RawBuilder, sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import { operationOf } from '../kernel/operations.ts';
import type { Command } from './command.ts';

/** A command that is settled later than this after its issue changes an hour that may have been summed already. */
export const lateAfterMs = 15 * 60_000;

/** Never fails a settlement. `rows`: `new`, the given settlement, joined with `settled`, the command after it. */
export function recording(rows: RawBuilder<unknown>): RawBuilder<unknown> {
  const hasFailed = sql`"new"."state" in ('refused', 'never')`;
  return sql`insert into "settlements" ("settled_at", "command_id", "failed_merchant_id", "failed_issued_at", "changes_past")
    select "settled"."settled_at", "new"."id", case when ${hasFailed} then "new"."merchant_id" end,
      case when ${hasFailed} then "settled"."issued_at" end,
      case when "new"."voids" = 1 or "settled"."settled_at" - "settled"."issued_at" > ${sql.lit(lateAfterMs)} then 1 end
    from ${rows} where 1 = 1 on conflict do nothing`;
}

/** For a command that is settled outside a batch, or a second time. In the transaction that settles it. */
export async function recordSettlement(queries: Queries, command: Command, before?: Command): Promise<void> {
  const { id, settledAtMs, merchantId, state } = command;
  if (settledAtMs === null) return;
  if (before) await forgetSettlement(queries, before);
  const given = sql`select cast(${id} as text) as "id", cast(${merchantId} as text) as "merchant_id", cast(${state} as text) as "state",
    cast(${isVoid(command)} as bigint) as "voids"`;
  await recording(sql`(${given}) as "new" join "commands" as "settled" on "settled"."id" = "new"."id"`).execute(queries);
}

/** The value of `voids` for `recording`. */
export function isVoid({ name }: Pick<Command, 'name'>): 0 | 1 {
  return operationOf(name).effect === 'void' ? 1 : 0;
}

/** A report came after the settlement: the search indexes its numbers, and a dispute changes the figures of the past. */
export async function recordReport(queries: Queries, { id }: Command): Promise<void> {
  await queries
    .insertInto('settlements')
    .values({ settled_at: nowMs, command_id: id, changes_past: 1 })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

export async function forgetSettlement(queries: Queries, { id, settledAtMs }: Command): Promise<void> {
  await queries.deleteFrom('settlements').where('settled_at', '=', settledAtMs).where('command_id', '=', id).execute();
}
