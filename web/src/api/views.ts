// What the cabinet's API answers, as this side reads it: the shapes of openapi/cabinet.json that the pages use.

/** A text for people: a key of the catalogues, and its values. */
export interface Said {
  key: string;
  params?: Record<string, string | number>;
}

export type ShownState =
  | 'paid'
  | 'waiting'
  | 'unknown'
  | 'notClosed'
  | 'needsPerson'
  | 'declined'
  | 'busy'
  | 'refunded'
  | 'partlyRefunded'
  | 'voided'
  | 'never'
  | 'done';

export interface CommandRow {
  id: string;
  name: string;
  state: string;
  shownState: ShownState;
  at: string;
  amount?: number;
  refunded?: number;
  documentNr?: string;
  operationId?: string;
  rrn?: string;
  receiptUid?: string;
  receiptNumber?: string;
  deviceId: string;
  deviceName: string;
  bank?: string;
  merchantId: string;
  merchantName: string;
  durationMs?: number;
  documentState?: string;
  /** Of a payment in a list. */
  receipt?: 'printed' | 'none' | 'notRequested';
  erp?: 'notified' | 'waiting' | 'dead';
  settledBy?: string;
  shop?: string;
  review?: { since: string; reason: string };
}

export interface CommandList {
  commands: CommandRow[];
  next?: string;
}

export interface CommandTotal {
  count: number;
  doneCount: number;
  doneSum: number;
  isCut: boolean;
}

export interface Found {
  kind: 'command' | 'invoice' | 'device' | 'callback';
  id: string;
  title: Said;
  at?: string;
  amount?: number;
  shop?: string;
}

export type Lane = 'erp' | 'gateway' | 'mqtt' | 'queue' | 'device' | 'bank' | 'person';

export interface Step {
  at: string;
  sinceStartMs: number;
  actor: 'erp' | 'gateway' | 'device' | 'bank' | 'person' | 'callback';
  from?: Lane;
  to?: Lane;
  via?: 'mqtt' | 'queue';
  kind: string;
  isMoney: boolean;
  isLost?: boolean;
  learnedAt?: string;
  repeats?: number;
  text: Said;
  detail?: string;
}

export interface UnclearSpan {
  fromMs: number;
  toMs?: number;
}

export type StepAction = 'refund' | 'void' | 'close' | 'closeByHand' | 'ask' | 'decide' | 'cancel' | 'resend';

export interface NextStep {
  action: StepAction;
  isAllowed: boolean;
  whyNot?: Said;
  maxAmount?: number;
  /** It is settled and contradicted: decided is only whether it may be tried again. */
  closesReview?: boolean;
  /** Of `resend`: which callback, and its notice. */
  callbackId?: string;
  notice?: string;
  consequence: Said;
}

export interface Mark {
  key: string;
  state: 'good' | 'waiting' | 'bad' | 'neutral';
}

/** Its outcome was unknown for a while. */
export function wasLearnedLater({ at, learnedAt }: Step): boolean {
  return learnedAt !== undefined && Date.parse(learnedAt) - Date.parse(at) > 2_000;
}
