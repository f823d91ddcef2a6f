// The life of one command as steps between lanes. Pure. Recorded steps are listed in order. Steps that the ledger learned of afterwards
// (the bank's approval, a lost answer) are placed where they happened, with the time at which the ledger learned of them.
import { baniToLei, parseAmount } from '../../../kernel/money.ts';
import { movesCardMoney, operationOf } from '../../../kernel/operations.ts';
import { standingOf, wasDone } from '../../../ledger/standing.ts';
import { type Params, text } from '../texts.ts';
import type { Step, StoryCommand, StoryEvent } from './sale-model.ts';
import { readDecision } from './sale-outcome.ts';
import { starredJson } from './starred.ts';
import { stepFrom } from './step.ts';

export function commandSteps(command: StoryCommand, events: readonly StoryEvent[], keyName: string | undefined): Step[] {
  const noted = decisionsFirst(events.filter(({ commandId }) => commandId === command.id));
  return [
    ...beginning(command, keyName),
    ...folded(noted).map((event) => stepOf(command, event)),
    ...learned(command, noted),
    ...answersToCaller(command, noted),
  ];
}

/** A decision is noted after the settlement that it caused. */
function decisionsFirst(events: readonly StoryEvent[]): StoryEvent[] {
  const ordered = [...events];
  for (const [index, event] of ordered.entries()) {
    const cause = ordered[index + 1];
    if (event.step === 'settled' && (cause?.step === 'decided' || cause?.step === 'review closed'))
      ordered.splice(index, 2, { ...cause, atMs: event.atMs }, event);
  }
  return ordered;
}

function beginning(command: StoryCommand, keyName: string | undefined): Step[] {
  const actor = personOf(command);
  const amount = command.amountBani === null ? undefined : baniToLei(command.amountBani);
  const { name, documentNr, receiptUid, issuedAtMs: atMs } = command;
  const params = { name, amount, documentNr, receiptUid, key: keyName, actor };
  return [
    stepFrom(callerOf(command), 'gateway', 'asked', params, { atMs, ...(actor && { text: text('step.askedByPerson', params) }) }),
    stepFrom('gateway', undefined, 'written', {}, { atMs }),
  ];
}

export const callerOf = (command: Pick<StoryCommand, 'caller'>) => (personOf(command) === undefined ? 'erp' : 'person');

/** The person who started the command in the cabinet. */
export function personOf({ caller }: Pick<StoryCommand, 'caller'>): string | undefined {
  return caller?.startsWith('person ') ? caller.slice('person '.length) : undefined;
}

interface Folded extends StoryEvent {
  repeats: number;
  isUnanswered: boolean;
}

/** Unanswered Recalls become one step with a count. */
function folded(events: readonly StoryEvent[]): Folded[] {
  const result: Folded[] = [];
  for (const event of events) {
    const last = result.at(-1);
    if (event.step === 'recall' && last?.step === 'recall') {
      last.repeats += 1;
      last.channel ??= event.channel;
    } else {
      // There may be other steps between a Recall and its answer.
      const asked = event.step === 'recalled' ? result.findLast(({ step }) => step === 'recall') : last;
      if (asked?.step === 'recall' && (event.step === 'recalled' || event.step === 'answered')) asked.isUnanswered = false;
      result.push({ ...event, repeats: 1, isUnanswered: event.step === 'recall' });
    }
  }
  return result;
}

