// Which operations the sweeps of recovery.ts look at, every few seconds in every gateway: their ids, and whom to ask about them. What becomes
// of one, its event decides from loaded facts. Open operations are found by the locks of their devices, because no index of `commands`
// covers the state [D240].
import { type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import { type RowsText, rowsAs, rowsText } from '../database/batch-rows.ts';
import type { Database, Queries } from '../database/database.ts';
import { type Engine, forEachEngine } from '../database/dialect.ts';
import { deadAfterMs } from '../database/instances.ts';
import { keptStatement } from '../database/kept-statement.ts';
import type { Schema } from '../database/schema.ts';
import type { Id } from './case.ts';
import type { Asked } from './recall.ts';

/** Journals may have dropped older operations. */
const askedSinceMs = 7 * 24 * 60 * 60_000;
/** The pause between two questions about a decision is the decision's age, within these bounds. */
const decisionPauses = { firstMs: 10_000, maxMs: 60 * 60_000 };
const maxOfDevice = 20;

type Where = ExpressionBuilder<Schema, 'commands'>;

const asked = ['commands.id', 'commands.device_id as deviceId', 'commands.journal_id as journalId', 'commands.state'] as const;
const isOpen = sql<SqlBool>`"commands"."state" in ('sent', 'unknown')`;
const isLocking = sql<SqlBool>`"commands"."id" in (select "command_id" from "device_locks" where "command_id" is not null)`;
const isToConfirm = sql<SqlBool>`"commands"."is_to_confirm" = 1`;
const isDue = sql<SqlBool>`("commands"."next_recall_at" is null or "commands"."next_recall_at" <= now_ms())`;
const isYoung = sql<SqlBool>`"commands"."settled_at" > now_ms() - ${sql.lit(askedSinceMs)}`;
const isOverBy = (ms: number) => sql<SqlBool>`"commands"."answer_by" < now_ms() - cast(${ms} as bigint)`;

/** Of this gateway, and of dead ones: stopped, without a heartbeat, or deleted. */
const ownOrOrphaned = (instanceId: string) => (where: Where) =>
  where.or([
    where('commands.instance_id', '=', instanceId),
    sql<SqlBool>`not exists (select 1 from "instances" where "instances"."id" = "commands"."instance_id"
      and "instances"."stopped_at" is null and "instances"."heartbeat_at" >= now_ms() - ${sql.lit(deadAfterMs)})`,
  ]);

interface Own {
  instanceId: string;
}

/** Open operations whose next question is due. */
export const dueForRecall: (queries: Queries, own: Own, limit: number) => Promise<Asked[]> = keptStatement(
  (queries, own: Own, limit: number) =>
    queries
      .selectFrom('commands')
      .select(asked)
      .where(isLocking)
      .where(isOpen)
      .where(isDue)
      .where(ownOrOrphaned(own.instanceId))
      .orderBy('commands.issued_at')
      .limit(limit)
      .compile(),
);

/** Still `sent` `graceMs` after answerBy: the call that executed them has died. */
export const abandoned = keptStatement((queries, { instanceId, graceMs }: Own & { graceMs: number }, limit: number) =>
  queries
    .selectFrom('commands')
    .select('commands.id')
    .where(isLocking)
    .where(sql<SqlBool>`"commands"."state" = 'sent'`)
    .where(isOverBy(graceMs))
    .where(ownOrOrphaned(instanceId))
    .limit(limit)
    .compile(),
);

/** Open for `graceMs` after answerBy, and not on the review list. */
export const overdue = keptStatement((queries, { graceMs }: { graceMs: number }, limit: number) =>
  queries
    .selectFrom('commands')
    .select('commands.id')
    .where(isLocking)
    .where(isOpen)
    .where('commands.review_since', 'is', null)
    .where(isOverBy(graceMs))
    .limit(limit)
    .compile(),
);

const deviceIds = { device_id: 'text' } as const;
type Devices = { ids: RowsText<typeof deviceIds> };
const ofThese = (engine: Engine, column: string, { ids }: Devices) =>
  sql<SqlBool>`${sql.ref(column)} in (select "back"."device_id" from ${rowsAs(engine, 'back', deviceIds, ids)})`;

const openOfDevices = forEachEngine((engine) =>
  keptStatement((queries, given: Devices & Own) =>
    queries
      .selectFrom('commands')
      .select(asked)
      .where('commands.id', 'in', (from) =>
        from
          .selectFrom('device_locks')
          .select('command_id')
          .where(ofThese(engine, 'device_id', given)),
      )
      .where(isOpen)
      .where('commands.instance_id', '=', given.instanceId)
      .compile(),
  ),
);

const decidedOfDevices = forEachEngine((engine) =>
  keptStatement((queries, given: Devices) =>
    queries
      .selectFrom('commands')
      .select('commands.device_id as deviceId')
      .distinct()
      .where(isToConfirm)
      .where(ofThese(engine, 'commands.device_id', given))
      .compile(),
  ),
);

/** For devices that are back: the open operations of this gateway, and which of the devices have decisions to confirm. */
export async function leftBy(database: Pick<Database, 'engine' | 'queries'>, own: Own, devices: readonly Id[]) {
  const { engine, queries } = database;
  const ids = rowsText(
    deviceIds,
    devices.map((id) => ({ device_id: id })),
  );
  const open: Asked[] = await openOfDevices[engine](queries, { ids, ...own });
  const decided = await decidedOfDevices[engine](queries, { ids });
  return { open, withDecisions: decided.map(({ deviceId }) => deviceId) };
}

/**
 * Decisions about a device that is back, a few at a time: first about what was sent to this journal, however old, because its hardware may
 * have been away [D304]; then the young ones, because any journal may report that it executed them. Hardware without a journal is asked
 * about what was declared lost: before another attempt it is asked anyway [D129].
 */
export const decisionsOf: (queries: Queries, given: Own & { deviceId: Id; journalId: string }) => Promise<Asked[]> = keptStatement(
  (queries, { instanceId, deviceId, journalId }: Own & { deviceId: Id; journalId: string }) =>
    queries
      .selectFrom('commands')
      .select(asked)
      .where(isToConfirm)
      .where('commands.device_id', '=', deviceId)
      .where(
        sql<SqlBool>`("commands"."journal_id" = ${journalId} or ("commands"."journal_id" is not null and ${isYoung})
          or ("commands"."journal_id" is null and ${journalId} = '' and "commands"."is_hardware_lost" = 1))`,
      )
      .where(ownOrOrphaned(instanceId))
      .orderBy(sql`case when "commands"."journal_id" = ${journalId} then 0 else 1 end`)
      .limit(maxOfDevice)
      .compile(),
);

/** Young decisions about which a question is due. */
export const dueDecisions: (queries: Queries, own: Own, limit: number) => Promise<Asked[]> = keptStatement(
  (queries, own: Own, limit: number) =>
    queries
      .selectFrom('commands')
      .select(asked)
      .where(isToConfirm)
      .where('commands.journal_id', 'is not', null)
      .where(isYoung)
      .where(isDue)
      .where(ownOrOrphaned(own.instanceId))
      .limit(limit)
      .compile(),
);

const { firstMs, maxMs } = decisionPauses;
const age = sql<number>`now_ms() - "settled_at"`;
const pause = sql<number>`case when ${age} < ${sql.lit(firstMs)} then ${sql.lit(firstMs)} when ${age} > ${sql.lit(maxMs)} then ${sql.lit(maxMs)} else ${age} end`;

/** No rule reads these columns, so the version stays. */
const postpone = keptStatement((queries, { id, instanceId }: Own & { id: Id }) =>
  queries
    .updateTable('commands')
    .set({ instance_id: instanceId, next_recall_at: sql<number>`now_ms() + ${pause}` })
    .where('commands.id', '=', id)
    .where(isToConfirm)
    .where(isDue)
    .returning('commands.id')
    .compile(),
);

/** The next question is due when the decision is twice as old. False: another gateway was faster, or it is confirmed. */
export async function takeDecision(queries: Queries, given: Own & { id: Id }): Promise<boolean> {
  return (await postpone(queries, given)).length > 0;
}

/** Of each device: the journals for which decisions "not executed" wait. Few. */
export async function waitingDecisions(queries: Queries): Promise<{ deviceId: Id; journalId: Id | null }[]> {
  return queries
    .selectFrom('commands')
    .select(['commands.device_id as deviceId', 'commands.journal_id as journalId'])
    .where(isToConfirm)
    .where('commands.is_unconfirmed', '=', 1)
    .execute();
}

const keptMs = sql.lit(24 * 60 * 60_000);

/** Keys that lead nowhere any more (rules/earlier.ts): a day old, and so is the end or the last answer 3 of what they name. */
export async function sweepKeys(queries: Queries): Promise<void> {
  const isNeeded = sql<SqlBool>`exists (select 1 from "commands" where "commands"."id" = "idempotency_keys"."subject_id"
    and ("commands"."state" in ('sent', 'unknown', 'disputed') or "commands"."settled_at" > now_ms() - ${keptMs}
      or "commands"."outcome_missed_at" > now_ms() - ${keptMs}))`;
  await queries
    .deleteFrom('idempotency_keys')
    .where('created_at', '<=', sql<number>`now_ms() - ${keptMs}`)
    .where((row) => row.not(isNeeded))
    .execute();
}
