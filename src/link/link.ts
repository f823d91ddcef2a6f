// Carrying one command to one device and its answer back, over whichever channel has the device.
import type { ChannelName } from './channel.ts';
import type { AnswerMessage, EndingOutcome, JsonObject, LedgerCommandName, PlainCommandName, PresenceMessage } from './protocol.ts';

/** One ledger command whose row is committed already. */
export interface Delivery {
  id: string;
  deviceId: string;
  name: LedgerCommandName;
  args: JsonObject;
  /** From the call of carry() to answerBy. */
  answerWithinMs: number;
  first: ChannelName;
  /** The journal in force when the row was committed; undefined: none is known, so one channel, once, and no Recall. */
  journalId: string | undefined;
  onStep(step: LinkStep): void;
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
  /** `accepted` (or running) was heard before: a `never` after that contradicts it. */
  wasAccepted: boolean;
}

export type CarryResult =
  | CarryEnded
  /** Certain: nothing went out on any channel. */
  | { kind: 'not-sent'; reason: string }
  /** Never accepted and silent to Recall, or the gateway stops: the outcome is unknown. */
  | { kind: 'silent'; reason: string; wasAccepted: boolean }
  /** answerBy has passed: the outcome is unknown. */
  | { kind: 'timeout'; wasAccepted: boolean };

export interface DeviceSnapshot {
  liveOn: ChannelName[];
  lastSeenAtMs: number;
  journalId: string | undefined;
  bootId: string | undefined;
  /** Device clock minus gateway clock; 0 while nothing was measured. */
  clockOffsetMs: number;
  /** The last presence or the report of the last Status, without v and device. */
  report: JsonObject | undefined;
}

export interface Question {
  name: PlainCommandName;
  args: JsonObject;
  timeoutMs: number;
  first: ChannelName;
}

export type LateAnswerListener = (deviceId: string, answer: AnswerMessage, channel: ChannelName) => void;
/** Called at a device's first message, at a reconnect and at a new bootId. */
export type SeenListener = (deviceId: string, snapshot: DeviceSnapshot) => void;
export type PresenceListener = (deviceId: string, presence: PresenceMessage, channel: ChannelName) => void;

export interface LinkStats {
  waitingCalls: number;
  liveDevices: number;
  connected: Record<ChannelName, boolean>;
  /** By drop reason. */
  dropped: Record<string, number>;
  sent: Record<ChannelName, number>;
  recalls: number;
  lateAnswers: number;
}

export interface Link {
  start(): Promise<void>;
  /** Ends every waiting call: carry() as silent, ask() as undefined. */
  stop(): Promise<void>;
  /** Where the device is: live, or found by a probe of 2 s. undefined: nowhere. Throws Too_Many_Requests when too many calls wait. */
  locate(deviceId: string, first: ChannelName): Promise<ChannelName | undefined>;
  /** Never throws; gives exactly one result. A full waiting room is `not-sent`. */
  carry(delivery: Delivery): Promise<CarryResult>;
  /** undefined: no answer in time. Throws Too_Many_Requests when too many calls wait. */
  ask(deviceId: string, question: Question): Promise<AnswerMessage | undefined>;
  /** Ending answers that no call waits for: after a timeout, doubled, or asked for by another instance. Returns how to stop listening. */
  onLateAnswer(listener: LateAnswerListener): () => void;
  onSeen(listener: SeenListener): () => void;
  readonly presence: { of(deviceId: string): DeviceSnapshot | undefined; all(): { deviceId: string; snapshot: DeviceSnapshot }[] };
  /** A disabled device, or one with a new secret, is cut off where the gateway holds the connection. */
  disconnectDevice(deviceId: string): void;
  stats(): LinkStats;
}
