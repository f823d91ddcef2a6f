// The sentence on top of a sale's page, what to do about it, and the marks beside it. Pure: many histories, one plain word each.

import { baniToLei } from '../../../kernel/money.ts';
import type { StateFacts } from '../shown-state.ts';
import { shownStateOf } from '../shown-state.ts';
import { type Text, text } from '../texts.ts';
import { erpTold, toldMarks } from './erp-told.ts';
import type { Sale, StoryCommand, StoryEvent, Unclear } from './sale-model.ts';
import { longestUnclearMs } from './sale-unclear.ts';

export function refundedBaniOf({ followers }: Pick<Sale, 'followers'>): number {
  return followers.reduce((sum, { name, state, amountBani }) => sum + (name === 'Refund' && state === 'done' ? (amountBani ?? 0) : 0), 0);
}

export function isInReview({ reviewSinceMs, reviewedAtMs }: StoryCommand): boolean {
  return reviewSinceMs !== null && reviewedAtMs === null;
}

export function stateFactsOf(sale: Pick<Sale, 'command' | 'followers'>): StateFacts {
  return { ...sale.command, refundedBani: refundedBaniOf(sale), isInReview: isInReview(sale.command) };
}

export function outcomeOf(sale: Sale, spans: readonly Unclear[], nowMs: number): Text {
  const { command } = sale;
  const amount = command.amountBani === null ? undefined : baniToLei(command.amountBani);
  const shared = { name: command.name, amount, device: command.deviceName };
  const isOpen = command.state === 'sent' || command.state === 'unknown';
  if (isInReview(command) || command.state === 'disputed') {
    return text(isOpen ? 'outcome.needsPerson' : 'outcome.contradiction', {
      ...shared,
      state: command.state === 'disputed' ? command.disputedFrom : command.state,
      reason: command.reviewReason,
    });
  }
  switch (command.state) {
    case 'sent':
      return text('outcome.waiting', shared);
    case 'unknown':
      return text('outcome.unknown', { ...shared, spanMs: longestUnclearMs(spans, nowMs) });
    case 'never':
      if (command.outcome === 'busy') return text('outcome.busy', shared);
      return text(wasIssuedAgain(sale) ? 'outcome.issuedAgain' : 'outcome.never', { ...shared, reason: command.reason });
    case 'refused':
      return text(refusalKeyOf(sale), { ...shared, ...personIn(sale.events, command), reason: command.reason });
    case 'done':
      return command.name === 'Pay' ? paidOutcome(sale, spans, nowMs) : doneOutcome(sale, spans, nowMs);
  }
}

function refusalKeyOf({ command }: Sale): string {
  if (command.settledBy === 'person') return 'outcome.refusedByPerson';
  return command.abortRequestedAtMs === null ? 'outcome.declined' : 'outcome.stopped';
}

function wasIssuedAgain({ command, events }: Sale): boolean {
  return events.some(({ commandId, step, detail }) => commandId === command.id && step === 'settled' && detail?.includes('issued again'));
}

function paidOutcome(sale: Sale, spans: readonly Unclear[], nowMs: number): Text {
  const { command } = sale;
  const refundedBani = refundedBaniOf(sale);
  const amountBani = command.amountBani ?? 0;
  const shared = { amount: baniToLei(amountBani), device: command.deviceName };
  if (command.documentState === 'voided') return text('outcome.voided', shared);
  if (refundedBani >= amountBani && refundedBani > 0) return text('outcome.refunded', { ...shared, refunded: baniToLei(refundedBani) });
  if (refundedBani > 0) {
    return text('outcome.partlyRefunded', { ...shared, refunded: baniToLei(refundedBani), left: baniToLei(amountBani - refundedBani) });
  }
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

/** How it became known, if not by the plain answer. */
function foundBy({ settledBy }: StoryCommand, spans: readonly Unclear[]): string {
  switch (settledBy) {
    case 'recall':
      return 'FoundByRecall';
    case 'late-answer':
      return 'LateAnswer';
    case 'last-transaction':
      return 'FoundByLastTransaction';
    case 'person':
      return 'ByPerson';
    default:
      return spans.length > 0 ? 'AfterDoubt' : '';
  }
}

/** Who decided, and why, from the step that a decision leaves. */
function personIn(events: readonly StoryEvent[], { id, settledBy }: StoryCommand): { actor?: string; reason?: string } {
  const decided = settledBy === 'person' && events.findLast((event) => event.commandId === id && event.step === 'decided');
  return decided ? readDecision(decided.detail ?? '') : {};
}

/** `Ana: done, the bank has it` as the ledger writes it. */
export function readDecision(detail: string): { actor: string; state: string; reason: string } {
  const match = /^(.*?): (?:(done|refused), )?(.*)$/s.exec(detail);
  return { actor: match?.[1] ?? '', state: match?.[2] ?? '', reason: match?.[3] ?? detail };
}

export function adviceOf(sale: Sale): Text {
  const { command, callbacks } = sale;
  if (isInReview(command)) return text(command.state === 'sent' || command.state === 'unknown' ? 'advice.decide' : 'advice.compare');
  if (command.state === 'sent') return text('advice.wait');
  if (command.state === 'unknown') return text('advice.doNotChargeAgain');
  if (command.state === 'never') return text('advice.tryAgain');
  if (command.state === 'refused') return text('advice.anotherCard');
  if (command.documentState === 'open') return text('advice.closeDocument', { device: command.deviceName });
  const told = erpTold(callbacks);
  if (told === 'dead') return text('advice.sendAgain');
  if (told === 'pending') return text('advice.callbackWaits');
  return text('advice.nothing');
}

export interface Mark {
  key: string;
  state: 'good' | 'waiting' | 'bad' | 'neutral';
}

export function marksOf(sale: Sale): Mark[] {
  const { command, linked, callbacks } = sale;
  const shown = shownStateOf(stateFactsOf(sale));
  // That the document is open has a mark of its own.
  const state = shown === 'notClosed' ? 'paid' : shown;
  const marks: Mark[] = [{ key: `state.${state}`, state: markOfState[state] }];
  if (command.documentState !== null && command.documentState !== 'voided') {
    marks.push(command.documentState === 'open' ? { key: 'mark.notClosed', state: 'waiting' } : { key: 'mark.closed', state: 'good' });
  }
  const print = command.name === 'PrintReceipt' ? command : linked.find(({ name, state: of }) => name === 'PrintReceipt' && of === 'done');
  if (print?.state === 'done') marks.push({ key: 'mark.printed', state: 'good' });
  const told = erpTold(callbacks);
  if (told !== undefined) marks.push(toldMarks[told]);
  return marks;
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
