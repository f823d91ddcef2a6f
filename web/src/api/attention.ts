// Sales that the gateway could not settle by itself, as the API returns them.
import type { Answers } from './answers.ts';

export const attentionKinds = [
  'unknown',
  'contradiction',
  'chargedTwice',
  'unmatched',
  'paydRefused',
  'paidByCard',
  'notClosed',
  'erpNotNotified',
  'receiptWithoutPayment',
  'paymentWithoutReceipt',
  'voidedAfterReceipt',
] as const satisfies AttentionKind[];

export type Attention = Answers['readAttention'];
export type AttentionItem = Attention['items'][number];
export type AttentionKind = AttentionItem['kind'];
