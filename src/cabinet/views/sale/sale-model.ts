// The data of a sale's page: the stored facts, and the steps of its timeline. Types only.
import type { ListedCallback, listAttemptsOf } from '../../../callbacks/delivery-log.ts';
import type { InvoiceEvent } from '../../../invoices/store.ts';
import type { Bani } from '../../../kernel/money.ts';
import type { OperationState } from '../../../kernel/operation-states.ts';
import type { Command } from '../../../ledger/command.ts';
import type { AttentionKind } from '../figures/attention-kinds.ts';
import type { ShownState } from '../shown-state.ts';
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

export type StoryAbort = Pick<StoryCommand, 'id' | 'caller' | 'issuedAtMs' | 'state' | 'deviceName' | 'targetId'>;

export type StoryCallback = Omit<ListedCallback, 'merchantId' | 'endedAtMs'>;
export type StoryAttempt = Awaited<ReturnType<typeof listAttemptsOf>>[number];

export interface StoryInvoice {
  oid: string;
  state: number;
  amountBani: number | null;
  createdAtMs: number;
}

/** As the rows say. */
export interface FoundSale {
  command: StoryCommand;
  /** The payment that the command refers to, if any. */
  payment: StoryCommand | undefined;
  /** Closes, refunds and voids of it. */
  followers: StoryCommand[];
  /** Requests to stop it [D315]. */
  aborts: StoryAbort[];
  /** Receipts under the payment's document, or payments under the receipt's Uid. */
  linked: StoryCommand[];
  invoice: StoryInvoice | undefined;
  invoiceEvents: InvoiceEvent[];
  events: StoryEvent[];
  callbacks: StoryCallback[];
  attempts: StoryAttempt[];
}

export type Action = 'refund' | 'void' | 'close' | 'closeByHand' | 'ask' | 'decide' | 'resend';

/** Absent: the step is possible. */
export type Refusals = Partial<Record<Exclude<Action, 'resend'>, Text>>;

export interface CoreSays {
  standing: OperationState;
  refundedBani: Bani;
  /** Of a payment: what a refund may still return. */
  leftBani: Bani;
  /** A person decided that it was not executed; its device has not confirmed it. */
  isUnconfirmed: boolean;
  /** It was not made because it was stopped. */
  isStopped: boolean;
  /** Other operations under its number whose money the shop may have [D305]. */
  others: readonly { id: string; standing: OperationState }[];
  /** Of a payment that was not made: another attempt under its number would be refused, whether the terminal is free or not. */
  isNumberEnded: boolean;
  /** What its call is answered, as JSON. */
  answer: Readonly<Record<string, unknown>>;
  refusals: Refusals;
}

export interface Sale extends FoundSale {
  said: CoreSays;
  /** As lists show it. */
  shown: ShownState;
  /** The device is not connected now. */
  isOffline: boolean;
  /** The kinds under which Attention lists it, its receipt or its invoice. */
  attention: readonly AttentionKind[];
}
