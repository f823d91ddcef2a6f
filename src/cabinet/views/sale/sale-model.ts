// The data of a sale's page: the stored facts, and the steps of its timeline. Types only.
import type { ListedCallback, listAttemptsOf } from '../../../callbacks/delivery-log.ts';
import type { InvoiceEvent } from '../../../invoices/store.ts';
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
  /** Money moved, or a receipt was printed. */
  isMoney: boolean;
  /** It did not arrive. */
  isLost?: boolean | undefined;
  /** When the gateway received it, if that was later. */
  learnedAtMs?: number | undefined;
  /** Number of consecutive repeats. */
  repeats?: number | undefined;
  text: Text;
  detail?: string | undefined;
}

/** A period in which the outcome was unknown; without an end: it still is. */
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
  /** Number of further equal steps, the last at `atMs`. */
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

export type StoryCallback = Omit<ListedCallback, 'merchantId' | 'endedAtMs'>;
export type StoryAttempt = Awaited<ReturnType<typeof listAttemptsOf>>[number];

export interface StoryInvoice {
  oid: string;
  state: number;
  amountBani: number | null;
  createdAtMs: number;
}

export interface Sale {
  command: StoryCommand;
  /** The payment that the command refers to, if any. */
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
  /** Contact with the device was lost while the command runs. */
  isOutOfContact: boolean;
  /** The device is not connected now. */
  isOffline: boolean;
  /** A person decided that it was not executed; its device has not confirmed it. */
  isUnconfirmed: boolean;
  /** Another attempt under its number was done: a payment that was neither voided nor refunded, or a receipt. */
  hasOtherDone: boolean;
  /** The kinds under which Attention lists it, its receipt or its invoice. */
  attention: readonly AttentionKind[];
}
