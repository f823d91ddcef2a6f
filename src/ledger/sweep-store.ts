// The SQL of the sweeps, which every gateway runs every few seconds: commands that need a Recall or whose time is over. All only read,
// except `takeDueDecision`, which sets the time of the next Recall.
import { type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import { type RowsText, rowsAs, rowsText } from '../database/batch-rows.ts';
import type { Database, Queries } from '../database/database.ts';
import { forEachEngine, nowMs } from '../database/dialect.ts';
import { keptStatement } from '../database/kept-statement.ts';
import type { Schema } from '../database/schema.ts';
import { type Command, commandColumns, openOnly, toCommand } from './command.ts';
import { standingConditions } from './standing-sql.ts';

/** Commands of this instance, and of dead instances: stopped, without a heartbeat for `deadAfterMs`, or deleted. */
function ownOrOrphaned(instanceId: string, deadAfterMs: number) {
  return (where: ExpressionBuilder<Schema, 'commands'>) =>
    where.or([
      where('instance_id', '=', instanceId),
      where.not(
        where.exists(
          where
            .selectFrom('instances')
            .select('instances.id')
            .whereRef('instances.id', '=', 'commands.instance_id')
            .where('instances.stopped_at', 'is', null)
            .where('instances.heartbeat_at', '>=', sql<number>`now_ms() - cast(${deadAfterMs} as bigint)`),
        ),
      ),
    ]);
}

interface Carrier {
  instanceId: string;
  deadAfterMs: number;
}

/** Open commands: few, and found by the locks of their devices, because no index of `commands` covers the state [D240]. */
export const { locking: isLocking } = standingConditions('commands');
/** Settled by an operator, and not yet confirmed by its device. */
const isUnconfirmed = sql<SqlBool>`"commands"."id" in (select "command_id" from "decisions")`;

const isDue = (where: ExpressionBuilder<Schema, 'commands'>) =>
  where.or([where('next_recall_at', 'is', null), where('next_recall_at', '<=', nowMs)]);

const dueCommands = keptStatement((queries, { instanceId, deadAfterMs }: Carrier, limit: number) =>
  queries
    .selectFrom('commands')
    .select('commands.id')
    .where(isLocking)
    .where(openOnly)
    .where(isDue)
    .where(ownOrOrphaned(instanceId, deadAfterMs))
    .orderBy('issued_at')
    .limit(limit)
    .compile(),
);

/** Ids of open commands of this or a dead instance whose next Recall is due. */
export async function dueForRecall(queries: Queries, instanceId: string, deadAfterMs: number, limit: number): Promise<string[]> {
  const rows = await dueCommands(queries, { instanceId, deadAfterMs }, limit);
  return rows.map((row) => row.id);
}

const deviceIds = { device_id: 'text' } as const;
type DeviceIdsText = RowsText<typeof deviceIds>;
const amongDevices = (engine: Database['engine'], ids: DeviceIdsText) =>
  sql<SqlBool>`"device_id" in (select "back"."device_id" from ${rowsAs(engine, 'back', deviceIds, ids)})`;

const openOfDevices = forEachEngine((engine) =>
  keptStatement((queries, { ids, instanceId }: { ids: DeviceIdsText; instanceId: string }) =>
    queries
      .selectFrom('commands')
      .select(commandColumns)
      .where('id', 'in', (from) => from.selectFrom('device_locks').select('command_id').where(amongDevices(engine, ids)))
      .where(openOnly)
      .where('instance_id', '=', instanceId)
      .compile(),
  ),
);

const decidedOfDevices = forEachEngine((engine) =>
  keptStatement((queries, { ids }: { ids: DeviceIdsText }) =>
    queries.selectFrom('decisions').select('device_id').distinct().where(amongDevices(engine, ids)).compile(),
  ),
);

/** For devices that are back: the open commands of this instance, and which of the devices have unconfirmed decisions. */
export async function leftOpenBy({ engine, queries }: Database, instanceId: string, devices: readonly string[]) {
  const ids = rowsText(
    deviceIds,
    devices.map((device_id) => ({ device_id })),
  );
  const open = await openOfDevices[engine](queries, { ids, instanceId });
  const decided = await decidedOfDevices[engine](queries, { ids });
  return { open: open.map(toCommand), withDecisions: decided.map((row) => row.device_id) };
}

const decidedOfDevice = keptStatement(
  (
    queries,
    { instanceId, deadAfterMs, deviceId, journalId, sinceMs }: Carrier & { deviceId: string; journalId: string; sinceMs: number },
  ) =>
    queries
      .selectFrom('commands')
      .select(commandColumns)
      .where('id', 'in', (from) => from.selectFrom('decisions').select('command_id').where('device_id', '=', deviceId))
      .where('removed_at', 'is', null)
      .where(sql<SqlBool>`(journal_id = ${journalId} or (journal_id is not null and settled_at > now_ms() - cast(${sinceMs} as bigint))
        or (journal_id is null and ${journalId} = '' and id in (select command_id from decisions where lost_at is not null)))`)
      .where(ownOrOrphaned(instanceId, deadAfterMs))
      .orderBy(sql`case when journal_id = ${journalId} then 0 else 1 end`)
      .limit(20)
      .compile(),
);

/**
 * Unconfirmed decisions, a few at a time: first about commands that were sent to this journal, however old, because its hardware may have
 * been away [D304]; then those of the last `sinceMs`, because any journal may report that it executed them. Without a journal it is asked about
 * hardware that was declared lost: before another attempt it is asked anyway [D129].
 */
export async function decisionsToConfirm(
  queries: Queries,
  carrier: Carrier,
  { deviceId, journalId = '' }: { deviceId: string; journalId: string | undefined },
  sinceMs: number,
): Promise<Command[]> {
  const rows = await decidedOfDevice(queries, { ...carrier, deviceId, journalId, sinceMs });
  return rows.map(toCommand);
}

const dueDecided = keptStatement((queries, { instanceId, deadAfterMs, sinceMs }: Carrier & { sinceMs: number }, limit: number) =>
  queries
    .selectFrom('commands')
    .select(commandColumns)
    .where(isUnconfirmed)
    .where('journal_id', 'is not', null)
    .where('removed_at', 'is', null)
    .where('settled_at', '>', sql<number>`now_ms() - cast(${sinceMs} as bigint)`)
    .where(isDue)
    .where(ownOrOrphaned(instanceId, deadAfterMs))
    .limit(limit)
    .compile(),
);

/** Unconfirmed decisions of the last `sinceMs` whose next Recall is due. */
export async function dueDecisions(
  queries: Queries,
  instanceId: string,
  deadAfterMs: number,
  sinceMs: number,
  limit: number,
): Promise<Command[]> {
  const rows = await dueDecided(queries, { instanceId, deadAfterMs, sinceMs }, limit);
  return rows.map(toCommand);
}

/** The next Recall is due when the decision is twice as old, within these bounds. False: another gateway was faster, or it is confirmed. */
export async function takeDueDecision(
  queries: Queries,
  { id }: Command,
  instanceId: string,
  { firstMs, maxMs }: { firstMs: number; maxMs: number },
): Promise<boolean> {
  const age = sql<number>`now_ms() - settled_at`;
  const pause = sql<number>`case when ${age} < ${sql.lit(firstMs)} then ${sql.lit(firstMs)} when ${age} > ${sql.lit(maxMs)} then ${sql.lit(maxMs)} else ${age} end`;
  const row = await queries
    .updateTable('commands')
    .set({ instance_id: instanceId, next_recall_at: sql<number>`now_ms() + ${pause}` })
    .where('id', '=', id)
    .where(isUnconfirmed)
    .where(isDue)
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

const abandonedCommands = keptStatement((queries, { instanceId, deadAfterMs, graceMs }: Carrier & { graceMs: number }, limit: number) =>
  queries
    .selectFrom('commands')
    .select(commandColumns)
    .where(isLocking)
    .where('state', '=', sql.lit('sent'))
    .where('answer_by', '<', sql<number>`now_ms() - cast(${graceMs} as bigint)`)
    .where(ownOrOrphaned(instanceId, deadAfterMs))
    .limit(limit)
    .compile(),
);

/** Commands that are still `sent` `graceMs` after answerBy: the call that executed them has died. */
export async function abandoned(
  queries: Queries,
  instanceId: string,
  deadAfterMs: number,
  graceMs: number,
  limit: number,
): Promise<Command[]> {
  const rows = await abandonedCommands(queries, { instanceId, deadAfterMs, graceMs }, limit);
  return rows.map(toCommand);
}
