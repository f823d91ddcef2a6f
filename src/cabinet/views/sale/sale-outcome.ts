// The headline of a sale's page, the advice and the marks beside it. Pure.

import { isoTime } from '../../../kernel/moments.ts';
import { baniToLei } from '../../../kernel/money.ts';
import { operationOf } from '../../../kernel/operations.ts';
import { isInReview, isOpen } from '../../../ledger/command.ts';
import { isDocumentClosed, keepsMoney, mayBeDone, standingOf, wasDone } from '../../../ledger/standing.ts';
import type { AttentionKind } from '../figures/attention-kinds.ts';
import { type Text, text } from '../texts.ts';
import { type CallbackFacts, erpNotified, notifiedMarks } from './erp-notified.ts';
import type { Sale, StoryCommand, StoryEvent, Unclear } from './sale-model.ts';
import { decidableFromMs, longestUnclearMs } from './sale-unclear.ts';

export function outcomeOf(sale: Sale, spans: readonly Unclear[], nowMs: number): Text {
  const { command, shown } = sale;
  const { isPayment } = operationOf(command.name);
  // Sentences with an amount are about a charge.
  const amount = !isPayment || command.amountBani === null ? undefined : baniToLei(command.amountBani);
  const shared = { name: command.name, amount, device: command.deviceName };
  switch (shown) {
    case 'needsPerson':
      return text(needsPersonKeyOf(command), { ...shared, state: command.disputedFrom ?? command.state, reason: command.reviewReason });
    case 'waiting':
      return text('outcome.waiting', shared);
    case 'unknown':
      return text(sale.isOffline ? 'outcome.unknownOffline' : 'outcome.unknown', { ...shared, spanMs: longestUnclearMs(spans, nowMs) });
    case 'busy':
      return text('outcome.busy', shared);
    case 'never':
      return text(wasIssuedAgain(sale) ? 'outcome.issuedAgain' : 'outcome.never', { ...shared, reason: command.reason });
    case 'declined':
      return text(refusalKeyOf(sale), { ...shared, ...personIn(sale.events, command), reason: command.reason });
    default:
      return isPayment ? paidOutcome(sale, spans, nowMs) : doneOutcome(sale, spans, nowMs);
  }
}

function needsPersonKeyOf(command: StoryCommand): string {
  if (isOpen(command)) return 'outcome.needsPerson';
  return isContradicted(command) ? 'outcome.contradiction' : 'outcome.backDisputed';
}

/** The command itself is contradicted; if false, a refund or void of it is. */
function isContradicted(command: StoryCommand): boolean {
  return isInReview(command) || standingOf(command) === 'disputed';
}

function refusalKeyOf({ command, said }: Sale): string {
  if (command.settledBy === 'person') return 'outcome.refusedByPerson';
  return said.isStopped ? 'outcome.stopped' : 'outcome.declined';
}

function wasIssuedAgain({ command, events }: Sale): boolean {
  return events.some(({ commandId, step, detail }) => commandId === command.id && step === 'settled' && detail?.includes('issued again'));
}

function paidOutcome(sale: Sale, spans: readonly Unclear[], nowMs: number): Text {
  const { command, shown, said } = sale;
  const shared = { amount: baniToLei(command.amountBani ?? 0), device: command.deviceName };
  if (shown === 'voided') return text('outcome.voided', shared);
  const refunded = baniToLei(said.refundedBani);
  const leftBani = (command.amountBani ?? 0) - said.refundedBani;
  if (said.refundedBani > 0 && leftBani <= 0) return text('outcome.refunded', { ...shared, refunded });
  if (said.refundedBani > 0) return text('outcome.partlyRefunded', { ...shared, refunded, left: baniToLei(leftBani) });
  return text(`outcome.charged${foundBy(command, spans)}`, {
    ...shared,
    ...personIn(sale.events, command),
    ...(spans.length > 0 ? { spanMs: longestUnclearMs(spans, nowMs) } : {}),
  });
}

