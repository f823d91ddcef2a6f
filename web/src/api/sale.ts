// One sale or one invoice, as the API returns it.
import type { CommandRow, Mark, NextStep, Said, Step, UnclearSpan } from './views.ts';

export interface ReceiptLine {
  name: string;
  quantity: number;
  price: number;
}

export interface ShownReceipt {
  number?: string;
  fiscalNumber?: string;
  commandId?: string;
  deviceName?: string;
  items: ReceiptLine[];
  total?: number;
}

export interface RawTexts {
  request?: unknown;
  report?: unknown;
  answer?: unknown;
}

export interface StoryPage {
  outcome: Said;
  advice: Said;
  marks: Mark[];
  facts: Record<string, string | number | boolean | undefined>;
  receipt?: ShownReceipt;
  timeline: Step[];
  unclear: UnclearSpan[];
  raw: RawTexts;
  steps: NextStep[];
}

interface RelatedCallback {
  id: string;
  state: 'pending' | 'delivered' | 'dead';
  attempts: number;
  createdAt: string;
}

/** States of an invoice, by their number in the API. */
export const invoiceStates = ['NewItem', 'Scanned', 'Payed', 'Expired', 'Cancelled'] as const;

export interface SalePage extends StoryPage {
  /** The operation that keeps the device from taking a new one, unless it is this one. */
  holder?: { id: string; name: string };
  command: CommandRow;
  related: {
    payment?: CommandRow;
    refunds?: CommandRow[];
    closes?: CommandRow[];
    voids?: CommandRow[];
    /** Receipts under the payment's document, or payments under the receipt's Uid. */
    linked?: CommandRow[];
    invoice?: { oid: string; state: number; amount?: number; at: string };
    callbacks?: RelatedCallback[];
  };
}
