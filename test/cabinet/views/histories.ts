// Sales for tests of their views: by default one payment of 150.50 at second 0.
import { oldCoreSays } from '../../../src/cabinet/views/sale/old-core.ts';
import type { FoundSale, Sale, StoryCallback, StoryCommand, StoryEvent } from '../../../src/cabinet/views/sale/sale-model.ts';
import { shownStateOf } from '../../../src/cabinet/views/shown-state.ts';
import { isInReview } from '../../../src/ledger/command.ts';

export const startMs = Date.UTC(2026, 10, 12, 12, 2, 7);
const commandId = '7a1e4c20-0000-4000-8000-000000000001';

const basic: StoryCommand = {
  id: commandId,
  merchantId: 'm',
  deviceId: 'd',
  instanceId: 'i',
  name: 'Pay',
  args: { amount: 150.5 },
  state: 'done',
  amountBani: 15_050,
  documentNr: 'doc',
  operationId: '000147',
  rrn: '631614008813',
  targetId: null,
  receiptUid: null,
  contentHash: null,
  callbackUri: null,
  journalId: 'j',
  issuedAtMs: startMs,
  answerByMs: startMs + 300_000,
  settledAtMs: startMs + 12_000,
  settledBy: 'answer',
  outcome: 'done',
  report: JSON.stringify({
    authCode: '283749',
    amount: 150.5,
    token: 't',
    maskedCard: '516793******4417',
    time: new Date(startMs + 11_000).toISOString(),
  }),
  reason: null,
  recalls: 0,
  reviewSinceMs: null,
  reviewReason: null,
  reviewedAtMs: null,
  abortRequestedAtMs: null,
  documentState: 'closed',
  bankDayClosedAtMs: null,
  removedAtMs: null,
  requestHash: null,
  outcomeMissedAtMs: null,
  outcomeReceivedAtMs: null,
  acceptedAtMs: null,
  endedUnknownAtMs: null,
  disputedFrom: null,
  contradiction: null,
  noticeSequence: 0,
  reissuedAs: null,
  caller: 'key k',
  request: null,
  receiptId: null,
  deviceName: 'Casa 1',
  cashBani: null,
  cardBani: null,
};

export function command(changes: Partial<StoryCommand> = {}): StoryCommand {
  return { ...basic, ...changes };
}

/** `[seconds, step, channel or detail]`. */
export type Note = [number, string, string?, string?];

export function events(notes: readonly Note[]): StoryEvent[] {
  return notes.map(([atS, step, channel, detail]) => ({
    commandId,
    atMs: startMs + atS * 1000,
    step,
    channel: channel === 'mqtt' || channel === 'queue' ? channel : undefined,
    detail: channel === 'mqtt' || channel === 'queue' ? detail : channel,
  }));
}

type More = Partial<Omit<Sale, 'said' | 'shown'>> & { said?: Partial<Sale['said']>; isOutOfContact?: boolean; nowMs?: number };

export function sale(changes: Partial<StoryCommand>, notes: readonly Note[] = [], more: More = {}): Sale {
  const { said, isOutOfContact = false, nowMs = startMs + 600_000, ...given } = more;
  const found: FoundSale = {
    command: command(changes),
    payment: undefined,
    followers: [],
    aborts: [],
    linked: [],
    invoice: undefined,
    invoiceEvents: [],
    events: events(notes),
    callbacks: [],
    attempts: [],
    ...given,
  };
  const all = { ...oldCoreSays(found, nowMs), ...said };
  const { standing, refundedBani } = all;
  return {
    ...{ ...found, said: all },
    shown: shownStateOf({ ...found.command, standing, refundedBani, isOutOfContact, isInReview: isInReview(found.command) }),
    isOffline: given.isOffline ?? false,
    attention: given.attention ?? [],
  };
}

export function follower(name: StoryCommand['name'], changes: Partial<StoryCommand> = {}): StoryCommand {
  const atMs = startMs + 60_000;
  return command({
    id: `${name}-1`,
    name,
    targetId: commandId,
    documentState: null,
    report: null,
    issuedAtMs: atMs,
    settledAtMs: atMs + 500,
    ...changes,
  });
}

export function callback(changes: Partial<StoryCallback> = {}): StoryCallback {
  return {
    id: 'c-1',
    subjectKind: 'operation',
    subjectId: commandId,
    sequence: 1,
    url: 'https://erp.example/x',
    state: 'delivered',
    attempts: 1,
    createdAtMs: startMs + 12_000,
    nextAttemptAtMs: null,
    ...changes,
  };
}

export const smooth: Note[] = [
  [0.006, 'sent', 'mqtt'],
  [0.092, 'accepted', 'mqtt'],
  [12, 'answered', 'mqtt', 'done'],
  [12, 'settled', 'done by answer'],
];

/** The Wi-Fi fails at the PIN, six Recalls are unanswered, and the journal has the payment 31 s later. */
export const lostAndFound: Note[] = [
  [0.006, 'sent', 'mqtt'],
  [0.092, 'accepted', 'mqtt'],
  [18, 'channel-lost', 'mqtt'],
  [19, 'recall', 'queue'],
  [24, 'recall', 'queue'],
  [29, 'recall', 'queue'],
  [34, 'recall', 'queue'],
  [39, 'recall', 'queue'],
  [44, 'recall', 'queue'],
  [48.9, 'seen-again', 'queue'],
  [48.9, 'recall', 'queue'],
  [49, 'recalled', 'queue', 'final done'],
  [49, 'settled', 'done by recall'],
];
