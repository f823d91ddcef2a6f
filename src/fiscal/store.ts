// Fiscal Mode's SQL over the ledger's commands, one function per verb.
import { sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import type { Bani } from '../kernel/money.ts';
import { type Command, commandColumns, toCommand } from '../ledger/command.ts';
import { mayHaveHappened } from '../ledger/standing.ts';

/** The print whose receipt includes, or may include, the payment. */
export async function findPrintOfPayment(queries: Queries, paymentId: string): Promise<Command | undefined> {
  const row = await queries
    .selectFrom('commands')
    .select(commandColumns)
    .where('id', '=', (where) => where.selectFrom('receipt_payments').select('print_id').where('payment_id', '=', paymentId))
    .executeTakeFirst();
  const print = row && toCommand(row);
  return print && mayHaveHappened(print) ? print : undefined;
}

/** Assigns the payment to this print. */
export async function linkPayment(queries: Queries, paymentId: string, printId: string, amountBani: Bani): Promise<void> {
  const print = { print_id: printId, amount_bani: amountBani };
  await queries
    .insertInto('receipt_payments')
    .values({ payment_id: paymentId, ...print, voided_at: null })
    .onConflict((conflict) => conflict.column('payment_id').doUpdateSet(print))
    .execute();
}

/** Whether the merchant has an invoice with this OID. */
export async function isInvoice(queries: Queries, merchantId: string, oid: string): Promise<boolean> {
  const invoice = queries.selectFrom('invoices').select('oid').where('oid', '=', oid).where('merchant_id', '=', merchantId);
  return (await invoice.executeTakeFirst()) !== undefined;
}

/** Counts a notice about the operation; returns its number, from 1. */
export async function countNotice(queries: Queries, commandId: string): Promise<number> {
  const row = await queries
    .updateTable('commands')
    .set({ notice_sequence: sql<number>`notice_sequence + 1` })
    .where('id', '=', commandId)
    .returning('notice_sequence')
    .executeTakeFirstOrThrow();
  return row.notice_sequence;
}
