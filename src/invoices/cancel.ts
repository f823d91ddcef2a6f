// Cancelling an unpaid invoice: by its merchant in the cabinet, or because the card payment for it was aborted or voided [D19].
// A paid invoice stays paid, and one that has ended stays as it ended.
import type { Queries } from '../database/database.ts';
import { parseUuid } from '../kernel/ids.ts';
import { type InvoiceDeps, writeMove } from './move.ts';
import { findInvoice } from './read-batch.ts';
import { judge } from './rules.ts';

/**
 * In the caller's transaction, which settles the abort or writes the audit entry: true if there was an unpaid invoice of the merchant
 * by that id (a documentNr may be anything) and it is Cancelled now. Wake the callbacks after the commit.
 */
export async function cancelUnpaidInvoice(
  deps: InvoiceDeps,
  queries: Queries,
  oid: string,
  merchantId: string,
  reason: string,
): Promise<boolean> {
  const id = parseUuid(oid);
  if (id === undefined) return false;
  for (;;) {
    const invoice = await findInvoice(deps.database.engine, queries, { oid: id, merchantId }, deps.graceMs);
    if (!invoice) return false;
    const verdict = judge(invoice, 'cancel');
    // An overdue one is left to the sweep: it is dead for payment already.
    if (verdict.kind !== 'move') return false;
    // A scan may come between the reading and the move; a state only moves forward, so this ends.
    if (await writeMove(deps, queries, invoice, verdict.transition, { reason })) return true;
  }
}
