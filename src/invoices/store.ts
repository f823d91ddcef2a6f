// Invoices in the database, one function a verb. Every change of state is one guarded update: it names the state it expects
// and the time condition, by the database's clock, and changes nothing when either no longer holds.
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import { nowMs, skipLocked } from '../database/dialect.ts';
import { type Condition, type State, states, type Transition } from './rules.ts';

export interface InvoiceFacts {
  oid: string;
  merchantId: string;
  qrSecretId: number;
  state: State;
  receiptId: string | null;
  paidDeviceId: string | null;
  isTimeUp: boolean;
}

export interface InvoiceForPayment extends InvoiceFacts {
  /** The device is registered with the invoice's merchant, and not disabled. */
  isDeviceRegistered: boolean;
}

export interface InvoiceContent extends InvoiceFacts {
  /** JSON text, as it was stored. */
  receipt: string;
  validToMs: number | null;
  pointOfSalesCode: string | null;
  preferredDeviceId: string | null;
}

/** Which invoice, and within which merchant it is looked for: undefined, whoever holds the QR may ask [D10]. */
export interface InvoiceKey {
  oid: string;
  merchantId: string | undefined;
}

export interface NewInvoice {
  oid: string;
  merchantId: string;
  qrSecretId: number;
  receipt: string;
  amountBani: number | null;
  callbackUri: string | null;
  validToMs: number | null;
  pointOfSalesCode: string | null;
  preferredDeviceId: string | null;
}

export interface MovedInvoice {
  oid: string;
  merchantId: string;
  callbackUri: string | null;
  callbackSequence: number;
  receiptId: string | null;
  paidDeviceId: string | null;
}

export interface Payment {
  receiptId: string;
  deviceId: string;
}

/** A scanned invoice outlives its limit by the grace [D22]. The grace is fixed per process, so it stands in the SQL text. */
function timeIsUp(graceMs: number): RawBuilder<SqlBool> {
  const grace = sql.lit(graceMs);
  return sql<SqlBool>`coalesce(invoices.valid_to + case when invoices.state = 1 then ${grace} else 0 end <= ${nowMs}, false)`;
}

function holds(condition: Condition, graceMs: number): RawBuilder<SqlBool> {
  if (condition === 'same-payment') throw new Error('A move never hangs on a payment made before.');
  return condition === 'time-is-up' ? timeIsUp(graceMs) : sql<SqlBool>`not ${timeIsUp(graceMs)}`;
}

function selectFacts(queries: Queries, key: InvoiceKey, graceMs: number) {
  const { merchantId } = key;
  return queries
    .selectFrom('invoices')
    .select(['oid', 'merchant_id', 'qr_secret_id', 'state', 'receipt_id', 'paid_device_id', timeIsUp(graceMs).as('is_time_up')])
    .where('oid', '=', key.oid)
    .$if(merchantId !== undefined, (query) => query.where('merchant_id', '=', merchantId as string));
}

type FactsRow = NonNullable<Awaited<ReturnType<ReturnType<typeof selectFacts>['executeTakeFirst']>>>;

function readFacts(row: FactsRow): InvoiceFacts {
  return {
    oid: row.oid,
    merchantId: row.merchant_id,
    qrSecretId: row.qr_secret_id,
    state: row.state as State,
    receiptId: row.receipt_id,
    paidDeviceId: row.paid_device_id,
    // A comparison comes back as a boolean from one engine and as 0 or 1 from the other.
    isTimeUp: Boolean(row.is_time_up),
  };
}

export async function findInvoice(queries: Queries, key: InvoiceKey, graceMs: number): Promise<InvoiceFacts | undefined> {
  const row = await selectFacts(queries, key, graceMs).executeTakeFirst();
  return row && readFacts(row);
}

export async function findInvoiceContent(queries: Queries, key: InvoiceKey, graceMs: number): Promise<InvoiceContent | undefined> {
  const row = await selectFacts(queries, key, graceMs)
    .select(['receipt', 'valid_to', 'point_of_sales_code', 'preferred_device_id'])
    .executeTakeFirst();
  if (!row) return undefined;
  return {
    ...readFacts(row),
    receipt: row.receipt,
    validToMs: row.valid_to,
    pointOfSalesCode: row.point_of_sales_code,
    preferredDeviceId: row.preferred_device_id,
  };
}

export async function findInvoiceForPayment(
  queries: Queries,
  key: InvoiceKey,
  deviceId: string,
  graceMs: number,
): Promise<InvoiceForPayment | undefined> {
  const row = await selectFacts(queries, key, graceMs)
    .select((invoice) =>
      invoice
        .exists(
          invoice
            .selectFrom('devices')
            .select('devices.id')
            .where('devices.id', '=', deviceId)
            .whereRef('devices.merchant_id', '=', 'invoices.merchant_id')
            .where('devices.disabled_at', 'is', null),
        )
        .as('is_device_registered'),
    )
    .executeTakeFirst();
  return row && { ...readFacts(row), isDeviceRegistered: Boolean(row.is_device_registered) };
}

