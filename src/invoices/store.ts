// The SQL of overdue invoices, of the history and of the orphan board, one function per verb. Batched reads, inserts and moves are in
// read-batch.ts, insert-batch.ts and move-batch.ts.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import { type Engine, nowMs, skipLocked } from '../database/dialect.ts';
import { hasStandingPayment } from '../ledger/standing-payment.ts';
import type { State } from './rules.ts';

/** A scanned invoice has the grace in addition to its limit [D22]. The grace is fixed per process, so it is a literal in the SQL text. */
export function timeIsUp(graceMs: number): RawBuilder<SqlBool> {
  const grace = sql.lit(graceMs);
  return sql<SqlBool>`coalesce(invoices.valid_to + case when invoices.state = 1 then ${grace} else 0 end <= ${nowMs}, false)`;
}

export interface OverdueInvoice {
  oid: string;
  merchantId: string;
  state: State;
  callbackUri: string | null;
  hasPayments: boolean;
}

/** The condition of the partial index. */
export const isOpenWithLimit = sql<SqlBool>`(invoices.ended_at is null and invoices.valid_to is not null)`;

/** No payment is known that prevents the expiry [D142]; checked again under the lock. */
const mayExpire = sql<SqlBool>`(invoices.payment_begun_at is null or not ${hasStandingPayment('invoices.merchant_id', 'invoices.oid')})`;

/**
 * Locks up to `limit` overdue invoices, the longest overdue first, until the transaction ends. Invoices that another transaction has locked
 * are skipped.
 */
export async function holdOverdueInvoices(queries: Queries, engine: Engine, graceMs: number, limit: number): Promise<OverdueInvoice[]> {
  // The clock is in a subquery, because PostgreSQL uses an index only for a value that it computes once; otherwise each sweep would read
  // every open invoice.
  const overdue = queries
    .selectFrom('invoices')
    .select(['oid', 'merchant_id', 'state', 'callback_uri', 'payment_begun_at'])
    .where(isOpenWithLimit)
    .where('valid_to', '<=', sql<number>`(select ${nowMs})`)
    .where(timeIsUp(graceMs))
    .where(mayExpire)
    .orderBy('valid_to')
    .limit(limit);
  const rows = await skipLocked(engine, overdue).execute();
  return rows.map((row) => ({
    oid: row.oid,
    merchantId: row.merchant_id,
    state: row.state as State,
    callbackUri: row.callback_uri,
    hasPayments: row.payment_begun_at !== null,
  }));
}

export async function insertEvent(queries: Queries, oid: string, event: string, detail: object): Promise<void> {
  await queries
    .insertInto('invoice_events')
    .values({ oid, at: nowMs, event, detail: JSON.stringify(detail) })
    .execute();
}

/** A holder of the QR can send any number of receipt ids, so the orphans per invoice are bounded. */
const maxOrphansPerInvoice = 100;

export interface InvoiceEvent {
  atMs: number;
  event: string;
  detail: Record<string, unknown>;
}

/** The history of an invoice, oldest first. */
export async function listInvoiceEvents(queries: Queries, oid: string, limit: number): Promise<InvoiceEvent[]> {
  const rows = await queries
    .selectFrom('invoice_events')
    .select(['at', 'event', 'detail'])
    .where('oid', '=', oid)
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map((row) => ({ atMs: row.at, event: row.event, detail: JSON.parse(row.detail) as Record<string, unknown> }));
}

/** Of rows `o` of orphan_payments. Subqueries by the invoice's key, not a join: for a join, PostgreSQL might read all invoices. */
const isApplied = sql<SqlBool>`((
  select paid.receipt_id = o.receipt_id and paid.paid_device_id = o.device_id from invoices paid where paid.oid = o.oid
) is true)`;
const isPaidByCardToo = hasStandingPayment('o.merchant_id', 'o.oid', { standing: 'done', elsewhereThan: 'o.device_id' });

/**
 * Condition on a row `o` of orphan_payments: its invoice was not paid with that payment, or it was also paid by card [D186]. A payment that
 * was refused and applied later (Payd before Get, a device that was enabled too late) is no orphan: giving that money back would refund a
 * sale that was paid once.
 */
export const isStillOrphan = sql<SqlBool>`(not ${isApplied} or ${isPaidByCardToo})`;

export const paidByCardToo = 'paid-by-card-too';

/** A payment that was refused first, for another reason, may have been applied beside a card payment. */
export const orphanReason = sql<string>`case when ${isApplied} then ${sql.lit(paidByCardToo)} else o.reason end`;

interface OfOrphan {
  oid: string;
  merchantId: string;
}

interface OrphanPayment {
  receiptId: string;
  deviceId: string;
}

/** 'new': added to the board. 'known': it was there before. 'full': the invoice has too many orphans. */
export async function insertOrphan(
  queries: Queries,
  invoice: OfOrphan,
  payment: OrphanPayment,
  reason: string,
): Promise<'new' | 'known' | 'full'> {
  // Counts the others only, so that a repeat is 'known' on a full board.
  const { count } = await queries
    .selectFrom('orphan_payments')
    .select((row) => row.fn.countAll<number>().as('count'))
    .where('oid', '=', invoice.oid)
    .where((row) => row.not(row.and({ receipt_id: payment.receiptId, device_id: payment.deviceId })))
    .executeTakeFirstOrThrow();
  if (count >= maxOrphansPerInvoice) return 'full';
  return (await insert(queries, invoice, payment, reason)) ? 'new' : 'known';
}

/**
 * The payment with which the invoice was paid, beside a card payment [D186]. There is one for each invoice, so a full board takes it, too.
 * A note about it, as a refused payment or before the card payment stood again, hides it no longer; the audit log keeps the note.
 */
export async function insertPaidByCardToo(queries: Queries, invoice: OfOrphan, payment: OrphanPayment): Promise<void> {
  if (await insert(queries, invoice, payment, paidByCardToo)) return;
  const row = queries
    .selectFrom('orphan_payments')
    .select(sql<string>`cast(id as text)`.as('id'))
    .where('oid', '=', invoice.oid)
    .where('receipt_id', '=', payment.receiptId)
    .where('device_id', '=', payment.deviceId);
  await queries.deleteFrom('notes').where('kind', '=', 'paydRefused').where('subject_id', 'in', row).execute();
}

/** False: it was there before. */
async function insert(queries: Queries, invoice: OfOrphan, payment: OrphanPayment, reason: string): Promise<boolean> {
  const made = await queries
    .insertInto('orphan_payments')
    .values({
      merchant_id: invoice.merchantId,
      oid: invoice.oid,
      receipt_id: payment.receiptId,
      device_id: payment.deviceId,
      reason,
      at: nowMs,
    })
    .onConflict((conflict) => conflict.columns(['oid', 'receipt_id', 'device_id']).doNothing())
    .returning('oid')
    .executeTakeFirst();
  return made !== undefined;
}
