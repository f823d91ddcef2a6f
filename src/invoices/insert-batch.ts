// New invoices, many in one statement: Creates that come while a commit is under way share the next one. A Create under an Idempotency-Key
// writes its invoice within its own transaction, by the same statement.
//
// Each row has its own outcome: one whose validity limit has passed is left out, and touches no other. An OID is drawn for one call alone, so
// no two rows of a batch have the same.
// The process dies before the commit: no invoice of the batch is there and no caller has an OID. After it: all are there, NewItem, unknown to
//   every caller, and expire or are kept like any that is not scanned. There is nothing in between, since it is one statement.
// The commit's answer is lost: every call looks for its own OID (create.ts) and is answered 2 if it cannot.
// One row is bad: none is written, and each is tried by itself.
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

/** A longer receipt is written and read by itself, so that those who come with it do not wait for it. */
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

/** The same by itself, also within a transaction. */
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
