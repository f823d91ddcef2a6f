// Get: a register or terminal fetches the receipt to show it, which makes a new invoice Scanned [D21].
// Asked again, by a proxy or a second device, it answers the same: one move, one callback. With a card payment under its OID it is for the paid
// device and the ERP alone, and for no caller while that payment is in doubt [D142].
import { type Asker, type InvoiceDeps, lookAndMove, move, oidOf, withCurrent } from './move.ts';
import { type InvoiceContent, withReceipt } from './read-batch.ts';
import { judge, moveBy, refusal, states } from './rules.ts';

/** `isRepeat`: the first try came to no clear end, so it is looked first. */
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
      const isPayee = asker.hasKey === true || (asker.deviceId !== undefined && asker.deviceId === invoice.payment?.deviceId);
      const verdict = judge({ ...invoice, isPayee }, 'scan');
      if (verdict.kind === 'refuse') throw refusal(invoice, 'scan');
      if (verdict.kind === 'stay') return invoice;
      const isMoved = await move(deps, invoice, verdict.transition, { by: asker.name });
      return isMoved ? { ...invoice, state: states.scanned } : undefined;
    },
    first,
  );
}
