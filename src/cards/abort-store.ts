// The SQL of aborts: a mark on the payment that is to be stopped, with the id of the request that left it. One function a verb.
import { sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import { recognisedForMs } from '../ledger/claims.ts';
import { type Command, commandColumns, openOnly, paymentsOnly, toCommand } from '../ledger/command.ts';

/** False when the payment was settled already: then there is nothing left to abort. */
export async function markAbortRequested(queries: Queries, id: string, abortId: string, abortHash: string | undefined): Promise<boolean> {
  const row = await queries
    .updateTable('commands')
    .set({ abort_requested_at: nowMs, abort_id: abortId, abort_hash: abortHash ?? null })
    .where('id', '=', id)
    .where(openOnly)
    .returning('id')
    .executeTakeFirst();
  return row !== undefined;
}

/** The terminal refused this request: its mark goes, unless the payment was settled under it or a newer request has marked it again. */
export async function withdrawAbort(queries: Queries, id: string, abortId: string): Promise<void> {
  await queries
    .updateTable('commands')
    .set({ abort_requested_at: null, abort_id: null })
    .where('id', '=', id)
    .where('abort_id', '=', abortId)
    .where(openOnly)
    .execute();
}

/** Marks a payment that was not made and has no mark any more; undefined when another request has done so. */
export async function confirmAbort(queries: Queries, id: string): Promise<Command | undefined> {
  const row = await queries
    .updateTable('commands')
    .set({ abort_requested_at: nowMs })
    .where('id', '=', id)
    .where('state', 'in', ['refused', 'never'])
    .where('abort_requested_at', 'is', null)
    .returning(commandColumns)
    .executeTakeFirst();
  return row && toCommand(row);
}

/** The newest payment under this documentNr of which this very request to abort it has not been answered yet to a caller who was there [D58]. */
export async function findUndeliveredAbort(
  queries: Queries,
  asked: { merchantId: string; deviceId: string; documentNr: string; abortHash: string },
): Promise<Command | undefined> {
  const row = await queries
    .selectFrom('commands')
    .select(commandColumns)
    .where('merchant_id', '=', asked.merchantId)
    .where('document_nr', '=', asked.documentNr)
    .where(paymentsOnly)
    .where('device_id', '=', asked.deviceId)
    .where('abort_hash', '=', asked.abortHash)
    .where((where) => where.or([openOnly, where('settled_at', '>', sql<number>`now_ms() - cast(${recognisedForMs} as bigint)`)]))
    .orderBy('issued_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row && toCommand(row);
}

export async function forgetAbortCaller(queries: Queries, id: string, abortHash: string): Promise<void> {
  await queries.updateTable('commands').set({ abort_hash: null }).where('id', '=', id).where('abort_hash', '=', abortHash).execute();
}
