// What never changes about the invoices that were made or looked at here lately, by the text of their QR: whose they are, and where their callbacks
// go. With it a Get or a Payd needs no look before its move; without it, or if it were wrong, one look more is taken (step-batch.ts).
// Always holds: a text is here only if one of our secrets made it; at most `capacity` are kept, none with a long CallbackURI.
import type { InvoiceFacts } from './read-batch.ts';

export type KnownInvoice = Pick<InvoiceFacts, 'oid' | 'merchantId' | 'callbackUri'>;

export interface KnownInvoices {
  get(qr: string): KnownInvoice | undefined;
  remember(qr: string, invoice: KnownInvoice): void;
}

const maxUriLength = 512;

export function createKnownInvoices(capacity = 10_000): KnownInvoices {
  const known = new Map<string, KnownInvoice>();
  return {
    get: (qr) => known.get(qr),
    remember(qr, { oid, merchantId, callbackUri }) {
      if (known.has(qr) || (callbackUri?.length ?? 0) > maxUriLength) return;
      known.set(qr, { oid, merchantId, callbackUri });
      if (known.size <= capacity) return;
      const oldest = known.keys().next();
      if (!oldest.done) known.delete(oldest.value);
    },
  };
}
