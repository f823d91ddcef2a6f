// POS Mode's SQL over the ledger's commands, one function a verb.
import { type SqlBool, sql } from 'kysely';
import type { Database, Queries } from '../database/database.ts';
import { lockRows, nowMs } from '../database/dialect.ts';
import { keptStatement } from '../database/kept-statement.ts';
import { GatewayError } from '../kernel/error-codes.ts';
import type { Bani } from '../kernel/money.ts';
import { disputed, fieldsOf } from '../ledger/answers.ts';
import { type Command, commandColumns, holdsNumber, openOnly, openOrDone, paymentsOnly, toCommand } from '../ledger/command.ts';
import { committedRefundsOf, standingOf } from '../ledger/standing.ts';
import { findCommand, followersOf } from '../ledger/store.ts';
import type { LedgerCommandName } from '../link/protocol.ts';
import { noSuchOperation, wrongRrn } from './rules.ts';

/** Whoever ends a document knows of the payment [D58]. */
const toldNow = sql<number>`coalesce(told_at, now_ms())`;

const paymentOfDocument = keptStatement((queries, { merchantId, documentNr }: { merchantId: string; documentNr: string }) =>
  queries
    .selectFrom('commands')
    .select(commandColumns)
    .where('merchant_id', '=', merchantId)
    .where('document_nr', '=', documentNr)
    .where(paymentsOnly)
    .where(holdsNumber)
    .compile(),
);

/** The payment that holds this documentNr: in flight, unresolved or approved. There is at most one [D13]; one that lost it to another does not hold it. */
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
  /** The payment itself, where the caller has selected it: then its numbers decide nothing. */
  paymentId?: string | undefined;
  merchantId: string;
  deviceId: string;
  operationId: string;
  documentNr: string;
  /** Of a Refund: its payment has this one too. */
  rrn?: string | undefined;
}

/**
 * The approved or disputed payment that is meant, newest first because bank numbers restart [D16]. A documentNr names its own payment; one that
 * was made without documentNr is meant only when no payment of the merchant has the one that was asked for.
 */
export async function findOperation(queries: Queries, name: OperationName): Promise<Command | undefined> {
  if (name.paymentId !== undefined) return findCommand(queries, name.paymentId);
  const exact = await newestOperation(queries, name, name.documentNr);
  if (exact || (await findPaymentOfDocument(queries, name.merchantId, name.documentNr))) return exact;
  return newestOperation(queries, name, null);
}

/** Of a Refund: 20 that says which of the two numbers is wrong. */
export async function requireOperation(queries: Queries, name: OperationName): Promise<Command> {
  const payment = await findOperation(queries, name);
  if (payment) return payment;
  throw name.rrn !== undefined && (await findOperation(queries, { ...name, rrn: undefined })) ? wrongRrn() : noSuchOperation();
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
    .where(sql<SqlBool>`state in ('done', 'disputed')`)
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
async function lockPayment(database: Database, queries: Queries, id: string): Promise<Command> {
  const row = await lockRows(
    database.engine,
    queries.selectFrom('commands').select(commandColumns).where('id', '=', id),
  ).executeTakeFirstOrThrow();
  return toCommand(row);
}

export interface LockedPayment {
  payment: Command;
  /** Refunds that were made, and open ones, which may be [D17]. */
  refundedBani: Bani;
}

/** For a refund or void, in the transaction that commits it: 3 while the payment, or anything that takes its money back, is disputed [D143]. */
export async function lockUndisputed(database: Database, queries: Queries, id: string): Promise<LockedPayment> {
  const payment = await lockPayment(database, queries, id);
  const followers = await followersOf(queries, payment);
  if (standingOf(payment, followers) === 'disputed') throw disputed(fieldsOf(payment, followers));
  return { payment, refundedBani: committedRefundsOf(followers) };
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

/** The bank has the payments of this terminal that were closed before: refunds of them are over [D16]. */
export async function settleBankDay(queries: Queries, { deviceId, issuedAtMs }: Command): Promise<void> {
  await queries
    .updateTable('commands')
    .set({ bank_day_closed_at: nowMs })
    .where('device_id', '=', deviceId)
    .where('issued_at', '<=', issuedAtMs)
    .where(paymentsOnly)
    .where('document_state', '=', sql.lit('closed'))
    .where('bank_day_closed_at', 'is', null)
    .execute();
}

/** A close of the bank day turns out not to have been made: payments that no later close holds can be refunded again. */
export async function reopenBankDay(queries: Queries, { id, name, deviceId, issuedAtMs }: Command): Promise<void> {
  const otherClose = queries.selectFrom('commands').select('issued_at').where('device_id', '=', deviceId).where('name', '=', name);
  const done = otherClose.where('id', '!=', id).where('state', '=', 'done');
  const later = await done.where('issued_at', '>', issuedAtMs).limit(1).executeTakeFirst();
  if (later) return;
  const before = await done.orderBy('issued_at', 'desc').limit(1).executeTakeFirst();
  await queries
    .updateTable('commands')
    .set({ bank_day_closed_at: null })
    .where('device_id', '=', deviceId)
    .where('issued_at', '<=', issuedAtMs)
    .where('issued_at', '>', before?.issued_at ?? 0)
    .where(paymentsOnly)
    .execute();
}

/** Whether nothing else holds the terminal, and nothing was paid on it since. */
async function isTerminalFree(queries: Queries, { id, deviceId, issuedAtMs }: Command): Promise<boolean> {
  const others = queries.selectFrom('commands').select('id').where('device_id', '=', deviceId).where('id', '!=', id);
  const row = await others
    .where((where) =>
      where.or([
        openOnly,
        where('document_state', '=', 'open'),
        where.and([paymentsOnly, where('state', '=', 'done'), where('issued_at', '>', issuedAtMs)]),
      ]),
    )
    .limit(1)
    .executeTakeFirst();
  return row === undefined;
}

/** A CloseDoc or void turns out not to have been made: its payment is open again, or closed where the terminal has gone on. False: unchanged. */
export async function reviveDocument(
  queries: Queries,
  paymentId: string,
  from: 'closed' | 'voided',
): Promise<'open' | 'closed' | undefined> {
  const payment = await findCommand(queries, paymentId);
  if (payment?.documentState !== from) return undefined;
  const close = from === 'voided' ? await findCloseOf(queries, paymentId) : undefined;
  const to = close?.state !== 'done' && payment.bankDayClosedAtMs === null && (await isTerminalFree(queries, payment)) ? 'open' : 'closed';
  if (to === from) return undefined;
  const row = await queries
    .updateTable('commands')
    .set({ document_state: to })
    .where('id', '=', paymentId)
    .where('document_state', '=', from)
    .returning('id')
    .executeTakeFirst();
  return row && to;
}

/** The newest command of the device that did, or may have done, something; `names`: one of these. */
export async function findLastCommand(
  queries: Queries,
  deviceId: string,
  names: readonly LedgerCommandName[] = [],
): Promise<Command | undefined> {
  const row = await queries
    .selectFrom('commands')
    .select(commandColumns)
    .where('device_id', '=', deviceId)
    .where('state', '!=', 'never')
    .$if(names.length > 0, (query) => query.where('name', 'in', names))
    .orderBy('issued_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row && toCommand(row);
}
