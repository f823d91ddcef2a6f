// Sales that the gateway could not settle by itself, as the API returns them.
import type { Said } from './views.ts';

export const attentionKinds = [
  'unknown',
  'contradiction',
  'paydRefused',
  'paidByCard',
  'notClosed',
  'erpNotTold',
  'receiptWithoutPayment',
  'paymentWithoutReceipt',
  'voidedAfterReceipt',
] as const;
export type AttentionKind = (typeof attentionKinds)[number];

export interface AttentionItem {
  kind: AttentionKind;
  subjectId: string;
  commandId?: string;
  oid?: string;
  callbackId?: string;
  since: string;
  amount?: number;
  deviceName?: string;
  known: Said;
  unknown: Said;
  nextStep: { action: 'ask' | 'decide' | 'close' | 'note' | 'resend'; closesReview?: boolean; consequence: Said };
}

export interface Attention {
  items: AttentionItem[];
  /** Each sale once, however many kinds list it. */
  sales: { count: number; amount: number };
  isCut: boolean;
}
