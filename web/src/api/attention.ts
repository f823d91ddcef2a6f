// What nothing could settle by itself, as the gateway tells it.
import type { NextStep, Said } from './views.ts';

export const attentionKinds = [
  'unknown',
  'contradiction',
  'paydRefused',
  'notClosed',
  'erpNotTold',
  'receiptWithoutPayment',
  'paymentWithoutReceipt',
] as const;
export type AttentionKind = (typeof attentionKinds)[number];

export interface AttentionItem {
  kind: AttentionKind;
  commandId?: string;
  oid?: string;
  callbackId?: string;
  name?: string;
  since: string;
  amount?: number;
  deviceId?: string;
  deviceName?: string;
  shop?: string;
  known?: Said;
  unknown?: Said;
  reason?: string;
  nextStep?: Omit<NextStep, 'action'> & { action: string };
}

export interface Attention {
  items: AttentionItem[];
  counts: Record<string, number>;
  sums: Record<string, number>;
  next?: string;
}