/** False, and nothing written, if the validity limit has passed already [D23]. */
export async function insertInvoice(queries: Queries, invoice: NewInvoice): Promise<boolean> {
  const validTo = sql<number | null>`cast(${invoice.validToMs} as bigint)`;
  const made = await queries
    .insertInto('invoices')
    .columns([
      'oid',
      'merchant_id',
      'qr_secret_id',
      'state',
      'receipt',
      'callback_uri',
      'valid_to',
      'point_of_sales_code',
      'preferred_device_id',
      'callback_sequence',
      'created_at',
      'amount_bani',
    ])
    .expression(
      queries
        .selectNoFrom([
          sql<string>`cast(${invoice.oid} as text)`.as('oid'),
          sql<string>`cast(${invoice.merchantId} as text)`.as('merchant_id'),
          sql<number>`cast(${invoice.qrSecretId} as bigint)`.as('qr_secret_id'),
          sql.lit(states.newItem).as('state'),
          sql<string>`cast(${invoice.receipt} as text)`.as('receipt'),
          sql<string | null>`cast(${invoice.callbackUri} as text)`.as('callback_uri'),
          validTo.as('valid_to'),
          sql<string | null>`cast(${invoice.pointOfSalesCode} as text)`.as('point_of_sales_code'),
          sql<string | null>`cast(${invoice.preferredDeviceId} as text)`.as('preferred_device_id'),
          sql.lit(0).as('callback_sequence'),
          nowMs.as('created_at'),
          sql<number | null>`cast(${invoice.amountBani} as bigint)`.as('amount_bani'),
        ])
        .where(sql<SqlBool>`coalesce(${validTo} > ${nowMs}, true)`),
    )
    .returning('oid')
    .executeTakeFirst();
  return made !== undefined;
}

const movedColumns = ['oid', 'merchant_id', 'callback_uri', 'callback_sequence', 'receipt_id', 'paid_device_id'] as const;

interface MovedRow {
  oid: string;
  merchant_id: string;
  callback_uri: string | null;
  callback_sequence: number;
  receipt_id: string | null;
  paid_device_id: string | null;
}

function readMoved(row: MovedRow): MovedInvoice {
  return {
    oid: row.oid,
    merchantId: row.merchant_id,
    callbackUri: row.callback_uri,
    callbackSequence: row.callback_sequence,
    receiptId: row.receipt_id,
    paidDeviceId: row.paid_device_id,
  };
}

/** The one guarded update; undefined if the invoice is no longer where the transition starts, or the time condition no longer holds. */
export async function moveInvoice(
  queries: Queries,
  oid: string,
  transition: Transition,
  graceMs: number,
  payment?: Payment,
): Promise<MovedInvoice | undefined> {
  const moved = await queries
    .updateTable('invoices')
    .set((invoice) => ({ state: transition.to, callback_sequence: invoice('callback_sequence', '+', 1) }))
    .set(transition.to === states.scanned ? { scanned_at: nowMs } : { ended_at: nowMs })
    .$if(payment !== undefined, (query) => query.set({ receipt_id: payment?.receiptId ?? null, paid_device_id: payment?.deviceId ?? null }))
    .where('oid', '=', oid)
    .where('state', '=', transition.from)
    .where(holds(transition.condition, graceMs))
    .returning(movedColumns)
    .executeTakeFirst();
  return moved && readMoved(moved);
}

/** Up to `limit` overdue invoices, the longest overdue first. Those that another transaction is about to move are left to it. */
export async function expireOverdueInvoices(
  queries: Queries,
  engine: 'sqlite' | 'postgres',
  graceMs: number,
  limit: number,
): Promise<MovedInvoice[]> {
  // The first two conditions are those of the partial index, with its literals. The clock stands in a select of its own,
  // because PostgreSQL searches an index only for what it reckons once; otherwise each sweep would read every open invoice.
  const overdue = queries
    .selectFrom('invoices')
    .select('oid')
    .where(sql<SqlBool>`invoices.state in (0, 1) and invoices.valid_to is not null`)
    .where('valid_to', '<=', sql<number>`(select ${nowMs})`)
    .where(timeIsUp(graceMs))
    .orderBy('valid_to')
    .limit(limit);
  const moved = await queries
    .updateTable('invoices')
    .set((invoice) => ({ state: states.expired, ended_at: nowMs, callback_sequence: invoice('callback_sequence', '+', 1) }))
    .where('oid', 'in', skipLocked(engine, overdue))
    .returning(movedColumns)
    .execute();
  return moved.map(readMoved);
}

export async function insertEvents(queries: Queries, oids: readonly string[], event: string, detail: object): Promise<void> {
  const text = JSON.stringify(detail);
  await queries
    .insertInto('invoice_events')
    .values(oids.map((oid) => ({ oid, at: nowMs, event, detail: text })))
    .execute();
}

/** Whoever holds a QR can name any number of receipts: what an invoice's board may hold is bounded. */
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

/** Whether the payment is on the board now for the first time, was there before, or found the invoice's part of it full. */
export async function insertOrphan(
  queries: Queries,
  invoice: InvoiceFacts,
  payment: Payment,
  reason: string,
): Promise<'new' | 'known' | 'full'> {
  // Of the others, so that a repeat is not taken for one that has no room.
  const { count } = await queries
    .selectFrom('orphan_payments')
    .select((row) => row.fn.countAll<number>().as('count'))
    .where('oid', '=', invoice.oid)
    .where((row) => row.not(row.and({ receipt_id: payment.receiptId, device_id: payment.deviceId })))
    .executeTakeFirstOrThrow();
  if (count >= maxOrphansPerInvoice) return 'full';
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
  return made === undefined ? 'known' : 'new';
}
