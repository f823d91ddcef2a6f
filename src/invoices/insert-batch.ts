// Inserts of invoices, many in one statement: Creates that come while a commit is under way share the next one. A Create with an
// Idempotency-Key runs the same statement in its own transaction.
//
// Each row has its own outcome: one whose validity limit has passed is skipped without affecting the others. Each call draws its own OID,
// so no two rows of a batch have the same.
// If the process dies before the commit, no invoice of the batch is stored and no caller has an OID. After the commit, all are stored as
//   NewItem. Their callers have no OID, so they are never scanned, and expire or stay like any other.
// If the answer of the commit is lost, every call reads its own OID back (create.ts), and is answered 2 if it cannot.
// If one row is invalid, none is written, and each is retried alone.
import { sql } from 'kysely';
import { type BatchRow, batchRows, type LockWait, listed, type RowsText, rowsText } from '../database/batch-rows.ts';
import type { Database, Queries } from '../database/database.ts';
import { forEachEngine } from '../database/dialect.ts';
import { createGroup } from '../database/group.ts';
import { keptStatement } from '../database/kept-statement.ts';

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

const columns = {
  oid: 'text',
  merchant_id: 'text',
  qr_secret_id: 'int8',
  receipt: 'text',
  amount_bani: 'int8',
  callback_uri: 'text',
  valid_to: 'int8',
  point_of_sales_code: 'text',
  preferred_device_id: 'text',
} as const;
const names = listed(columns);
const values = listed(columns, (name) => `"new"."${name}"`);

/** A longer receipt is written and read alone, so that other calls do not wait for it. */
export const maxSharedReceipt = 16_384;

/** False, and nothing written, if the validity limit has passed already [D23]. */
export type InsertInvoice = (invoice: NewInvoice) => Promise<boolean>;

export function createInvoiceInserts({ engine, queries, soon }: Pick<Database, 'engine' | 'queries' | 'soon'>): InsertInvoice {
  const alone = (invoice: NewInvoice) => insertInvoice(engine, queries, invoice);
  const group = createGroup<NewInvoice, boolean>({
    soon,
    namesOf: ({ oid }) => [oid],
    sizeOf: ({ receipt }) => receipt.length,
    together: (invoices) => insertAll(engine, queries, invoices, 'short'),
    alone,
  });
  return (invoice) => (invoice.receipt.length > maxSharedReceipt ? alone(invoice) : group.add(invoice));
}

/** The same alone, also within a transaction. */
export async function insertInvoice(engine: Database['engine'], queries: Queries, invoice: NewInvoice): Promise<boolean> {
  const [isMade = false] = await insertAll(engine, queries, [invoice], 'statement');
  return isMade;
}

const insertion = forEachEngine((engine) =>
  keptStatement((queries, { rows }: { rows: RowsText<typeof columns> }, waits: LockWait) =>
    sql<{ oid: string }>`insert into "invoices" (${names}, "state", "callback_sequence", "created_at")
    select ${values}, 0, 0, now_ms() from ${batchRows(engine, 'new', columns, rows, waits)}
    where coalesce("new"."valid_to" > now_ms(), true)
    returning "oid"`.compile(queries),
  ),
);

async function insertAll(
  engine: Database['engine'],
  queries: Queries,
  invoices: readonly NewInvoice[],
  waits: LockWait,
): Promise<boolean[]> {
  const made = await insertion[engine](queries, { rows: rowsText(columns, invoices.map(toRow)) }, waits);
  const oids = new Set(made.map(({ oid }) => oid));
  return invoices.map(({ oid }) => oids.has(oid));
}

function toRow(invoice: NewInvoice): BatchRow<typeof columns> {
  return {
    oid: invoice.oid,
    merchant_id: invoice.merchantId,
    qr_secret_id: invoice.qrSecretId,
    receipt: invoice.receipt,
    amount_bani: invoice.amountBani,
    callback_uri: invoice.callbackUri,
    valid_to: invoice.validToMs,
    point_of_sales_code: invoice.pointOfSalesCode,
    preferred_device_id: invoice.preferredDeviceId,
  };
}
