// Fiscal Mode's SQL over the ledger's commands, one function a verb.
import { type SqlBool, sql } from 'kysely';
import type { Database, Queries } from '../database/database.ts';
import { lockRows } from '../database/dialect.ts';
import { keptStatement } from '../database/kept-statement.ts';
import type { Bani } from '../kernel/money.ts';
import { type Command, commandColumns, holdsNumber, openOrDone, paymentsOnly, toCommand } from '../ledger/command.ts';

const printOfReceipt = keptStatement((queries, { merchantId, receiptUid }: { merchantId: string; receiptUid: string }) =>
  queries
    .selectFrom('commands')
    .select(commandColumns)
    .where('merchant_id', '=', merchantId)
    .where('receipt_uid', '=', receiptUid)
    .where(holdsNumber)
    .compile(),
);

/** The print under this Receipt.Uid, on whichever register: in flight, unresolved or done. There is at most one. */
export async function findPrintOfReceipt(queries: Queries, merchantId: string, receiptUid: string): Promise<Command | undefined> {
  const [row] = await printOfReceipt(queries, { merchantId, receiptUid });
  return row && toCommand(row);
}

const mayHaveHappened = sql<SqlBool>`state in ('sent', 'unknown', 'done', 'disputed')`;

/** The card payment under a documentNr, unless it certainly was not made. */
export async function findPayment(queries: Queries, merchantId: string, documentNr: string): Promise<Command | undefined> {
  const row = await queries
    .selectFrom('commands')
    .select(commandColumns)
    .where('merchant_id', '=', merchantId)
    .where('document_nr', '=', documentNr)
    .where(paymentsOnly)
    .where(mayHaveHappened)
    .orderBy(sql`case when ${openOrDone} then 0 else 1 end`)
    .limit(1)
    .executeTakeFirst();
  return row && toCommand(row);
}

/** Locks the payment's row, as its refunds and voids do, and reads it again. */
export async function lockPayment(database: Database, queries: Queries, id: string): Promise<Command> {
  const payment = queries.selectFrom('commands').select(commandColumns).where('id', '=', id);
  return toCommand(await lockRows(database.engine, payment).executeTakeFirstOrThrow());
}

/** The receipt that a payment is on, or may be on. */
export async function findPrintOfPayment(queries: Queries, paymentId: string): Promise<Command | undefined> {
  const row = await queries
    .selectFrom('commands')
    .select(commandColumns)
    .where('id', '=', (where) => where.selectFrom('receipt_payments').select('print_id').where('payment_id', '=', paymentId))
    .where(mayHaveHappened)
    .executeTakeFirst();
  return row && toCommand(row);
}

/** From now on the payment belongs to this print. */
export async function linkPayment(queries: Queries, paymentId: string, printId: string, amountBani: Bani): Promise<void> {
  const print = { print_id: printId, amount_bani: amountBani };
  await queries
    .insertInto('receipt_payments')
    .values({ payment_id: paymentId, ...print, voided_at: null })
    .onConflict((conflict) => conflict.column('payment_id').doUpdateSet(print))
    .execute();
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
