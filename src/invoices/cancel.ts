// Cancelling an unpaid invoice: by its merchant in the cabinet, or because the card payment for it was aborted or voided [D19].
// A paid invoice stays paid, and one that has ended stays as it ended.
import type { Queries } from '../database/database.ts';
import { parseUuid } from '../kernel/ids.ts';
import { type InvoiceDeps, move, withCurrent, writeMove } from './move.ts';
import { judge, refusal } from './rules.ts';
import { findInvoice } from './store.ts';

/** For the cabinet: errorCode 20 if the merchant has no such invoice, 22 if it can no longer be cancelled. */
export async function cancelInvoice(deps: InvoiceDeps, merchantId: string, oid: string, reason: string): Promise<void> {
  await withCurrent(
    deps,
    () => findInvoice(deps.database.queries, { oid: oid.toLowerCase(), merchantId }, deps.graceMs),
    async (invoice) => {
      const verdict = judge(invoice, 'cancel');
      if (verdict.kind !== 'move') throw refusal(invoice.state, 'cancel');
      return (await move(deps, invoice.oid, verdict.transition, { reason })) || undefined;
    },
  );
}

/**
 * For card payments, in the transaction that settles the abort or void: true if there was an unpaid invoice of the merchant by that id
 * (a documentNr may be anything) and it is Cancelled now. Wake the callbacks after the commit.
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
    const invoice = await findInvoice(queries, { oid: id, merchantId }, deps.graceMs);
    if (!invoice) return false;
    const verdict = judge(invoice, 'cancel');
    // An overdue one is left to the sweep: it is dead for payment already.
    if (verdict.kind !== 'move') return false;
    // A scan may come between the reading and the move; a state only moves forward, so this ends.
    if (await writeMove(deps, queries, id, verdict.transition, { reason })) return true;
  }
}
