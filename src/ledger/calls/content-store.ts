// The SQL of repeats without a key [D58]: commands whose outcome no caller is known to have received, found by the content of the request.
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
  /** Whether the gateway that sent it is running, so that its caller may still be waiting there. */
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
 * The newest operation that an earlier close cannot include: any that does more than close, and was or may have been executed. Both bounds
 * and the order make PostgreSQL read only the device's last minutes, whatever its statistics about the device say.
 */
const begunSince = keptStatement((queries, { deviceId, issuedAtMs }: Pick<Command, 'deviceId' | 'issuedAtMs'>) =>
  queries
    .selectFrom('commands')
    .select('id')
    .where('device_id', '=', deviceId)
    .where('issued_at', '>', issuedAtMs)
    .where('issued_at', '<=', nowMs)
    .where(sql<SqlBool>`state not in ('refused', 'never') and name in (${sql.join(notInACloseBefore.map((name) => sql.lit(name)))})`)
    .orderBy('issued_at', 'desc')
    .limit(1)
    .compile(),
);

/** An invoice that was paid at the device by its QR [D149], for which there is no command. Searched among the few that ended since. */
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
  return (await begunSince(queries, close)).length > 0 || (await paidByQrSince(queries, close)).length > 0;
}

/**
 * The newest command with this content that was or may have been executed, and whose outcome no caller is known to have received. Or a
 * disputed command: its outcome answers no repeat, and no equal command is sent beside it [D143]. A close (CloseDay, Z) answers the next
 * one only until its device has, or may have, executed something else: the first close does not include that, and closing again moves no
 * money.
 */
export async function findEqual(queries: Queries, content: Content): Promise<Equal | undefined> {
  const command = await findByContent(queries, content);
  if (!command || (await undelivered(queries, { id: command.id })).length === 0) return undefined;
  if (command.state !== 'disputed' && isClose(command) && (await hasSoldSince(queries, command))) return undefined;
  return { command, isInstanceLiving: (await livingInstance(queries, { id: command.instanceId })).length > 0 };
}

/** A Report that is no Z stores no content, so every Report here is a Z. */
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

/** The caller lacks the outcome. Each answer 3 renews the time; a disconnect sets it once. */
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
