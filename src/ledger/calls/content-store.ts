// The SQL of repeats that bring no key [D58]: commands whose outcome no caller is known to have received, found by what was asked.
// They are few, and an index of their own holds no others.
import { type SqlBool, sql } from 'kysely';
import type { Queries } from '../../database/database.ts';
import { nowMs } from '../../database/dialect.ts';
import { deadAfterMs } from '../../database/instances.ts';
import { keptStatement } from '../../database/kept-statement.ts';
import { namesWhere, operationOf } from '../../kernel/operations.ts';
import { type Command, commandColumns, disputedOnly, openOnly, toCommand } from '../command.ts';

/** So long after its end, or after the last time that 3 was said about it, a command is recognised. */
const recognisedForMs = 10 * 60_000;
const maxIdsPerStatement = 500;

export interface Content {
  merchantId: string;
  deviceId: string;
  requestHash: string;
  /** Not this one. */
  exceptId?: string | undefined;
}

/** An equal request on the device that is disputed: it never lends its outcome, and nothing equal is sent beside it [D143]. */
export async function findDisputed(queries: Queries, { merchantId, deviceId, requestHash }: Content): Promise<Command | undefined> {
  const [row] = await disputedByContent(queries, { merchantId, deviceId, requestHash });
  return row && toCommand(row);
}

const disputedByContent = keptStatement((queries, { merchantId, deviceId, requestHash }: Content) =>
  queries
    .selectFrom('commands')
    .select(commandColumns)
    // Written so that neither engine walks through all that the device ever did instead of the few disputes.
    .where(sql<SqlBool>`coalesce(device_id, '') = ${deviceId}`)
    .where(disputedOnly)
    .where('merchant_id', '=', merchantId)
    .where('request_hash', '=', requestHash)
    .limit(1)
    .compile(),
);

export interface Untold {
  command: Command;
  /** Whether the gateway that it was sent from lives, so that its caller may still be waiting there. */
  isInstanceLiving: boolean;
}

const untoldByContent = keptStatement((queries, { merchantId, deviceId, requestHash, exceptId }: Content, which: 'any' | 'another') => {
  const since = sql<number>`now_ms() - cast(${recognisedForMs} as bigint)`;
  return queries
    .selectFrom('commands')
    .select(commandColumns)
    .select((column) =>
      column
        .exists(
          column
            .selectFrom('instances')
            .select('instances.id')
            .whereRef('instances.id', '=', 'commands.instance_id')
            .where('instances.stopped_at', 'is', null)
            .where('instances.heartbeat_at', '>', sql<number>`now_ms() - cast(${deadAfterMs} as bigint)`),
        )
        .as('is_living'),
    )
    .where('merchant_id', '=', merchantId)
    .where('device_id', '=', deviceId)
    .where('request_hash', '=', requestHash)
    .where(sql<SqlBool>`request_hash is not null and told_at is null`)
    .where('state', '!=', 'never')
    .$if(which === 'another', (query) => query.where('id', '!=', exceptId as string))
    .where((where) => where.or([openOnly, where('settled_at', '>', since), where('unheard_at', '>', since)]))
    .orderBy('issued_at', 'desc')
    .limit(1)
    .compile();
});

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
 * The newest command with this content that did, or may have done, something, and whose outcome no caller is known to have received. A close
 * (CloseDay, Z) stands for the next one only until something else was done on its device: that is not in it, and closing again moves no money.
 */
export async function findUntold(queries: Queries, content: Content): Promise<Untold | undefined> {
  const [row] = await untoldByContent(queries, content, content.exceptId === undefined ? 'any' : 'another');
  if (!row) return undefined;
  const command = toCommand(row);
  if (isClose(command) && (await hasSoldSince(queries, command))) return undefined;
  return { command, isInstanceLiving: Boolean(row.is_living) };
}

/** Only a Report that is a Z has its content kept. */
function isClose({ name }: Command): boolean {
  return operationOf(name).closesDay === true;
}

/** Somebody knows the outcome: from now on an equal request is a new one. */
export async function writeTold(queries: Queries, ids: readonly string[]): Promise<void> {
  for (let start = 0; start < ids.length; start += maxIdsPerStatement) {
    await queries
      .updateTable('commands')
      .set({ told_at: nowMs })
      .where('id', 'in', ids.slice(start, start + maxIdsPerStatement))
      .where('told_at', 'is', null)
      .execute();
  }
}

/** The caller is without the outcome. Each 3 counts anew; that somebody left counts once. */
export async function writeUnheard(queries: Queries, ids: readonly string[], why: 'answered 3' | 'left'): Promise<void> {
  for (let start = 0; start < ids.length; start += maxIdsPerStatement) {
    await queries
      .updateTable('commands')
      .set({ unheard_at: nowMs })
      .where('id', 'in', ids.slice(start, start + maxIdsPerStatement))
      .$if(why === 'left', (query) => query.where('unheard_at', 'is', null))
      .execute();
  }
}
