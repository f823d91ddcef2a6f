// What the money core says about one operation, for its page: its State, its answer, and why a step is not possible now. One interface for
// both cores [D300]: old-core.ts goes with the old rooms; the new one decides by dry runs (steps/dry-steps.ts).
import type { Queries } from '../../../database/database.ts';
import type { Text } from '../texts.ts';
import type { CoreSays, FoundSale } from './sale-model.ts';

interface InvoiceName {
  oid: string;
  merchantId: string;
}

export interface CoreView {
  read(queries: Queries, found: FoundSale, nowMs: number): Promise<CoreSays>;
  /** Why an invoice cannot be cancelled; undefined: it can. The old core is asked by its page. */
  cannotCancel?(invoice: InvoiceName): Promise<Text | undefined>;
  /** A card payment under its OID is open, disputed or done [D142]. */
  hasPayment(queries: Queries, invoice: InvoiceName): Promise<boolean>;
}
