// Steps of people: decisions about what no device can report [D15], disputes [D143], documents that a terminal cannot close, lost hardware.
import { baniToLei } from '../../kernel/money.ts';
import { type Draft, type Op, type Report } from '../case.ts';
import type { Answer, Of, RemovalEvent } from '../event.ts';
import { cannotApply, done, fieldsOf, invalid, unknownRecord } from './answers.ts';
import {
  allOps,
  contentName,
  followersOf,
  invoiceOf,
  isAbort,
  isOpen,
  isPayment,
  isUnexecuted,
  opsUnder,
  paymentsOf,
  presenceOf,
  returnsMoney,
} from './facts.ts';
import { isUnpaid } from './invoice-rules.ts';
import { noSuchOperation, paymentsWith } from './named-payment.ts';
import { settle } from './reports.ts';
import { changed, changedSaying, nothing, type Ruled, say } from './ruled.ts';

/** No device begins a command after answerBy; this long after it, none is still busy with it, even with a clock slightly off [D63]. */
export const personDecidesAfterMs = 2 * 60_000;

export function decideByPerson(c: Draft, event: Of<'Decide'>): Ruled {
  const op = c.ops[event.id];
  if (!op || isAbort(op)) return say(unknownRecord('There is no such command.'));
  const isChecked = event.contradiction !== undefined && event.contradiction === op.contradiction;
  if (isOpen(op)) return decideOpen(c, op, event);
  if (!isChecked || !op.review || op.review.isClosed) return say(alreadySettled(op));
  if (op.state === 'disputed') return resolve(c, op, event);
  op.review = { ...op.review, isClosed: true };
  note(c, op, 'review closed', event, verdictOf(event));
  return changedSaying(done(fieldsOf(op)));
}

/** Part of the change: who did it, and why. */
function note(c: Draft, { id }: Op, step: string, { by, reason }: { by?: string | undefined; reason: string }, verdict = ''): void {
  if (by !== undefined) c.added.steps.push({ operationId: id, step, detail: `${by}: ${verdict}${reason}` });
}

const verdictOf = ({ isDone }: Of<'Decide'>): string => (isDone ? 'done, ' : 'refused, ');

function decideOpen(c: Draft, op: Op, event: Of<'Decide'>): Ruled {
  const from = op.answerBy + personDecidesAfterMs;
  if (!op.isEndedUnknown && c.now < from) {
    const sentence = `The device may still carry the command out and report the outcome. Otherwise you can decide it from ${new Date(from).toISOString()} on.`;
    return say(cannotApply(sentence));
  }
  if (event.found) return say(cannotApply(event.found === 'running' ? stillRunning : reportedNews(op)));
  const wrong = event.isDone ? numbersOfAnother(c, op, event) : undefined;
  if (wrong) return say(wrong);
  settle(c, op, event.isDone ? 'done' : 'refused', 'person', undefined);
  op.reason = event.reason;
  if (event.isDone) takeEntered(op, event);
  note(c, op, 'decided', event, verdictOf(event));
  return taken(op);
}

const stillRunning =
  'The device says that it is still carrying the command out and will report the outcome. If it hangs, restart or disable it, then decide.';
const reportedNews = ({ review }: Op): string =>
  `The device was asked first and reported something new: ${review?.reason ?? ''} Check it, then decide.`;

/** The answer is only that the step was taken: its consequences are part of the same change. */
const taken = (op: Op): Ruled => changedSaying(done({ OID: op.id }));

/** Without the bank's number no call could close the document or return the money: the decision ends the document [D308]. */
function takeEntered(op: Op, { operationId, rrn }: Of<'Decide'>): void {
  if (!isPayment(op)) return;
  op.operationId = operationId ?? op.operationId;
  op.rrn = rrn ?? op.rrn;
  if (op.operationId === null) op.isEndedByHand = true;
  if (op.outcome !== 'done') op.report = enteredReport(op);
}

function enteredReport({ operationId, rrn, amountBani }: Op): Report {
  const known = { ...(operationId === null ? {} : { operationId }), ...(rrn === null ? {} : { rrn }) };
  return { ...known, amount: baniToLei(amountBani ?? 0), source: 'person' };
}

/** The state that it would have had at first; its money is corrected now, and its entry stays where it is [D303]. */
function resolve(c: Draft, op: Op, event: Of<'Decide'>): Ruled {
  const wrong = otherNumbers(op, event) ?? (event.isDone ? numbersOfAnother(c, op, event) : undefined);
  if (wrong) return say(wrong);
  const before = op.disputedFrom === 'done' ? 1 : 0;
  op.state = event.isDone ? 'done' : 'refused';
  op.settledBy = 'person';
  op.reason = event.reason;
  op.outcome ??= 'unknown';
  if (op.review) op.review = { ...op.review, isClosed: true };
  if (event.isDone) takeEntered(op, event);
  // What its device denied, it did not report.
  else if (op.disputedFrom === 'done' && op.outcome !== 'done') op.report = null;
  for (const equal of [op, ...opsWithContentOf(c, op)]) if (equal.receivedAt === null) equal.missedAt = c.now;
  const change = (event.isDone ? 1 : 0) - before;
  const amountBani = change * (returnsMoney(op) ? -1 : 1) * (op.amountBani ?? 0);
  note(c, op, 'review closed', event, verdictOf(event));
  if (amountBani !== 0) c.added.corrections.push({ operationId: op.id, amountBani, at: c.now });
  return taken(op);
}