function doneOutcome(sale: Sale, spans: readonly Unclear[], nowMs: number): Text {
  const { command } = sale;
  return text(`outcome.done${foundBy(command, spans)}`, {
    name: command.name,
    amount: command.amountBani === null ? undefined : baniToLei(command.amountBani),
    device: command.deviceName,
    receiptId: command.receiptId,
    ...personIn(sale.events, command),
    ...(spans.length > 0 ? { spanMs: longestUnclearMs(spans, nowMs) } : {}),
  });
}

/** How the outcome became known, if not by the answer. */
function foundBy({ settledBy }: StoryCommand, spans: readonly Unclear[]): string {
  if (settledBy === 'person') return 'ByPerson';
  // The other sentences say for how long the outcome was not known.
  if (spans.length === 0) return '';
  switch (settledBy) {
    case 'recall':
      return 'FoundByRecall';
    case 'late-answer':
      return 'LateAnswer';
    case 'last-transaction':
      return 'FoundByLastTransaction';
    default:
      return 'AfterDoubt';
  }
}

const decisionSteps = new Set(['decided', 'review closed']);

/** The person and the reason of a decision, also about a dispute, from its step. */
function personIn(events: readonly StoryEvent[], { id, settledBy }: StoryCommand): { actor?: string; reason?: string } {
  const decided = settledBy === 'person' && events.findLast((event) => event.commandId === id && decisionSteps.has(event.step));
  return decided ? readDecision(decided.detail ?? '') : {};
}

/** `Ana: done, the bank has it` as the ledger writes it. */
export function readDecision(detail: string): { actor: string; state: string; reason: string } {
  const match = /^(.*?): (?:(done|refused), )?(.*)$/s.exec(detail);
  return { actor: match?.[1] ?? '', state: match?.[2] ?? '', reason: match?.[3] ?? detail };
}

/** "Nothing to do" only if Attention does not list the sale. */
export function adviceOf(sale: Sale): Text {
  const { command, callbacks } = sale;
  const { isPayment } = operationOf(command.name);
  switch (sale.shown) {
    case 'needsPerson':
      if (isOpen(command)) return text(isPayment ? 'advice.decide' : 'advice.decideOther');
      if (standingOf(command) === 'disputed') return text('advice.compare');
      return text(isContradicted(command) ? 'advice.compareSettled' : 'advice.resolveBack');
    case 'waiting':
      return text('advice.wait');
    case 'unknown':
      return text(isPayment ? 'advice.doNotChargeAgain' : 'advice.doNotRepeat');
    case 'never':
    case 'busy':
      if (wasIssuedAgain(sale)) return text('advice.seeReissued');
      return adviceOnNumber(sale) ?? text(isPayment ? 'advice.tryAgain' : 'advice.repeat');
    case 'notClosed':
      return adviceOnOthers(sale) ?? text('advice.closeDocument', { device: command.deviceName });
    case 'declined':
      return adviceOnNumber(sale) ?? text(isPayment ? 'advice.anotherCard' : 'advice.tryAgainOnDevice');
    default:
      return adviceOnOthers(sale) ?? adviceOnListed(sale.attention) ?? adviceOnCallbacks(callbacks) ?? text('advice.nothing');
  }
}

/** The shop may have the money twice [D305]. */
function adviceOnOthers({ command, said }: Sale): Text | undefined {
  if (said.others.length === 0 || !keepsMoney(command) || said.refundedBani > 0) return undefined;
  return text(areDone(said.others) ? 'advice.chargedTwice' : 'advice.mayBeChargedTwice');
}

const areDone = (others: Sale['said']['others']) => others.every(({ standing }) => standing === 'Done' || standing === 'Closed');

