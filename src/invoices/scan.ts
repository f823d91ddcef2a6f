// Get: a register or terminal fetches the receipt to show it, which makes a new invoice Scanned [D21].
// Asked again, by a proxy or a second device, it answers the same: one move, one callback.
import { type Asker, type InvoiceDeps, lookAndMove, move, oidOf, withCurrent } from './move.ts';
import { type InvoiceContent, withReceipt } from './read-batch.ts';
import { judge, refusal, states, type Transition, transitions } from './rules.ts';

const scan = transitions.find(({ trigger, from, to }) => trigger === 'scan' && from !== to) as Transition;

/** `isRepeat`: the first try came to no clear end, so it is looked first. */
export async function scanInvoice(deps: InvoiceDeps, qr: string, asker: Asker, isRepeat: boolean): Promise<InvoiceContent> {
  const oid = await oidOf(deps, qr);
  const find = () => deps.reads.content({ oid, merchantId: asker.merchantId });
  let first: InvoiceContent | undefined;
  if (!isRepeat) {
    const { found, isMoved } = await lookAndMove(deps, qr, { oid, asker, transition: scan, wantsReceipt: true });
    first = withReceipt(found);
    if (isMoved && first) return { ...first, state: states.scanned };
  }
  return await withCurrent(
    deps,
    async () => {
      const known = first;
      first = undefined;
      return known ?? (await find());
    },
    async (invoice) => {
      const verdict = judge(invoice, 'scan');
      if (verdict.kind === 'refuse') throw refusal(invoice.state, 'scan');
      if (verdict.kind === 'stay') return invoice;
      const isMoved = await move(deps, invoice, verdict.transition, { by: asker.name });
      return isMoved ? { ...invoice, state: states.scanned } : undefined;
    },
  );
}
