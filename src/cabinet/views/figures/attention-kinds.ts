// What Attention lists, by weight.
export const attentionKinds = [
  'unknown',
  'contradiction',
  'notClosed',
  'paydRefused',
  'paidByCard',
  'erpNotNotified',
  'receiptWithoutPayment',
  'paymentWithoutReceipt',
  'voidedAfterReceipt',
] as const;
export type AttentionKind = (typeof attentionKinds)[number];
