// A cache of the immutable data of invoices that were created or read here lately, by QR text: merchant and CallbackURI. With it, a Get or
// a Payd needs no read before its move; without an entry, or with a wrong one, one more read is made (step-batch.ts).
// Invariants: a text is cached only after its MAC was verified; at most `maxEntries` entries, none with a long CallbackURI.
import { BoundedMap } from '../kernel/bounded-map.ts';
import type { InvoiceFacts } from './read-batch.ts';

export type KnownInvoice = Pick<InvoiceFacts, 'oid' | 'merchantId' | 'callbackUri'>;

export interface KnownInvoices {
  get(qr: string): KnownInvoice | undefined;
  remember(qr: string, invoice: KnownInvoice): void;
}

const maxUriLength = 512;

export function createKnownInvoices(maxEntries = 10_000): KnownInvoices {
  const known = new BoundedMap<string, KnownInvoice>(maxEntries);
  return {
    get: (qr) => known.get(qr),
    remember(qr, { oid, merchantId, callbackUri }) {
      if (known.has(qr) || (callbackUri?.length ?? 0) > maxUriLength) return;
      known.set(qr, { oid, merchantId, callbackUri });
    },
  };
}