function stepOf(command: StoryCommand, event: Folded): Step {
  const base = { atMs: event.atMs, via: event.channel };
  const shared = { device: command.deviceName, channel: event.channel };
  const out = (kind: string, more: Partial<Step> = {}, params: Params = {}) =>
    stepFrom('gateway', 'device', kind, { ...shared, ...params }, { ...base, ...more });
  const home = (kind: string, params: Params = {}) => stepFrom('device', 'gateway', kind, { ...shared, ...params }, base);
  const own = (kind: string, params: Params = {}, detail?: string) => stepFrom('gateway', undefined, kind, params, { ...base, detail });
  const person = (kind: string) => {
    const { actor, state, reason } = readDecision(event.detail ?? '');
    return stepFrom('person', 'gateway', kind, { actor, reason, state: state === '' ? undefined : state }, base);
  };
  switch (event.step) {
    case 'sent':
      return out('sent');
    case 'not-sent':
      return out('notSent', { isLost: true, detail: event.detail });
    case 'send-unclear':
      return out('sendUnclear', { isLost: true, detail: event.detail });
    case 'accepted':
      return home('accepted');
    case 'answered':
      return home('answered', { outcome: event.detail });
    case 'channel-lost':
      return { ...own('channelLost', shared), actor: 'device', from: event.channel ?? 'device', isLost: true };
    case 'seen-again':
      return home(event.detail === 'rebooted' ? 'rebooted' : 'seenAgain');
    case 'recall':
      return out(
        event.isUnanswered ? 'recallUnanswered' : 'recall',
        { isLost: event.isUnanswered || undefined, repeats: event.repeats > 1 ? event.repeats : undefined },
        { tries: event.repeats },
      );
    case 'recalled': {
      const [state = '', outcome] = (event.detail ?? '').split(' ');
      return home('recalled', { state, outcome });
    }
    case 'asked last transaction':
      return out('askedLastTransaction');
    case 'last transaction reported': {
      const [state = '', outcome] = (event.detail ?? '').split(' ');
      return home('toldLastTransaction', { state, outcome });
    }
    case 'unknown':
      return own('unknown');
    case 'settled':
      return settledStep(command, event, own);
    case 'review':
      return own('review', { reason: whyIn(event, command) });
    case 'contradiction':
      if (event.further !== undefined) return { ...home('answeredFurther', { times: event.further }), repeats: event.further };
      return own('contradiction', { reason: whyIn(event, command) }, event.detail && starredJson(event.detail));
    case 'decided':
      return person('decided');
    case 'review closed':
      return person('reviewClosed');
    case 'asked by person':
      return stepFrom('person', 'gateway', 'askedAgain', { actor: readDecision(event.detail ?? '').actor }, base);
    case 'hardware lost':
      return person('hardwareLost');
    case 'closed by hand':
      return person('closedByHand');
    case 'asked again':
      return repeatedStep(command, event);
    case 'answered again': {
      const { further } = event;
      if (further !== undefined) return { ...home('answeredFurther', { times: further }), repeats: further };
      return home('answeredAgain', { outcome: event.detail });
    }
    case 'answered by other hardware': {
      const { further } = event;
      if (further !== undefined) return { ...home('otherFurther', { times: further }), repeats: further };
      return home('otherHardware', { outcome: event.detail });
    }
    case 'issued again':
      return own('issuedAgain', {}, event.detail);
    default:
      return own('other', { step: event.step }, event.detail && starredJson(event.detail));
  }
}

/** The same call was repeated: nothing was started, and the caller was answered with the command's standing. */
function repeatedStep(command: StoryCommand, { atMs, detail, further }: StoryEvent): Step {
  const from = callerOf(command);
  if (further !== undefined) return stepFrom(from, 'gateway', 'repeatedFurther', { times: further }, { atMs, repeats: further });
  const [by = 'content', state = '', outcome = '-', waitedMs = '0'] = (detail ?? '').split(' ');
  // The new core writes the code itself [D300].
  const errorCode =
    state === 'answered'
      ? Number(outcome)
      : errorCodeOf({ state: state as StoryCommand['state'], outcome: outcome as StoryCommand['outcome'] });
  const params = { errorCode, waitedMs: Number(waitedMs) || undefined };
  return { ...stepFrom(from, 'gateway', `repeated.${by}`, params, { atMs }), kind: 'repeated' };
}

function settledStep(command: StoryCommand, event: StoryEvent, own: (kind: string, params: Params) => Step): Step {
  const isDone = event.detail?.startsWith('done') ?? wasDone(command);
  // Only of a payment: the sentence with an amount says what was charged.
  const isCharge = operationOf(command.name).isPayment && command.amountBani !== null;
  const amount = isCharge ? baniToLei(command.amountBani ?? 0) : undefined;
  const step = own('settled', {
    name: command.name,
    state: event.detail?.split(' ')[0] ?? command.state,
    by: command.settledBy ?? undefined,
    amount,
  });
  return { ...step, isMoney: isDone && movesMoney(command) };
}

/** The detail is a sentence, or an object with one; without a detail, the reason that Attention shows. */
function whyIn({ detail }: StoryEvent, { reviewReason }: StoryCommand): string | undefined {
  if (!detail?.startsWith('{')) return detail ?? reviewReason ?? undefined;
  const { why } = JSON.parse(detail) as { why?: string };
  return why;
}

export function movesMoney({ name }: StoryCommand): boolean {
  const { effect, closesDay } = operationOf(name);
  return effect !== 'close' && !closesDay;
}

