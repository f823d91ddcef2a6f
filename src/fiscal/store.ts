// Fiscal Mode's SQL over the ledger's commands, one function a verb.
import { sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import { keptStatement } from '../database/kept-statement.ts';
import { type Command, commandColumns, openOrDone, toCommand } from '../ledger/command.ts';

const printOfReceipt = keptStatement((queries, { merchantId, receiptUid }: { merchantId: string; receiptUid: string }) =>
  queries
    .selectFrom('commands')
    .select(commandColumns)
    .where('merchant_id', '=', merchantId)
    .where('receipt_uid', '=', receiptUid)
    .where(openOrDone)
    .compile(),
);

/** The print under this Receipt.Uid, on whichever register: in flight, unresolved or done. There is at most one. */
export async function findPrintOfReceipt(queries: Queries, merchantId: string, receiptUid: string): Promise<Command | undefined> {
  const [row] = await printOfReceipt(queries, { merchantId, receiptUid });
  return row && toCommand(row);
}

/** One more notice is written about the operation; its number, counted from 1. */
export async function countNotice(queries: Queries, commandId: string): Promise<number> {
  const row = await queries
    .updateTable('commands')
    .set({ notice_sequence: sql<number>`notice_sequence + 1` })
    .where('id', '=', commandId)
    .returning('notice_sequence')
    .executeTakeFirstOrThrow();
  return row.notice_sequence;
}
