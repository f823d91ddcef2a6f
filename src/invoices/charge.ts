// The begin of a card payment for an invoice: a Pay whose documentNr is the OID of an invoice of the same merchant [D19, D142]. It begins
// only while the invoice can be paid. The same commit marks the invoice, so that every later move reads its payments first. The mark stays,
// whatever the outcome of the payment: it only says that payments must be read.
import { sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import { type InvoiceDeps, type Judged, readLocked } from './move.ts';
import { findInvoice } from './read-batch.ts';
import { judge, refusal } from './rules.ts';

/** Whether the merchant has such an invoice; 22 if it can no longer be paid. Read without a lock, before the device is located. */
export async function isChargeable(deps: InvoiceDeps, oid: string, merchantId: string): Promise<boolean> {
  const { engine, queries } = deps.database;
  const invoice = await findInvoice(engine, queries, { oid, merchantId }, deps.graceMs);
  if (invoice) requireChargeable({ ...invoice, payment: undefined });
  return invoice !== undefined;
}

/** Called first in the transaction that begins the payment; 22 if the invoice can no longer be paid. */
export async function holdForCharge(deps: InvoiceDeps, queries: Queries, oid: string, merchantId: string): Promise<void> {
  const invoice = await readLocked(deps, queries, { oid, merchantId });
  if (!invoice) return;
  requireChargeable(invoice);
  await queries
    .updateTable('invoices')
    .set({ payment_begun_at: sql<number>`coalesce(payment_begun_at, now_ms())` })
    .where('oid', '=', oid)
    .execute();
}

function requireChargeable(invoice: Judged): void {
  if (judge(invoice, 'charge').kind === 'refuse') throw refusal(invoice, 'charge');
}
