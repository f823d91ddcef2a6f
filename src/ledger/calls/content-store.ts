// The SQL of repeats that bring no key [D58]: commands whose outcome no caller is known to have received, found by what was asked.
import { type SqlBool, sql } from 'kysely';
import type { Queries } from '../../database/database.ts';
import { nowMs } from '../../database/dialect.ts';
import { deadAfterMs } from '../../database/instances.ts';
import { keptStatement } from '../../database/kept-statement.ts';
import { namesWhere, operationOf } from '../../kernel/operations.ts';
import { type Content, findByContent, isOutcomeUndelivered } from '../claims.ts';
import type { Command } from '../command.ts';

const maxIdsPerStatement = 500;

export interface Equal {
  command: Command;
  /** Whether the gateway that it was sent from lives, so that its caller may still be waiting there. */
  isInstanceLiving: boolean;
}

const livingInstance = keptStatement((queries, { id }: { id: string }) =>
  queries
    .selectFrom('instances')
    .select('id')
    .where('id', '=', id)
    .where('stopped_at', 'is', null)
    .where('heartbeat_at', '>', sql<number>`now_ms() - cast(${deadAfterMs} as bigint)`)
    .compile(),
);

const undelivered = keptStatement((queries, { id }: { id: string }) =>
  sql`select 1 from "commands" as "equal" where "equal"."id" = ${id} and ${isOutcomeUndelivered}`.compile(queries),
);

const notInACloseBefore = namesWhere(({ closesDay, effect }) => !closesDay && effect !== 'close');

/**
 * Something that a close made before it cannot have in it: of whatever does more than close, the newest. Both bounds and the order leave
 * PostgreSQL the device's own few minutes to read, whatever it believes about all that the device ever did.
 */
const doneSince = keptStatement((queries, { deviceId, issuedAtMs }: Pick<Command, 'deviceId' | 'issuedAtMs'>) =>
  queries
    .selectFrom('commands')
    .select('id')
    .where('device_id', '=', deviceId)
    .where('issued_at', '>', issuedAtMs)
    .where('issued_at', '<=', nowMs)
    .where(sql<SqlBool>`state = 'done' and name in (${sql.join(notInACloseBefore.map((name) => sql.lit(name)))})`)
    .orderBy('issued_at', 'desc')
    .limit(1)
    .compile(),
);

/** An invoice that was paid at the device by its QR [D149]: the device did that without a command. Among the few that ended since. */
const paidByQrSince = keptStatement((queries, { deviceId, issuedAtMs }: Pick<Command, 'deviceId' | 'issuedAtMs'>) =>
  queries
    .selectFrom('invoices')
    .select('oid')
    .where('ended_at', '>', issuedAtMs)
    .where('ended_at', '<=', nowMs)
    .where('removed_at', 'is', null)
    .where('paid_device_id', '=', deviceId)
    .orderBy('ended_at', 'desc')
    .limit(1)
    .compile(),
);

async function hasSoldSince(queries: Queries, close: Command): Promise<boolean> {
  return (await doneSince(queries, close)).length > 0 || (await paidByQrSince(queries, close)).length > 0;
}

/**
 * The newest command with this content that did, or may have done, something, and whose outcome no caller is known to have received; or one
 * that is disputed: it never lends its outcome, and nothing equal is sent beside it [D143]. A close (CloseDay, Z) stands for the next one only
 * until something else was done on its device: that is not in it, and closing again moves no money.
 */
export async function findEqual(queries: Queries, content: Content): Promise<Equal | undefined> {
  const command = await findByContent(queries, content);
  if (command?.state === 'disputed') return { command, isInstanceLiving: false };
  if (!command || (await undelivered(queries, { id: command.id })).length === 0) return undefined;
  if (isClose(command) && (await hasSoldSince(queries, command))) return undefined;
  return { command, isInstanceLiving: (await livingInstance(queries, { id: command.instanceId })).length > 0 };
}

/** Only a Report that is a Z has its content kept. */
function isClose({ name }: Command): boolean {
  return operationOf(name).closesDay === true;
}

/** A caller has the outcome: from now on an equal request is a new one. */
export async function writeReceived(queries: Queries, ids: readonly string[]): Promise<void> {
  for (let start = 0; start < ids.length; start += maxIdsPerStatement) {
    await queries
      .updateTable('commands')
      .set({ outcome_received_at: nowMs })
      .where('id', 'in', ids.slice(start, start + maxIdsPerStatement))
      .where('outcome_received_at', 'is', null)
      .execute();
  }
}

/** The caller is without the outcome. Each 3 counts anew; a disconnect counts once. */
export async function writeMissed(queries: Queries, ids: readonly string[], why: 'answered 3' | 'left'): Promise<void> {
  for (let start = 0; start < ids.length; start += maxIdsPerStatement) {
    await queries
      .updateTable('commands')
      .set({ outcome_missed_at: nowMs })
      .where('id', 'in', ids.slice(start, start + maxIdsPerStatement))
      .$if(why === 'left', (query) => query.where('outcome_missed_at', 'is', null))
      .execute();
  }
}
