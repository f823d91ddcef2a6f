// The SQL of the sweeps, which every gateway runs every few seconds: open commands that it has to ask about or to end. They only look.
import { type ExpressionBuilder, sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import { keptStatement } from '../database/kept-statement.ts';
import type { Schema } from '../database/schema.ts';
import { type Command, commandColumns, decidedOnly, openOnly, toCommand } from './command.ts';

/** This instance's own commands, and those of an instance that is dead: stopped, silent for `deadAfterMs`, or forgotten. */
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

const dueCommands = keptStatement((queries, { instanceId, deadAfterMs }: Carrier, limit: number) =>
  queries
    .selectFrom('commands')
    .select('commands.id')
    .where(openOnly)
    .where((where) => where.or([where('next_recall_at', 'is', null), where('next_recall_at', '<=', nowMs)]))
    .where(ownOrOrphaned(instanceId, deadAfterMs))
    .orderBy('issued_at')
    .limit(limit)
    .compile(),
);

/** Ids of open commands that are ours to ask about and whose next Recall is due. */
export async function dueForRecall(queries: Queries, instanceId: string, deadAfterMs: number, limit: number): Promise<string[]> {
  const rows = await dueCommands(queries, { instanceId, deadAfterMs }, limit);
  return rows.map((row) => row.id);
}

const decidedOfDevice = keptStatement(
  (queries, { instanceId, deadAfterMs, deviceId, sinceMs }: Carrier & { deviceId: string; sinceMs: number }) =>
    queries
      .selectFrom('commands')
      .select(commandColumns)
      .where('device_id', '=', deviceId)
      .where(decidedOnly)
      .where('journal_id', 'is not', null)
      .where('removed_at', 'is', null)
      .where('settled_at', '>', sql<number>`now_ms() - cast(${sinceMs} as bigint)`)
      .where(ownOrOrphaned(instanceId, deadAfterMs))
      .limit(20)
      .compile(),
);

/** What a person has decided of this device in the last `sinceMs`, and the device itself has said nothing about; a few at a time. */
export async function decidedUnheard(
  queries: Queries,
  instanceId: string,
  deadAfterMs: number,
  deviceId: string,
  sinceMs: number,
): Promise<Command[]> {
  const rows = await decidedOfDevice(queries, { instanceId, deadAfterMs, deviceId, sinceMs });
  return rows.map(toCommand);
}

const abandonedCommands = keptStatement((queries, { instanceId, deadAfterMs, graceMs }: Carrier & { graceMs: number }, limit: number) =>
  queries
    .selectFrom('commands')
    .select(commandColumns)
    .where(openOnly)
    .where('state', '=', sql.lit('sent'))
    .where('answer_by', '<', sql<number>`now_ms() - cast(${graceMs} as bigint)`)
    .where(ownOrOrphaned(instanceId, deadAfterMs))
    .limit(limit)
    .compile(),
);

/** Commands that are still `sent` although their time is over by `graceMs`: the call that carried them is no more. */
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