/** What was not made: undefined if it may be tried again under its number. */
function adviceOnNumber({ command, said }: Sale): Text | undefined {
  const { isPayment } = operationOf(command.name);
  if (said.others.length > 0) return text(areDone(said.others) ? 'advice.otherAttempt' : 'advice.otherPayment');
  if (said.isUnconfirmed) return text(isPayment ? 'advice.payOtherwise' : 'advice.confirmFirst', { device: command.deviceName });
  return said.isNumberEnded ? text('advice.numberEnded') : undefined;
}

/** While the outcome is not known: whether the device can be asked, and from when a person may decide; of a dispute, what depends on it. */
export function hintsOf(sale: Sale, nowMs: number): Text[] {
  const { command, shown, isOffline } = sale;
  if (shown === 'needsPerson' && !isOpen(command) && sale.said.others.length > 0) return [text('hint.otherPayment')];
  if (!isOpen(command) || (shown !== 'unknown' && shown !== 'needsPerson')) return [];
  const fromMs = decidableFromMs(command);
  return [
    text(isOffline ? 'hint.offline' : 'hint.online', { device: command.deviceName }),
    fromMs <= nowMs ? text('hint.decideNow') : text('hint.decideFrom', { from: isoTime(fromMs) }),
  ];
}

const advices: Partial<Record<AttentionKind, string>> = {
  paydRefused: 'advice.giveBackOrKeep',
  paidByCard: 'advice.completeInvoice',
  erpNotNotified: 'advice.sendAgain',
  paymentWithoutReceipt: 'advice.paymentWithoutReceipt',
  receiptWithoutPayment: 'advice.receiptWithoutPayment',
  voidedAfterReceipt: 'advice.voidedAfterReceipt',
};

export function adviceOnListed(kinds: readonly AttentionKind[]): Text | undefined {
  const [key] = kinds.flatMap((kind) => advices[kind] ?? []);
  return key === undefined ? undefined : text(key);
}

export function adviceOnCallbacks(callbacks: readonly CallbackFacts[]): Text | undefined {
  const notified = erpNotified(callbacks);
  if (notified === 'dead') return text('advice.sendAgain');
  return notified === 'pending' ? text('advice.callbackWaits') : undefined;
}

export interface Mark {
  key: string;
  state: 'good' | 'waiting' | 'bad' | 'neutral';
}

export function marksOf(sale: Sale): Mark[] {
  const { command, shown } = sale;
  // An open document has its own mark.
  const state = shown === 'notClosed' ? 'paid' : shown;
  const marks: Mark[] = [{ key: `state.${state}`, state: markOfState[state] }];
  if (shown === 'notClosed') marks.push({ key: 'mark.notClosed', state: 'waiting' });
  else if (isDocumentClosed(command)) marks.push({ key: 'mark.closed', state: 'good' });
  if (printOf(sale)) marks.push({ key: 'mark.printed', state: 'good' });
  const notified = erpNotified(callbacksOf(sale));
  if (notified !== undefined) marks.push(notifiedMarks[notified]);
  return marks;
}

/** The printed receipt: of the command itself, or of the receipt for the payment. Another attempt's receipt is not that of one not made. */
export function printOf({ command, linked }: Sale): StoryCommand | undefined {
  if (operationOf(command.name).prints) return wasDone(command) ? command : undefined;
  return mayBeDone(command) ? linked.findLast((each) => operationOf(each.name).prints && wasDone(each)) : undefined;
}

/** Without those about the receipt of another attempt. */
function callbacksOf({ command, linked, callbacks }: Sale): readonly CallbackFacts[] {
  if (!operationOf(command.name).isPayment || mayBeDone(command)) return callbacks;
  return callbacks.filter(({ subjectId }) => linked.every(({ id }) => id !== subjectId));
}

const markOfState = {
  paid: 'good',
  waiting: 'waiting',
  unknown: 'waiting',
  needsPerson: 'bad',
  declined: 'neutral',
  busy: 'neutral',
  refunded: 'neutral',
  partlyRefunded: 'neutral',
  voided: 'neutral',
  never: 'neutral',
  done: 'good',
} as const;
