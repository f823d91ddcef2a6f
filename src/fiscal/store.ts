// Fiscal Mode's SQL over the ledger's commands and the callbacks, one function a verb.
import { sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import { type Command, commandColumns, openOrDone, toCommand } from '../ledger/command.ts';

/** The print under this Receipt.Uid, on whichever register: in flight, unresolved or done. There is at most one. */
export async function findPrintOfReceipt(queries: Queries, merchantId: string, receiptUid: string): Promise<Command | undefined> {
  const row = await queries
    .selectFrom('commands')
    .select(commandColumns)
    .where('merchant_id', '=', merchantId)
    .where('receipt_uid', '=', receiptUid)
    .where(openOrDone)
    .executeTakeFirst();
  return row && toCommand(row);
}

/** How many notices were written about an operation so far. */
export async function countNotices(queries: Queries, commandId: string): Promise<number> {
  const row = await queries
    .selectFrom('callbacks')
    .select(sql<number>`cast(count(*) as bigint)`.as('count'))
    .where('subject_id', '=', commandId)
    .executeTakeFirstOrThrow();
  return row.count;
}
