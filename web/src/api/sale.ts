// One sale or one invoice as the gateway tells it.
import type { CommandRow, Mark, NextStep, Said, Step, UnclearSpan } from './views.ts';

export interface ReceiptLine {
  name: string;
  quantity?: number;
  price?: number;
  amount?: number;
}

export interface ShownReceipt {
  number?: string;
  uid?: string;
  fiscalNumber?: string;
  items: ReceiptLine[];
  total?: number;
}

export interface RawTexts {
  request?: unknown;
  report?: unknown;
  told?: unknown;
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

export interface RelatedCallback {
  id: string;
  state: string;
  url?: string;
  at?: string;
}

export interface SalePage extends StoryPage {
  command: CommandRow;
  related: {
    payment?: CommandRow;
    refunds?: CommandRow[];
    closes?: CommandRow[];
    voids?: CommandRow[];
    invoice?: { oid: string; state: string };
    callbacks?: RelatedCallback[];
  };
}
