// Reads of invoices: requests that come while a read is under way share the next one, as one statement. A read begins after its request
// came in, so no answer is older than its request; nothing is written, so nothing can be lost or duplicated.
// A large receipt is not read in a batch: its request reads it alone, so that the others do not wait for it.
import { type RawBuilder, sql } from 'kysely';
import { type BatchRow, type RowsText, rowsAs, rowsText } from '../database/batch-rows.ts';
import type { Database, Queries } from '../database/database.ts';
import { createGroup } from '../database/group.ts';
import { keptStatement } from '../database/kept-statement.ts';
import { maxSharedReceipt } from './insert-batch.ts';
import type { State } from './rules.ts';
import { timeIsUp } from './store.ts';

export interface InvoiceFacts {
  oid: string;
  merchantId: string;
  qrSecretId: number;
  state: State;
  callbackUri: string | null;
  receiptId: string | null;
  paidDeviceId: string | null;
  /** By its validity limit alone, whatever its payments. */
  isTimeUp: boolean;
  /** A card payment under its OID was begun at some time; its standing needs another read (standing-payment.ts). */
  hasPayments: boolean;
}

export interface InvoiceForPayment extends InvoiceFacts {
  /** The device belongs to the invoice's merchant and is not disabled. */
  isDeviceRegistered: boolean;
}

export interface InvoiceContent extends InvoiceFacts {
  /** JSON text as stored. */
  receipt: string;
  validToMs: number | null;
  pointOfSalesCode: string | null;
  preferredDeviceId: string | null;
}

/** `merchantId` undefined: any merchant's, because every holder of the QR may ask [D10]. */
export interface InvoiceKey {
  oid: string;
  merchantId: string | undefined;
}

export interface InvoiceReads {
  facts(key: InvoiceKey): Promise<InvoiceFacts | undefined>;
  content(key: InvoiceKey): Promise<InvoiceContent | undefined>;
  forPayment(key: InvoiceKey, deviceId: string): Promise<InvoiceForPayment | undefined>;
}

interface Question extends InvoiceKey {
  /** Checks whether this device may pay the invoice. */
  deviceId?: string;
  wantsReceipt?: boolean;
}

/** The answer to any question; the receipt is null if it was not wanted, or is too long for a batch. */
export type Found = InvoiceForPayment & Omit<InvoiceContent, 'receipt'> & { receipt: string | null };

const asked = { at: 'int8', oid: 'text', merchant_id: 'text', device_id: 'text', wants_receipt: 'int8' } as const;
type AskedText = RowsText<typeof asked>;
const sharedReceipt = sql.raw(`and length("invoices"."receipt") <= ${maxSharedReceipt}`);

export function createInvoiceReads(database: Pick<Database, 'engine' | 'queries' | 'soon'>, graceMs: number): InvoiceReads {
  const { engine, queries } = database;
  const looks = keptStatement((queries, { rows }: { rows: AskedText }, receipts: Receipts) =>
    look(rowsAs(engine, 'asked', asked, rows), graceMs, receipts).compile(queries),
  );
  const readAlone = async (question: Question) => (await read([question], (rows) => looks(queries, { rows }, 'any receipt')))[0];
  const group = createGroup<Question, Found | undefined>({
    soon: database.soon,
    // A batch may read one invoice twice.
    namesOf: () => [],
    together: (questions) => read(questions, (rows) => looks(queries, { rows }, 'short receipts')),
    alone: readAlone,
  });
  return {
    facts: (key) => group.add(key),
    forPayment: (key, deviceId) => group.add({ ...key, deviceId }),
    async content(key) {
      const question = { ...key, wantsReceipt: true };
      const found = await group.add(question);
      return withReceipt(found) ?? withReceipt(found && (await readAlone(question)));
    },
  };
}

/** The same read alone, also within a transaction. */
export async function findInvoice(
  engine: Database['engine'],
  queries: Queries,
  key: InvoiceKey,
  graceMs: number,
): Promise<Found | undefined> {
  const looking = (rows: AskedText) => look(rowsAs(engine, 'asked', asked, rows), graceMs, 'any receipt');
  return (await read([key], async (rows) => (await looking(rows).execute(queries)).rows))[0];
}

/** Undefined: the receipt was not read. */
export function withReceipt(found: Found | undefined): InvoiceContent | undefined {
  return found?.receipt == null ? undefined : { ...found, receipt: found.receipt };
}

export interface FoundRow {
  at: number;
  oid: string;
  merchant_id: string;
  qr_secret_id: number;
  state: number;
  callback_uri: string | null;
  receipt_id: string | null;
  paid_device_id: string | null;
  is_time_up: number;
  has_payments: number;
  is_device_registered: number;
  receipt: string | null;
  valid_to: number | null;
  point_of_sales_code: string | null;
  preferred_device_id: string | null;
}

/** In the order of the questions. */
async function read(questions: readonly Question[], run: (rows: AskedText) => Promise<FoundRow[]>): Promise<(Found | undefined)[]> {
  const found: (Found | undefined)[] = questions.map(() => undefined);
  for (const row of await run(rowsText(asked, questions.map(toRow)))) found[row.at] = toFound(row);
  return found;
}

/** A batch returns short receipts only; a single read returns any. */
type Receipts = 'short receipts' | 'any receipt';

/** `asked`: a table with this name and the columns of `asked`. */
export function look(
  asked: RawBuilder<unknown>,
  graceMs: number,
  receipts: Receipts,
  more: RawBuilder<unknown> = sql``,
): RawBuilder<FoundRow> {
  return sql<FoundRow>`select "asked"."at", "invoices"."oid", "invoices"."merchant_id", "invoices"."qr_secret_id",
      "invoices"."state", "invoices"."callback_uri", "invoices"."receipt_id", "invoices"."paid_device_id",
      ${timeIsUp(graceMs)} as "is_time_up", "invoices"."payment_begun_at" is not null as "has_payments",
      "asked"."device_id" is not null and exists (
        select 1 from "devices" where "devices"."id" = "asked"."device_id" and "devices"."merchant_id" = "invoices"."merchant_id"
          and "devices"."disabled_at" is null
      ) as "is_device_registered",
      case when "asked"."wants_receipt" = 1 ${receipts === 'short receipts' ? sharedReceipt : sql``} then "invoices"."receipt" end as "receipt",
      "invoices"."valid_to", "invoices"."point_of_sales_code", "invoices"."preferred_device_id"
      ${more}
    from ${asked} join "invoices" on "invoices"."oid" = "asked"."oid"
    where "asked"."merchant_id" is null or "asked"."merchant_id" = "invoices"."merchant_id"`;
}

function toRow(question: Question, at: number): BatchRow<typeof asked> {
  const { oid, merchantId, deviceId, wantsReceipt } = question;
  return { at, oid, merchant_id: merchantId ?? null, device_id: deviceId ?? null, wants_receipt: wantsReceipt ? 1 : 0 };
}

export function toFound(row: FoundRow): Found {
  return {
    oid: row.oid,
    merchantId: row.merchant_id,
    qrSecretId: row.qr_secret_id,
    state: row.state as State,
    callbackUri: row.callback_uri,
    receiptId: row.receipt_id,
    paidDeviceId: row.paid_device_id,
    isTimeUp: row.is_time_up === 1,
    hasPayments: row.has_payments === 1,
    isDeviceRegistered: row.is_device_registered === 1,
    receipt: row.receipt,
    validToMs: row.valid_to,
    pointOfSalesCode: row.point_of_sales_code,
    preferredDeviceId: row.preferred_device_id,
  };
}
