// What the ledger hands to the link for one command, and the one result that it gets back.
import type { ChannelName } from '../channel.ts';
import type { EndingOutcome, JsonObject, LedgerCommandName } from '../protocol.ts';
import type { Deadlines } from './deadlines.ts';

/** One ledger command whose row is committed already. */
export interface Delivery {
  id: string;
  deviceId: string;
  name: LedgerCommandName;
  args: JsonObject;
  /** Raised before the row was committed: the answerBy on the wire is never later than the row's. */
  deadlines: Deadlines;
  /** The channel that is tried first. */
  preferredChannel: ChannelName;
  /** The journal in force when the row was committed; undefined: none is known, so one channel, once, and no Recall. */
  journalId: string | undefined;
  onStep(step: LinkStep): void;
  /** `accepted`, or "running" in answer to a Recall, arrived for the first time. Must not throw. */
  onAccepted(): void;
}

export type LinkStepName =
  | 'sent'
  | 'not-sent' // certain: nothing went out on that channel
  | 'send-unclear'
  | 'accepted'
  | 'answered' // detail: the outcome
  | 'channel-lost' // the device's or our own connection, while waiting
  | 'seen-again' // a reconnect on either side, or a reboot
  | 'recall' // a Recall went out
  | 'recalled'; // detail: final <outcome>, running, never, unknown

/** For the sale's timeline. `channel` is absent where none is meant. */
export interface LinkStep {
  step: LinkStepName;
  atMs: number;
  channel?: ChannelName;
  detail?: string;
}

export interface CarryEnded {
  kind: 'ended';
  by: 'answer' | 'recall';
  outcome: EndingOutcome;
  report: JsonObject | undefined;
  reason: string | undefined;
  /** The journal under which the device said so; `never` from another one than the delivery's is for review. */
  journalId: string | undefined;
  channel: ChannelName;
  /** `accepted` (or running) arrived before: a `never` after that contradicts it. */
  wasAccepted: boolean;
}

export type CarryResult =
  | CarryEnded
  /** Certain: nothing went out on any channel, and nothing will. */
  | { kind: 'not-sent'; reason: string }
  /** Never accepted and silent to Recall, or the gateway stops: the outcome is unknown. */
  | { kind: 'silent'; reason: string; wasAccepted: boolean }
  /** answerBy has passed: the outcome is unknown. */
  | { kind: 'timeout'; wasAccepted: boolean };
