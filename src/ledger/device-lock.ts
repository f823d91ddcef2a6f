// The lock of a device [D210]: which command is open on it, and which approved payment has an open document [D14]. A transaction that
// begins or settles a command, or opens or ends a document, locks this row before any row of `commands`; what it reads after that cannot
// change.
import { type SqlBool, sql } from 'kysely';
import type { Database, Queries } from '../database/database.ts';
import { lockRows } from '../database/dialect.ts';
import { keptStatement } from '../database/kept-statement.ts';
import { namesWhere, operationNamed } from '../kernel/operations.ts';
import { type Command, commandColumns, isOpen, paymentsOnly, toCommand } from './command.ts';

export interface DeviceLock {
  commandId: string | null;
  documentId: string | null;
  /** Time of the last decision "not done" of an operator that the device has not confirmed [D129]. */
  decidedAtMs: number | null;
}

/** Which open document a command accepts on its device; absent: none. */
export type Beside =
  /** None, or the document of its payment. */
  | 'its document'
  /** The document of its payment, which must be open. */
  | 'its open document'
  /** The document of the payment with its documentNr and operationId; that payment becomes its target. */
  | 'the document it names';

/** Waits for the device's lock; until the transaction ends, no command begins or ends on the device. */
export async function lockDevice(engine: Database['engine'], queries: Queries, deviceId: string): Promise<DeviceLock> {
  const lock = queries.selectFrom('device_locks').select(['command_id', 'document_id', 'decided_at']).where('device_id', '=', deviceId);
  const row = await lockRows(engine, lock).executeTakeFirstOrThrow();
  return { commandId: row.command_id, documentId: row.document_id, decidedAtMs: row.decided_at };
}

const decidedOn = keptStatement((queries, { deviceId }: { deviceId: string }) =>
  queries.selectFrom('device_locks').select('decided_at').where('device_id', '=', deviceId).compile(),
);

export async function lastDecisionOn(queries: Queries, deviceId: string): Promise<number | undefined> {
  const [row] = await decidedOn(queries, { deviceId });
  return row?.decided_at ?? undefined;
}

const holdersOfDevice = keptStatement((queries, { deviceId }: { deviceId: string }) => {
  // Two lookups by id: with an `or`, PostgreSQL would scan the table.
  const held = (by: 'command_id' | 'document_id') =>
    queries
      .selectFrom('commands')
      .select(commandColumns)
      .where('id', '=', (where) => where.selectFrom('device_locks').select(by).where('device_id', '=', deviceId));
  return held('command_id').unionAll(held('document_id')).compile();
});

/** The command that locks the device: one in flight or unresolved, or an approved payment that awaits CloseDoc [D14]. */
export async function findHolder(queries: Queries, deviceId: string): Promise<Command | undefined> {
  const holders = (await holdersOfDevice(queries, { deviceId })).map(toCommand);
  return holders.find(isOpen) ?? holders[0];
}

const documentEndings = namesWhere(({ effect }) => effect === 'close' || effect === 'void');

/** A void or CloseDoc: ends the document of the payment to which it refers. */
export function endsDocument({ name }: Pick<Command, 'name'>): boolean {
  return documentEndings.includes(name);
}

/**
 * The document state of a payment that proves to be done, or whose CloseDoc or void proves not to be [D143]: voided or closed if another
 * void or CloseDoc was done, also while the payment was disputed. Under the device's lock.
 */
export async function documentNow(queries: Queries, lock: DeviceLock, payment: Command): Promise<'open' | 'closed' | 'voided'> {
  const endings = await queries
    .selectFrom('commands')
    .select('name')
    .where('target_id', '=', payment.id)
    .where('name', 'in', documentEndings)
    .where(sql<SqlBool>`state = 'done'`)
    .execute();
  if (endings.some(({ name }) => operationNamed(name).effect === 'void')) return 'voided';
  return endings.length > 0 || payment.bankDayClosedAtMs !== null || (await hasGoneOn(queries, lock, payment)) ? 'closed' : 'open';
}

/** When the device's day was closed after the payment; null: it was not. A close marks no payment that counts as not done at that time. */
export async function dayClosedAfter(queries: Queries, { deviceId, issuedAtMs }: Command): Promise<number | null> {
  const close = await queries
    .selectFrom('commands')
    .select('settled_at')
    .where('device_id', '=', deviceId)
    .where(sql<SqlBool>`closes_day = 1`)
    .where('issued_at', '>=', issuedAtMs)
    .where(sql<SqlBool>`state = 'done'`)
    .orderBy('issued_at')
    .limit(1)
    .executeTakeFirst();
  return close?.settled_at ?? null;
}

/**
 * Another command locks the terminal by now, or another payment was made on it since: the document of the earlier payment is not opened
 * again. Its own CloseDoc or void, still open, ends the document when it is done.
 */
async function hasGoneOn(queries: Queries, lock: DeviceLock, { id, deviceId, issuedAtMs }: Command): Promise<boolean> {
  if (lock.documentId !== null && lock.documentId !== id) return true;
  if (lock.commandId !== null) {
    const ofIt = queries.selectFrom('commands').select('id').where('id', '=', lock.commandId).where('target_id', '=', id);
    if ((await ofIt.executeTakeFirst()) === undefined) return true;
  }
  const later = await queries
    .selectFrom('commands')
    .select('id')
    .where('device_id', '=', deviceId)
    .where('issued_at', '>', issuedAtMs)
    .where(paymentsOnly)
    .where(sql<SqlBool>`state = 'done'`)
    .limit(1)
    .executeTakeFirst();
  return later !== undefined;
}

export async function openDocument(queries: Queries, { id, deviceId }: Pick<Command, 'id' | 'deviceId'>): Promise<void> {
  await queries.updateTable('device_locks').set({ document_id: id }).where('device_id', '=', deviceId).execute();
}

/** The payment's document no longer locks the terminal. */
export async function endDocument(queries: Queries, { id, deviceId }: Pick<Command, 'id' | 'deviceId'>): Promise<void> {
  await queries
    .updateTable('device_locks')
    .set({ document_id: null })
    .where('device_id', '=', deviceId)
    .where('document_id', '=', id)
    .execute();
}
