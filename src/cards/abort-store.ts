// The SQL of aborts: a mark on the payment to be stopped, with the id of the request that set it. One function per verb.
import { sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import { recognisedForMs } from '../ledger/claims.ts';
import { type Command, commandColumns, openOnly, paymentsOnly, toCommand } from '../ledger/command.ts';

/** False: the payment was settled already, so there is nothing to abort. */
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

/** The terminal refused this request: removes its mark, unless the payment is settled or a newer request has marked it. */
export async function withdrawAbort(queries: Queries, id: string, abortId: string): Promise<void> {
  await queries
    .updateTable('commands')
    .set({ abort_requested_at: null, abort_id: null })
    .where('id', '=', id)
    .where('abort_id', '=', abortId)
    .where(openOnly)
    .execute();
}

/** Marks a payment that was not made and has no mark any more. Undefined: another request has marked it. */
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

/** The newest payment under this documentNr with this same abort request, whose caller has not received the answer yet [D58]. */
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