/** Steps at the device that the gateway learned of only later. */
function learned(command: StoryCommand, noted: readonly StoryEvent[]): Step[] {
  const report = readReport(command.report);
  const atMs = momentIn(command, report['time']);
  if (!wasDone(command) || command.settledAtMs === null || atMs === undefined) return [];
  const isByBank = movesCardMoney(operationOf(command.name)) || (command.cardBani ?? 0) > 0;
  const amountBani = parseAmount(report['amount'] ?? report['total']) ?? command.amountBani;
  const place = isByBank ? 'bank' : 'device';
  const params = {
    name: command.name,
    amount: amountBani === null ? undefined : baniToLei(amountBani),
    authCode: textIn(report['authCode']),
    receiptId: command.receiptId,
  };
  const learnedLater = { atMs, actor: place, isMoney: movesMoney(command), learnedAtMs: command.settledAtMs } as const;
  const kind = `${place}Did`;
  const isCharge = isByBank && operationOf(command.name).isPayment;
  const happened = stepFrom('device', place, kind, params, {
    ...learnedLater,
    ...(isByBank && !isCharge && { text: text('step.bankDidOther', params) }),
  });
  const wasLost = command.settledBy === 'recall' || command.settledBy === 'last-transaction';
  if (!wasLost || noted.some(({ step }) => step === 'answered')) return [happened];
  const via = noted.find(({ step }) => step === 'sent')?.channel;
  const more = { atMs, via, isLost: true, learnedAtMs: command.settledAtMs };
  return [happened, stepFrom('device', 'gateway', 'answerLost', { device: command.deviceName }, more)];
}

/** The device's clock may be wrong: its time is used only if it lies between the begin and the end. */
function momentIn(command: StoryCommand, time: unknown): number | undefined {
  const atMs = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  return atMs >= command.issuedAtMs && atMs <= (command.settledAtMs ?? 0) ? atMs : undefined;
}

/** The answers to the caller: the outcome at once, or first errorCode 3. */
function answersToCaller(command: StoryCommand, noted: readonly StoryEvent[]): Step[] {
  const toErp = (atMs: number, kind: string, params: Params) => stepFrom('gateway', callerOf(command), kind, params, { atMs });
  const unknown = noted.find(({ step }) => step === 'unknown');
  const steps: Step[] = unknown
    ? [toErp(unknown.atMs, 'callerAnswered', { errorCode: 3, waitedMs: unknown.atMs - command.issuedAtMs })]
    : [];
  const { settledAtMs, outcomeReceivedAtMs, outcomeMissedAtMs } = command;
  if (settledAtMs === null) return steps;
  // The step of the first settlement has the time after its commit: a caller is answered after the commit. A dispute changes the row later,
  // not what the caller got.
  const first = noted.find(({ step }) => step === 'settled');
  const answeredAtMs = first?.atMs ?? settledAtMs;
  // What was settled then: a dispute and its resolution change the row, not what the caller got.
  const codeAt = (atMs: number) => {
    const settled = noted.findLast((event) => event.step === 'settled' && event.atMs <= atMs) ?? first;
    return errorCodeOf({ ...command, state: (settled?.detail?.split(' ')[0] ?? command.state) as StoryCommand['state'] });
  };
  if (unknown === undefined && outcomeMissedAtMs !== null && outcomeMissedAtMs <= settledAtMs)
    steps.push(toErp(outcomeMissedAtMs, 'callerGone', {}));
  else if (unknown === undefined) {
    steps.push(toErp(answeredAtMs, 'callerAnswered', { errorCode: codeAt(answeredAtMs), waitedMs: answeredAtMs - command.issuedAtMs }));
  }
  // A repeated call has its own step in the timeline.
  const isListed = noted.some(({ step, atMs }) => step === 'asked again' && atMs >= settledAtMs);
  if ((unknown || outcomeMissedAtMs !== null) && outcomeReceivedAtMs !== null && outcomeReceivedAtMs > settledAtMs && !isListed) {
    steps.push(toErp(Math.max(outcomeReceivedAtMs, answeredAtMs), 'callerAnsweredLater', { errorCode: codeAt(outcomeReceivedAtMs) }));
  }
  return steps;
}

export function errorCodeOf({ state, outcome }: Pick<StoryCommand, 'state' | 'outcome'>): number {
  // Later changes of the document were not part of the answer.
  switch (standingOf({ state, documentState: null, amountBani: null })) {
    case 'done':
      return 0;
    case 'refused':
      return 50;
    case 'never':
      return outcome === 'busy' ? 31 : 30;
    default:
      return 3;
  }
}

export function readReport(report: string | null): Record<string, unknown> {
  return report === null ? {} : (JSON.parse(report) as Record<string, unknown>);
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
