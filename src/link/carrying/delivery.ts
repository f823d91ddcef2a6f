// The input of the link for one ledger command, and its single result.
import type { ChannelName } from '../channel.ts';
import type { EndingOutcome, JsonObject, LedgerCommandName } from '../protocol.ts';
import type { Deadlines } from './deadlines.ts';

/** One ledger command whose row is committed already. */
export interface Delivery {
  id: string;
  deviceId: string;
  name: LedgerCommandName;
  args: JsonObject;
  /** Fixed before the row was committed: the answerBy on the wire is never later than the row's. */
  deadlines: Deadlines;
  /** The channel that is tried first. */
  preferredChannel: ChannelName;
  /** The device's journal when the row was committed; undefined: none is known, so one copy on one channel and no Recall. */
  journalId: string | undefined;
  onStep(step: LinkStep): void;
  /** `accepted`, or "running" in answer to a Recall, arrived for the first time. Must not throw. */
  onAccepted(): void;
}

export type LinkStepName =
  | 'sent'
  | 'not-sent' // certain: nothing was sent on that channel
  | 'send-unclear'
  | 'accepted'
  | 'answered' // detail: the outcome
  | 'channel-lost' // the device's connection or ours ended while waiting
  | 'seen-again' // a reconnect on either side, or a reboot
  | 'recall' // a Recall was sent
  | 'recalled'; // detail: final <outcome>, running, never, unknown

/** For the sale's timeline. `channel` is absent for steps without one. */
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
  /** The journal of the device at its answer; `never` from another journal than the delivery's needs review. */
  journalId: string | undefined;
  channel: ChannelName;
  /** `accepted` or running arrived before; a later `never` contradicts it. */
  wasAccepted: boolean;
}

export type CarryResult =
  | CarryEnded
  /** Certain: nothing was sent on any channel, and nothing will be. */
  | { kind: 'not-sent'; reason: string }
  /** Never accepted and no answer to Recall, or the gateway is stopping: the outcome is unknown. */
  | { kind: 'silent'; reason: string; wasAccepted: boolean }
  /** answerBy has passed: the outcome is unknown. */
  | { kind: 'timeout'; wasAccepted: boolean };
