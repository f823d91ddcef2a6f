// What a page about one sale is made of: the facts as the books have them, and the steps that a person reads. Types only.
import type { Command } from '../../../ledger/command.ts';
import type { AttentionKind } from '../figures/attention-kinds.ts';
import type { Text } from '../texts.ts';

export type Lane = 'erp' | 'gateway' | 'mqtt' | 'queue' | 'device' | 'bank' | 'person';
export type Actor = 'erp' | 'gateway' | 'device' | 'bank' | 'person' | 'callback';

export interface Step {
  atMs: number;
  actor: Actor;
  from?: Lane | undefined;
  to?: Lane | undefined;
  via?: 'mqtt' | 'queue' | undefined;
  kind: string;
  /** Money moved, or a receipt came out. */
  isMoney: boolean;
  /** It did not arrive. */
  isLost?: boolean | undefined;
  /** When the gateway received it, if that was later. */
  learnedAtMs?: number | undefined;
  /** How often in a row. */
  repeats?: number | undefined;
  text: Text;
  detail?: string | undefined;
}

/** From when to when the outcome was unknown; without an end: still. */
export interface Unclear {
  fromMs: number;
  toMs?: number | undefined;
}

export interface StoryEvent {
  commandId: string;
  atMs: number;
  step: string;
  channel: 'mqtt' | 'queue' | undefined;
  detail: string | undefined;
  /** So many more of this step, the last at `atMs`. */
  further?: number | undefined;
}

export interface StoryCommand extends Command {
  caller: string | null;
  request: string | null;
  receiptId: string | null;
  deviceName: string;
  cashBani: number | null;
  cardBani: number | null;
}

export interface StoryCallback {
  id: string;
  subjectKind: 'invoice' | 'operation';
  subjectId: string;
  sequence: number;
  url: string;
  state: 'pending' | 'delivered' | 'dead';
  attempts: number;
  createdAtMs: number;
  nextAttemptAtMs: number | null;
}

export interface StoryAttempt {
  callbackId: string;
  attempt: number;
  atMs: number;
  status: number | null;
  error: string | null;
  durationMs: number;
}

export interface StoryInvoice {
  oid: string;
  merchantId: string;
  state: number;
  amountBani: number | null;
  createdAtMs: number;
  validToMs: number | null;
  receiptId: string | null;
  paidDeviceId: string | null;
}

export interface InvoiceEvent {
  atMs: number;
  event: string;
  detail: Record<string, unknown>;
}

export interface Sale {
  command: StoryCommand;
  /** The payment that it is about, if it is about one. */
  payment: StoryCommand | undefined;
  /** Closes, refunds and voids of it. */
  followers: StoryCommand[];
  /** Receipts under the payment's document, or payments under the receipt's Uid. */
  linked: StoryCommand[];
  invoice: StoryInvoice | undefined;
  invoiceEvents: InvoiceEvent[];
  events: StoryEvent[];
  callbacks: StoryCallback[];
  attempts: StoryAttempt[];
  /** Contact with its device was lost while it runs. */
  isOutOfContact: boolean;
  /** As what Attention lists it, its receipt or its invoice. */
  attention: readonly AttentionKind[];
}
