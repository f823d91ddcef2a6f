// The kinds of items in Attention, most important first.
export const attentionKinds = [
  'unknown',
  'contradiction',
  'chargedTwice',
  'unmatched',
  'notClosed',
  'paydRefused',
  'paidByCard',
  'erpNotNotified',
  'receiptWithoutPayment',
  'paymentWithoutReceipt',
  'voidedAfterReceipt',
] as const;
export type AttentionKind = (typeof attentionKinds)[number];
