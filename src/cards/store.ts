// POS Mode's SQL over the ledger's commands, one function a verb.
import { sql } from 'kysely';
import type { Database, Queries } from '../database/database.ts';
import { lockRows, nowMs } from '../database/dialect.ts';
import { keptStatement } from '../database/kept-statement.ts';
import { GatewayError } from '../kernel/error-codes.ts';
import type { Bani } from '../kernel/money.ts';
import { type Command, commandColumns, openOrDone, paymentsOnly, toCommand } from '../ledger/command.ts';

/** Whoever ends a document knows of the payment [D58]. */
const toldNow = sql<number>`coalesce(told_at, now_ms())`;

const paymentOfDocument = keptStatement((queries, { merchantId, documentNr }: { merchantId: string; documentNr: string }) =>
  queries
    .selectFrom('commands')
    .select(commandColumns)
    .where('merchant_id', '=', merchantId)
    .where('document_nr', '=', documentNr)
    .where(paymentsOnly)
    .where(openOrDone)
    .compile(),
);

/** The payment that holds this documentNr: in flight, unresolved or approved. There is at most one [D13]. */
export async function findPaymentOfDocument(queries: Queries, merchantId: string, documentNr: string): Promise<Command | undefined> {
  const [row] = await paymentOfDocument(queries, { merchantId, documentNr });
  return row && toCommand(row);
}

/** 22 if a register charged, or is charging, a card for the receipt of this number [D146]. */
export async function requireUncharged(queries: Queries, merchantId: string, documentNr: string): Promise<void> {
  const print = await queries
    .selectFrom('commands')
    .select('id')
    .where('merchant_id', '=', merchantId)
    .where('receipt_uid', 'in', [documentNr, documentNr.toUpperCase()])
    .where(openOrDone)
    .where('card_bani', '>', 0)
    .limit(1)
    .executeTakeFirst();
  if (!print) return;
  const sentence = 'A register has charged a card for the receipt of this number, or is about to; it is not charged again.';
  throw new GatewayError('The_status_cannot_be_applied', sentence, { fields: { OID: print.id } });
}

export interface OperationName {
  merchantId: string;
  deviceId: string;
  operationId: string;
  documentNr: string;
  /** Of a Refund: its payment has this one too. */
  rrn?: string | undefined;
}

/**
 * The approved payment that is meant, newest first because bank numbers restart [D16]. A documentNr names its own payment; one that
 * was made without documentNr is meant only when no payment of the merchant has the one that was asked for.
 */
export async function findOperation(queries: Queries, name: OperationName): Promise<Command | undefined> {
  const exact = await newestOperation(queries, name, name.documentNr);
  if (exact || (await findPaymentOfDocument(queries, name.merchantId, name.documentNr))) return exact;
  return newestOperation(queries, name, null);
}

async function newestOperation(queries: Queries, name: OperationName, documentNr: string | null): Promise<Command | undefined> {
  const { rrn } = name;
  const row = await queries
    .selectFrom('commands')
    .select(commandColumns)
    .where('merchant_id', '=', name.merchantId)
    .where('device_id', '=', name.deviceId)
    .where('operation_id', '=', name.operationId)
    .where('document_nr', documentNr === null ? 'is' : '=', documentNr)
    .where(paymentsOnly)
    .where('state', '=', sql.lit('done'))
    .$if(rrn !== undefined, (query) => query.where('rrn', '=', rrn as string))
    .orderBy('issued_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row && toCommand(row);
}

/** Whether any approved payment on this terminal has the number, under whatever documentNr. */
export async function isOperationKnown(queries: Queries, name: Omit<OperationName, 'documentNr' | 'rrn'>): Promise<boolean> {
  const row = await queries
    .selectFrom('commands')
    .select('id')
    .where('merchant_id', '=', name.merchantId)
    .where('device_id', '=', name.deviceId)
    .where('operation_id', '=', name.operationId)
    .where(paymentsOnly)
    .where('state', '=', sql.lit('done'))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Locks the payment's row and reads it again: until the transaction ends nobody else adds a refund to it. */
export async function lockPayment(database: Database, queries: Queries, id: string): Promise<Command> {
  const row = await lockRows(
    database.engine,
    queries.selectFrom('commands').select(commandColumns).where('id', '=', id),
  ).executeTakeFirstOrThrow();
  return toCommand(row);
}

/** What was refunded of a payment: unresolved refunds included [D17], and what its device says that it gave back after all [D129]. */
export async function refundedOf(queries: Queries, paymentId: string): Promise<Bani> {
  const row = await queries
    .selectFrom('commands')
    .select(sql<number>`cast(coalesce(sum(amount_bani), 0) as bigint)`.as('bani'))
    .where('target_id', '=', paymentId)
    .where((where) => {
      const isContradicted = where('contradicted_at', 'is not', null);
      const isRefund = where.and([where('name', '=', sql.lit('Refund')), where.or([openOrDone, isContradicted])]);
      return where.or([isRefund, where.and([where('name', '=', sql.lit('CancelTransaction')), isContradicted])]);
    })
    .executeTakeFirstOrThrow();
  return row.bani;
}

/** A refund or void of the payment that was settled as not done, and of which its terminal says that it did it: nobody has looked yet [D129]. */
export async function findDoneAfterAll(queries: Queries, paymentId: string): Promise<Command | undefined> {
  const row = await queries
    .selectFrom('commands')
    .select(commandColumns)
    .where('target_id', '=', paymentId)
    .where('name', 'in', ['Refund', 'CancelTransaction'])
    .where('contradicted_at', 'is not', null)
    .where('reviewed_at', 'is', null)
    .limit(1)
    .executeTakeFirst();
  return row && toCommand(row);
}

/** The CloseDoc of a payment that is in flight, unresolved or done. */
export async function findCloseOf(queries: Queries, paymentId: string): Promise<Command | undefined> {
  const row = await queries
    .selectFrom('commands')
    .select(commandColumns)
    .where('target_id', '=', paymentId)
    .where('name', '=', sql.lit('CloseDoc'))
    .where(openOrDone)
    .orderBy('issued_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row && toCommand(row);
}

/** The payment, unless it was voided before. */
export async function voidDocument(queries: Queries, paymentId: string): Promise<Command | undefined> {
  const row = await queries
    .updateTable('commands')
    .set({ document_state: 'voided', told_at: toldNow })
    .where('id', '=', paymentId)
    .where('document_state', 'in', ['open', 'closed'])
    .returning(commandColumns)
    .executeTakeFirst();
  if (!row) return undefined;
  // A receipt with this payment may be printed: then a person has to look [D146].
  await queries.updateTable('receipt_payments').set({ voided_at: nowMs }).where('payment_id', '=', paymentId).execute();
  return toCommand(row);
}

/** The bank has the closed payments of this terminal: refunds of them are over [D16]. */
export async function settleBankDay(queries: Queries, deviceId: string): Promise<void> {
  await queries
    .updateTable('commands')
    .set({ bank_day_closed_at: nowMs })
    .where('device_id', '=', deviceId)
    .where(paymentsOnly)
    .where('document_state', '=', sql.lit('closed'))
    .where('bank_day_closed_at', 'is', null)
    .execute();
}

/** The newest command of the device that did, or may have done, something. */
export async function findLastCommand(queries: Queries, deviceId: string): Promise<Command | undefined> {
  const row = await queries
    .selectFrom('commands')
    .select(commandColumns)
    .where('device_id', '=', deviceId)
    .where('state', '!=', 'never')
    .orderBy('issued_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row && toCommand(row);
}
