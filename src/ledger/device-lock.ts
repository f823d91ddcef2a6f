// The lock of a device [D210]: which command is open on it, and which approved payment has an open document [D14]. A transaction that begins
// or settles a command, or opens or ends a document, takes this row before any row of `commands`; what it reads after that stays so.
import { type SqlBool, sql } from 'kysely';
import type { Database, Queries } from '../database/database.ts';
import { lockRows } from '../database/dialect.ts';
import { keptStatement } from '../database/kept-statement.ts';
import { namesWhere, operationNamed } from '../kernel/operations.ts';
import { type Command, commandColumns, isOpen, paymentsOnly, toCommand } from './command.ts';

export interface DeviceLock {
  commandId: string | null;
  documentId: string | null;
  /** When an operator last settled something as not done that the device has not confirmed [D129]. */
  decidedAtMs: number | null;
}

/** What a command may find on its device: nothing, or the document of the payment that it refers to. */
export type Beside =
  /** The document of its payment is open or not. */
  | 'its document'
  /** The document of its payment is open. */
  | 'its open document'
  /** The open document is that of the payment with its documentNr and operationId, which becomes the payment that it refers to. */
  | 'the document it names';

/** Waits for the device's lock; until the transaction ends nothing begins or ends on the device. */
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
  // Each by the id of one command: an `or` would make PostgreSQL read all of them.
  const held = (by: 'command_id' | 'document_id') =>
    queries
      .selectFrom('commands')
      .select(commandColumns)
      .where('id', '=', (where) => where.selectFrom('device_locks').select(by).where('device_id', '=', deviceId));
  return held('command_id').unionAll(held('document_id')).compile();
});

/** What keeps the device from serving a new command: one in flight or unresolved, or an approved payment that awaits CloseDoc [D14]. */
export async function findHolder(queries: Queries, deviceId: string): Promise<Command | undefined> {
  const holders = (await holdersOfDevice(queries, { deviceId })).map(toCommand);
  return holders.find(isOpen) ?? holders[0];
}

const endsDocument = namesWhere(({ effect }) => effect === 'close' || effect === 'void');

/**
 * The document of a payment that turns out to be done, or whose CloseDoc or void turns out not to be [D143]: voided or closed if another one
 * was done, also while the payment was disputed. Under the device's lock.
 */
export async function documentNow(queries: Queries, lock: DeviceLock, payment: Command): Promise<'open' | 'closed' | 'voided'> {
  const endings = await queries
    .selectFrom('commands')
    .select('name')
    .where('target_id', '=', payment.id)
    .where('name', 'in', endsDocument)
    .where(sql<SqlBool>`state = 'done'`)
    .execute();
  if (endings.some(({ name }) => operationNamed(name).effect === 'void')) return 'voided';
  return endings.length > 0 || payment.bankDayClosedAtMs !== null || (await hasGoneOn(queries, lock, payment)) ? 'closed' : 'open';
}

/** When the device's day was closed after the payment; null: it was not. A payment that counts as not made is not marked by that close. */
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
 * Something else locks the terminal by now, or was paid on it since: the document of an earlier payment is not opened again. Its own CloseDoc
 * or void, still open, ends the document when it is done.
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

/** The payment's document locks the terminal no longer. */
export async function endDocument(queries: Queries, { id, deviceId }: Pick<Command, 'id' | 'deviceId'>): Promise<void> {
  await queries
    .updateTable('device_locks')
    .set({ document_id: null })
    .where('device_id', '=', deviceId)
    .where('document_id', '=', id)
    .execute();
}
