// Status: the state, without scanning. One read; only an overdue invoice is changed: it becomes Expired [D23].
import { type Asker, type InvoiceDeps, oidOf, withCurrent } from './move.ts';
import type { State } from './rules.ts';

export interface InvoiceStatus {
  state: State;
  /** Empty before payment. */
  receiptId: string;
}

export async function readStatus(deps: InvoiceDeps, qr: string, asker: Asker): Promise<InvoiceStatus> {
  const oid = await oidOf(deps, qr);
  return await withCurrent(
    deps,
    () => deps.reads.facts({ oid, merchantId: asker.merchantId }),
    async (invoice) => ({ state: invoice.state, receiptId: invoice.receiptId ?? '' }),
  );
}