/** Their repeats were refused during the dispute: they are recognised for as long as after an answer 3 [D58]. */
const opsWithContentOf = (c: Draft, { merchantId, deviceId, requestHash }: Op): Op[] =>
  requestHash === null ? [] : opsUnder(c, merchantId, contentName(deviceId, requestHash), () => true);

/** The device knows the bank's numbers; other ones would make a later refund or void find nothing, or another payment. */
function otherNumbers(op: Op, event: Of<'Decide'>): Answer | undefined {
  if (op.outcome !== 'done') return undefined;
  for (const name of ['operationId', 'rrn'] as const) {
    const [reported, entered] = [op[name], event[name]];
    if (reported !== null && entered !== undefined && entered !== reported)
      return invalid(`The device reported ${name} ${reported}; leave it out, or correct it.`);
  }
  return undefined;
}

/** A void with them would return the money of that payment. The bank's numbers start over, but not both at once [D16]. */
function numbersOfAnother(c: Draft, op: Op, { operationId, rrn }: Of<'Decide'>): Answer | undefined {
  if (!isPayment(op) || operationId === undefined || rrn === undefined) return undefined;
  const { merchantId, deviceId } = op;
  const other = paymentsWith(c, { merchantId, deviceId, operationId, documentNr: '' }).find((one) => one !== op && one.rrn === rrn);
  return (
    other && invalid(`operationId and rrn are those of another payment on this terminal (${other.id}); correct them, or leave both out.`)
  );
}

function alreadySettled(op: Op): Answer {
  const isContradicted = op.review !== null && !op.review.isClosed;
  const further = isContradicted ? ' The device has contradicted it since: check the command again, then close the review.' : '';
  const sentence = op.state === 'disputed' ? 'The command is disputed.' : 'It is settled already.';
  return cannotApply(sentence + further);
}

/** Why its device cannot tell more about it; undefined: it can be asked. */
export function cannotAsk(op: Op): Answer | undefined {
  if (op.removedAt !== null) return cannotApply('Its details were removed after the retention period.');
  return op.journalId === null && !isOpen(op) ? cannotApply('This device keeps no journal.') : undefined;
}

/** It delivers nothing to the till [D309]. */
export function closeByHand(c: Draft, event: Of<'CloseByHand'>): Ruled {
  const payment = c.ops[event.id];
  if (!payment || !isPayment(payment)) return say(noSuchOperation);
  if (payment.document === null)
    return say(unknownRecord(isUnexecuted(payment) ? 'Nothing was charged.' : 'Its outcome is not known yet.'));
  if (payment.document !== 'open') return say(cannotApply('The document of this payment is not open.'));
  payment.isEndedByHand = true;
  note(c, payment, 'closed by hand', event);
  return taken(payment);
}

/** Decisions about commands that went to other hardware than the connected one are not waited for [D304]. */
export function hardwareLost(c: Draft, event: Of<'HardwareLost'>): Ruled {
  const { deviceId } = event;
  const waiting = allOps(c).filter((op) => op.deviceId === deviceId && op.isUnconfirmed);
  const lost = waiting.filter((op) => {
    const live = presenceOf(c, op.merchantId, deviceId);
    return !live?.isOnline || live.journalId !== op.journalId;
  });
  if (lost.length === 0)
    return say(
      cannotApply('No decision about this device waits for other hardware than the connected one: there is nothing to declare lost.'),
    );
  for (const op of lost) {
    op.isHardwareLost = true;
    note(c, op, 'hardware lost', event);
  }
  return changedSaying(done({}));
}

/**
 * After the retention time a tombstone stays, so that a repeat is never executed [D66]. What may still change, what a person has to do
 * something about, and what a kept row refers to, is kept; so is an attempt under the OID of an invoice that can still be paid, whose
 * number must stay free.
 */
export function remove(c: Draft, { id, isCallbackPending }: RemovalEvent): Ruled {
  const op = c.ops[id];
  if (!op || op.removedAt !== null || !isAtRest(op) || isCallbackPending === true) return nothing;
  if (op.attention?.includes('chargedTwice')) return nothing;
  if (op.document === 'open' || followersOf(c, id).some((one) => one.removedAt === null && (one.targetId === id || !isAtRest(one))))
    return nothing;
  if (paymentsOf(c, op).some((payment) => !isAtRest(payment))) return nothing;
  const invoice = invoiceOf(c, op.merchantId, op.documentNr);
  if (invoice && isUnpaid(invoice)) return nothing;
  op.removedAt = c.now;
  // What later answers of devices are compared with stays: the outcome, the bank's numbers, the journal [D304].
  for (const text of ['report', 'reason', 'review', 'contradiction'] as const) op[text] = null;
  return changed(id);
}

const isAtRest = (op: Op): boolean =>
  !isOpen(op) && op.state !== 'disputed' && !op.isUnconfirmed && (op.review === null || op.review.isClosed);
