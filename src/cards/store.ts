// POS Mode's SQL over the ledger's commands, one function per verb.
import { type SqlBool, sql } from 'kysely';
import type { Database, Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import { disputed, fieldsOf } from '../ledger/answers.ts';
import { findPaymentOfDocument, receivedByEnding } from '../ledger/claims.ts';
import { type Command, commandColumns, disputedOnly, openOrDone, paymentsOnly, toCommand } from '../ledger/command.ts';
import { dayClosedAfter, documentNow, endDocument, lockDevice, openDocument } from '../ledger/device-lock.ts';
import { type Follower, standingOf, wasDone } from '../ledger/standing.ts';
import { findCommand, followersOf, lockCommand } from '../ledger/store.ts';
import type { LedgerCommandName } from '../link/protocol.ts';
import { noSuchOperation, wrongRrn } from './rules.ts';

/** Approved, or disputed: then it may have been charged. */
const doneOrDisputed = sql<SqlBool>`state in ('done', 'disputed')`;

export interface OperationName {
  /** The payment itself, if the caller has selected it: then the numbers are ignored. */
  paymentId?: string | undefined;
  merchantId: string;
  deviceId: string;
  operationId: string;
  documentNr: string;
  /** Of a Refund: the payment must have this rrn. */
  rrn?: string | undefined;
}

/**
 * The approved or disputed payment with this name, newest first because bank numbers restart [D16]. A payment without documentNr matches
 * only if no payment of the merchant has the requested documentNr.
 */
export async function findOperation(queries: Queries, name: OperationName): Promise<Command | undefined> {
  if (name.paymentId !== undefined) return findCommand(queries, name.paymentId);
  const exact = await newestOperation(queries, name, name.documentNr);
  if (exact || (await findPaymentOfDocument(queries, name.merchantId, name.documentNr))) return exact;
  return newestOperation(queries, name, null);
}

/** For a Refund: the message of 20 names the wrong number, operationId or rrn. */
export async function requireOperation(queries: Queries, name: OperationName): Promise<Command> {
  const payment = await findOperation(queries, name);
  if (payment) return payment;
  throw (await findOperation(queries, { ...name, rrn: undefined })) ? wrongRrn() : noSuchOperation();
}

async function newestOperation(queries: Queries, name: OperationName, documentNr: string | null): Promise<Command | undefined> {
  const { rrn } = name;
  const row = await queries
    .selectFrom('bank_operations')
    .innerJoin('commands', 'commands.id', 'bank_operations.payment_id')
    .select(commandColumns.map((column) => `commands.${column}` as const))
    .where('bank_operations.device_id', '=', name.deviceId)
    .where('bank_operations.operation_id', '=', name.operationId)
    .where('merchant_id', '=', name.merchantId)
    // A number that an operator entered may have been corrected since.
    .where('commands.operation_id', '=', name.operationId)
    .where('document_nr', documentNr === null ? 'is' : '=', documentNr)
    .where(doneOrDisputed)
    .$if(rrn !== undefined, (query) => query.where('rrn', '=', rrn as string))
    .orderBy('issued_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row && toCommand(row);
}

/** Whether any approved or disputed payment on this terminal has the operationId, under any documentNr. */
export async function isOperationKnown(queries: Queries, name: Omit<OperationName, 'documentNr' | 'rrn'>): Promise<boolean> {
  const row = await queries
    .selectFrom('bank_operations')
    .innerJoin('commands', 'commands.id', 'bank_operations.payment_id')
    .select('commands.id')
    .where('bank_operations.device_id', '=', name.deviceId)
    .where('bank_operations.operation_id', '=', name.operationId)
    .where('merchant_id', '=', name.merchantId)
    .where(doneOrDisputed)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

export interface LockedPayment {
  payment: Command;
  followers: Follower[];
}

/**
 * For a refund or void, in the transaction that commits it: 3 while the payment, or a refund or void of it, is disputed [D143]; 20 if the
 * payment proves not to have been made.
 */
export async function lockUndisputed(database: Database, queries: Queries, id: string): Promise<LockedPayment> {
  const payment = await lockCommand(database.engine, queries, id);
  const followers = await requireUndisputed(queries, payment);
  // The payment was disputed when it was found, and was resolved as not executed since.
  if (!wasDone(payment)) throw noSuchOperation();
  return { payment, followers };
}

/** 3 while the payment, or a refund or void of it, is disputed [D143]. */
export async function requireUndisputed(queries: Queries, payment: Command): Promise<Follower[]> {
  const followers = await followersOf(queries, payment);
  if (standingOf(payment, followers) === 'disputed') throw disputed(fieldsOf(payment, followers));
  return followers;
}

/** The CloseDoc of a payment that is in flight, unresolved, done or disputed. */
export async function findCloseOf(queries: Queries, paymentId: string): Promise<Command | undefined> {
  const row = await queries
    .selectFrom('commands')
    .select(commandColumns)
    .where('target_id', '=', paymentId)
    .where('name', '=', sql.lit('CloseDoc'))
    .where(sql<SqlBool>`(${openOrDone} or ${disputedOnly})`)
    .orderBy('issued_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row && toCommand(row);
}

/** Whether another payment under the documentNr was made and voided. */
export async function hasVoidedPayment(queries: Queries, { merchantId, documentNr }: Command): Promise<boolean> {
  const payment = queries.selectFrom('commands').select('id').where('merchant_id', '=', merchantId).where('document_nr', '=', documentNr);
  const voided = payment.where(paymentsOnly).where('state', '=', 'done').where('document_state', '=', 'voided');
  return (await voided.executeTakeFirst()) !== undefined;
}

/** The payment, unless it was voided before. Under the device's lock. */
export async function voidDocument(queries: Queries, paymentId: string, voidId: string): Promise<Command | undefined> {
  const row = await queries
    .updateTable('commands')
    .set({ document_state: 'voided', outcome_received_at: receivedByEnding(sql`${voidId}`) })
    .where('id', '=', paymentId)
    .where('document_state', 'in', ['open', 'closed'])
    .returning(commandColumns)
    .executeTakeFirst();
  if (!row) return undefined;
  await endDocument(queries, { id: paymentId, deviceId: row.device_id });
  await markOnReceipt(queries, paymentId, nowMs);
  return toCommand(row);
}

/** Voided, or never made: a receipt with this payment may be printed, and then an operator has to check it [D146]. False: there is none. */
export async function markOnReceipt(queries: Queries, paymentId: string, voidedAt: typeof nowMs | null): Promise<boolean> {
  const marked = queries.updateTable('receipt_payments').set({ voided_at: voidedAt }).where('payment_id', '=', paymentId);
  return (await marked.returning('payment_id').executeTakeFirst()) !== undefined;
}

/**
 * The payments of this terminal were sent to the bank: they can no longer be refunded [D16]. A document is still open only if its payment
 * and the close were both disputed, and the payment was resolved first; or while its void or CloseDoc is disputed.
 */
export async function settleBankDay(queries: Queries, { deviceId, issuedAtMs }: Command): Promise<void> {
  await queries
    .updateTable('commands')
    .set({ bank_day_closed_at: nowMs })
    .where('device_id', '=', deviceId)
    .where('issued_at', '<=', issuedAtMs)
    .where(paymentsOnly)
    .where('document_state', 'in', ['open', 'closed'])
    .where('bank_day_closed_at', 'is', null)
    .execute();
}

/** A close of the bank day proves not to have been made: payments that no other close includes can be refunded again. */
export async function reopenBankDay(queries: Queries, { id, name, deviceId, issuedAtMs }: Command): Promise<void> {
  const newest = await queries
    .selectFrom('commands')
    .select('issued_at')
    .where('device_id', '=', deviceId)
    .where('name', '=', name)
    .where('id', '!=', id)
    .where('state', '=', 'done')
    .orderBy('issued_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  await queries
    .updateTable('commands')
    .set({ bank_day_closed_at: null })
    .where('device_id', '=', deviceId)
    .where('issued_at', '<=', issuedAtMs)
    .where('issued_at', '>', newest?.issued_at ?? 0)
    .where(paymentsOnly)
    .execute();
}

/**
 * A CloseDoc or void proves not to have been made: the document is open again, or closed if the terminal was used since or its day was
 * closed. One that was open during the dispute locks the terminal again. Null: the payment itself is disputed and locks no terminal; its
 * own resolution decides. Undefined: unchanged.
 */
export async function reviveDocument(
  engine: Database['engine'],
  queries: Queries,
  paymentId: string,
  from: 'open' | 'closed' | 'voided',
): Promise<'open' | 'closed' | 'voided' | null | undefined> {
  const payment = await findCommand(queries, paymentId);
  if (payment?.documentState !== from) return undefined;
  const lock = await lockDevice(engine, queries, payment.deviceId);
  const bankDayClosedAtMs = payment.bankDayClosedAtMs ?? (await dayClosedAfter(queries, payment));
  const document = await documentNow(queries, lock, { ...payment, bankDayClosedAtMs });
  const to = document === 'open' && payment.state === 'disputed' ? null : document;
  if (to === from && to !== 'open') return undefined;
  const row = await queries
    .updateTable('commands')
    .set({ document_state: to, ...(to === 'closed' && { bank_day_closed_at: bankDayClosedAtMs }) })
    .where('id', '=', paymentId)
    .where('document_state', '=', from)
    .returning('id')
    .executeTakeFirst();
  if (row && to === 'open') await openDocument(queries, payment);
  if (row && from === 'voided') await markOnReceipt(queries, paymentId, null);
  return row && to;
}

/** The newest command of the device that was or may have been executed; `names`: only these kinds. */
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
