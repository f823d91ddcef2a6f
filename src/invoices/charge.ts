// A card payment of an invoice begins: a Pay whose documentNr is the OID of an invoice of the same merchant [D19, D142]. It begins only while the
// invoice can be paid, and leaves a mark on it in the commit that begins it, so that every later move of the invoice looks at its
// payments first. The mark stays, whatever becomes of the payment: it says to look, not what will be found.
import { sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import { type InvoiceDeps, type Judged, readLocked } from './move.ts';
import { findInvoice } from './read-batch.ts';
import { judge, refusal } from './rules.ts';

/** Whether the merchant has such an invoice; 22 if it takes no payment any more. A look without a lock, before the device is looked for. */
export async function isChargeable(deps: InvoiceDeps, oid: string, merchantId: string): Promise<boolean> {
  const { engine, queries } = deps.database;
  const invoice = await findInvoice(engine, queries, { oid, merchantId }, deps.graceMs);
  if (invoice) requireChargeable({ ...invoice, payment: undefined });
  return invoice !== undefined;
}

/** In the transaction that begins the payment, before anything else of it; 22 if the invoice takes none any more. */
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
