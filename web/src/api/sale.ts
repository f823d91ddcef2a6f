// One sale or one invoice.
import type { Answers } from './answers.ts';

export type SalePage = Answers['readCommand'];
export type InvoicePage = Answers['readInvoice'];
export type ShownReceipt = NonNullable<SalePage['receipt']>;
export type RawTexts = SalePage['raw'];

/** States of an invoice, by their number in the API. */
export const invoiceStates = ['NewItem', 'Scanned', 'Payed', 'Expired', 'Cancelled'] as const;
