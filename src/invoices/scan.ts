// Get: a register or terminal fetches the receipt to show it, which makes a new invoice Scanned [D21].
// A repeat by a proxy or a second device gets the same answer: one move, one callback. If there is a card payment under the OID, only the
// paid device and the ERP get the receipt, and no caller does while that payment is in doubt [D142].
import { type Asker, type InvoiceDeps, isPayee, lookAndMove, move, oidOf, withCurrent } from './move.ts';
import { type InvoiceContent, withReceipt } from './read-batch.ts';
import { judge, moveBy, refusal, states } from './rules.ts';

/** `isRepeat`: the result of the first try is unclear, so the invoice is read first. */
export async function scanInvoice(deps: InvoiceDeps, qr: string, asker: Asker, isRepeat: boolean): Promise<InvoiceContent> {
  const oid = await oidOf(deps, qr);
  let first: InvoiceContent | undefined;
  if (!isRepeat) {
    const { found, isMoved } = await lookAndMove(deps, qr, { oid, asker, transition: moveBy('scan'), wantsReceipt: true });
    first = withReceipt(found);
    if (isMoved && first) return { ...first, state: states.scanned };
  }
  return await withCurrent(
    deps,
    () => deps.reads.content({ oid, merchantId: asker.merchantId }),
    async (invoice) => {
      const verdict = judge({ ...invoice, isPayee: isPayee(invoice, asker) }, 'scan');
      if (verdict.kind === 'refuse') throw refusal(invoice, 'scan');
      if (verdict.kind === 'stay') return invoice;
      const isMoved = await move(deps, invoice, verdict.transition, { by: asker.name });
      return isMoved ? { ...invoice, state: states.scanned } : undefined;
    },
    first,
  );
}
