// What must hold, about answers and states, with the truth beside them. The rules are asked for answers; what these should be is computed here.
import type { Op } from '../src/money/case.ts';
import { answerInvariants, answerInvariantsOfTransitions, answerInvariantsWithTruth } from './invariants-of-answers.ts';
import { otherInvariants } from './invariants-of-others.ts';
import { stateInvariants, stateInvariantsOfTransitions } from './invariants-of-states.ts';
import { stepInvariants } from './invariants-of-steps.ts';
import type { Invariant } from './judged.ts';
import {
  beganAfter,
  invoiceIn,
  isCharge,
  isDecidedNo,
  isOpen,
  isReal,
  isUnexecuted,
  kindOf,
  mayStillRun,
  numberOfCharge,
  returns,
  wasExecuted,
} from './reading.ts';
import { closesDay, now, oid, opsOf, type State } from './world.ts';

/** What the last action has sent to a device. */
function sentIn({ sent }: State, ops: readonly Op[]): Op | undefined {
  return sent === undefined ? undefined : ops.find(({ id }) => id === sent);
}

/** Its person's error is that person's: the number is free on another device, and here after the journal or an operator has said so. */
const isExcused = (earlier: Op, op: Op) => isDecidedNo(earlier) && (earlier.deviceId !== op.deviceId || !earlier.isUnconfirmed);

const oneCharge: Invariant = ({ before, after, world }) => {
  const ops = opsOf(after);
  const op = sentIn(after, ops);
  if (!op || !isCharge(op)) return undefined;
  const number = numberOfCharge(op);
  if (number === null) return undefined;
  const earlier = ops.filter((one) => one.id !== op.id && isCharge(one) && numberOfCharge(one) === number);
  for (const one of earlier) {
    // What a device says of a removed one is for a person, and its number was tried again before [D66].
    if (isExcused(one, op) || one.removedAt !== null) continue;
    const isWrong = world.hasLapses ? one.acceptedAt !== null && one.state === 'never' : isReal(after, one.id);
    if (isWrong)
      return `${kindOf(op)} ${op.id} is sent under ${number} although ${kindOf(one)} ${one.id} ${world.hasLapses ? 'was accepted' : 'was or may be executed'}`;
  }
  const invoice = before.ledger['commands']?.[op.id] ? undefined : invoiceIn(before)?.state;
  if (number === oid && invoice !== undefined && invoice !== 'NewItem' && invoice !== 'Scanned')
    return `the card is charged for an invoice that is ${invoice}`;
  return earlier.length > 0 ? true : undefined;
};

const oneReceipt: Invariant = ({ after }) => {
  const ops = opsOf(after);
  const op = sentIn(after, ops);
  if (!op || kindOf(op) !== 'Print') return undefined;
  const others = ops.filter(({ id }) => id !== op.id);
  const prints = others.filter((one) => kindOf(one) === 'Print' && isReal(after, one.id));
  for (const one of prints) {
    const isSame = op.receiptUid === null ? false : one.receiptUid === op.receiptUid;
    const isPaymentOnBoth = op.paid.some(({ paymentId }) => one.paid.some((other) => other.paymentId === paymentId));
    if ((isSame && !isExcused(one, op)) || (isPaymentOnBoth && !isDecidedNo(one)))
      return `Print ${op.id} is sent although Print ${one.id} of ${isSame ? 'its number' : 'its payment'} was or may be printed`;
  }
  for (const { paymentId, amountBani } of op.paid) {
    const payment = ops.find(({ id }) => id === paymentId);
    const back = others.filter((one) => one.targetId === paymentId && returns(one));
    if (!payment || back.some(({ settledBy }) => settledBy === 'person')) return undefined;
    const kept =
      (payment.amountBani ?? 0) - back.filter(({ id }) => isReal(after, id)).reduce((sum, one) => sum + (one.amountBani ?? 0), 0);
    if (amountBani !== kept) return `Print ${op.id} shows ${amountBani} of Pay ${paymentId}, the shop keeps ${kept}`;
    if (op.cardBani > 0) return `Print ${op.id} charges ${op.cardBani} beside Pay ${paymentId}`;
  }
  return others.length > 0 ? true : undefined;
};

const isSoldSince = ({ truth }: State, ops: readonly Op[], close: Op) =>
  truth[oid]?.hits === close.id || ops.some((op) => !closesDay(op) && op.deviceId === close.deviceId && beganAfter(ops, op.id, close.id));

const isForgotten = ({ settledAt, missedAt, removedAt }: Op) =>
  removedAt !== null || (settledAt !== null && Math.max(settledAt, missedAt ?? 0) <= now - 10 * 60_000);

/** An unnamed call is executed again only if a caller has the outcome of the first one, or still waits for it [D58]. */
const oneUnnamed: Invariant = ({ before, after, move }) => {
  const ops = opsOf(after);
  const op = sentIn(after, ops);
  if (!op || op.requestHash === null || (op.kind === 'Pay' && op.documentNr !== null)) return undefined;
  // A key names the request, whatever its content is.
  if (op.attempt === 0 || (move.event && 'key' in move.event && move.event.key)) return undefined;
  const earlier = ops.filter((one) => one.id !== op.id && one.requestHash === op.requestHash && one.deviceId === op.deviceId);
  for (const one of earlier) {
    const isKnown =
      before.informed.includes(one.id) ||
      (before.waiting.includes(one.id) && isOpen(one)) ||
      ops.some(({ targetId, isByPerson }) => targetId === one.id && !isByPerson);
    if (isKnown || isExcused(one, op) || isForgotten(one)) continue;
    const isOtherDay = closesDay(op) && isSoldSince(before, ops, one);
    if (isReal(after, one.id) && !isOtherDay)
      return `${kindOf(op)} ${op.id} is sent although the equal ${kindOf(one)} ${one.id} was or may be executed, and no caller knows its outcome`;
  }
  return earlier.length > 0 ? true : undefined;
};

/** What a day has closed is not refunded: the bank refuses it, or the money is in no close. */
const nothingAfterTheDay: Invariant = ({ before, after }) => {
  const ops = opsOf(after);
  const op = sentIn(after, ops);
  if (op?.kind !== 'Refund') return undefined;
  const close = opsOf(before).find(
    (one) => one.kind === 'CloseDay' && one.deviceId === op.deviceId && one.state === 'done' && beganAfter(ops, one.id, op.targetId),
  );
  return close ? `Refund ${op.id} of ${op.targetId} is sent although CloseDay ${close.id} has closed its day` : true;
};

/** A tombstone keeps that it was disputed, and not with what words. */
const wasContradicted = ({ contradiction, removedAt, disputedFrom }: Op) =>
  contradiction !== null || (removedAt !== null && disputedFrom !== null);

const notDone: Invariant = ({ after, world }) => {
  if (world.hasLapses) return undefined;
  const found = opsOf(after).filter((op) => op.kind !== 'Abort' && isUnexecuted(op) && op.settledBy !== 'person');
  // What comes after the removal is for a person.
  for (const op of found)
    if (isReal(after, op.id) && !(op.removedAt !== null && wasContradicted(op)))
      return `${kindOf(op)} ${op.id} is ${op.standing}, but its device has ${after.truth[op.id]?.did}`;
  return found.length > 0 ? true : undefined;
};

const done: Invariant = ({ after }) => {
  const ops = opsOf(after);
  const found = ops.filter((op) => op.kind !== 'Abort' && op.state === 'done' && op.settledBy !== 'person');
  for (const op of found) {
    if (!wasExecuted(after, op.id)) return `${kindOf(op)} ${op.id} is done, but its device did not execute it`;
    const { hits } = after.truth[op.id] ?? {};
    if (hits !== undefined && hits !== op.targetId && !ops.some(({ settledBy }) => settledBy === 'person'))
      return `${kindOf(op)} ${op.id} of ${op.targetId} returned the money of ${hits}`;
  }
  return found.length > 0 ? true : undefined;
};

const refunds: Invariant = ({ after }) => {
  let isInteresting = false;
  const ops = opsOf(after);
  for (const payment of ops.filter(({ kind }) => kind === 'Pay')) {
    const back = ops.filter((op) => op.targetId === payment.id && returns(op));
    if (back.length === 0) continue;
    isInteresting = true;
    if (back.some(({ id }) => after.overruled.includes(id))) continue;
    const sum = back
      .filter(({ id }) => mayStillRun(after, id) || wasExecuted(after, id))
      .reduce((total, op) => total + (op.amountBani ?? 0), 0);
    if (sum > (payment.amountBani ?? 0)) return `${sum} of ${payment.amountBani} of Pay ${payment.id} may go back`;
  }
  return isInteresting || undefined;
};

/** A decision counts as confirmed only by the journal under whose id the command was sent. */
const confirmed: Invariant = ({ after, world }) => {
  const found = opsOf(after).filter((op) => op.settledBy === 'person' && op.isConfirmed && op.journalId !== null);
  if (world.hasLapses) return undefined;
  for (const op of found) {
    // A device that cannot tell has finished the command, and the decision stays the person's [D63].
    if (op.state === 'disputed' || wasContradicted(op) || op.outcome === 'unknown') continue;
    if (isUnexecuted(op) && isReal(after, op.id))
      return `${kindOf(op)} ${op.id} counts as confirmed, but its device has ${after.truth[op.id]?.did}`;
  }
  return found.length > 0 ? true : undefined;
};

const transitions: Readonly<Record<string, Invariant>> = {
  '1 one charge per number': oneCharge,
  '1 one receipt per sale': oneReceipt,
  '1 one execution per unnamed call': oneUnnamed,
  '3 a closed day stays closed': nothingAfterTheDay,
  ...stateInvariantsOfTransitions,
  ...answerInvariantsOfTransitions,
  ...stepInvariants,
  ...otherInvariants,
};

/** About a state with its truth. */
const ofTruth: Readonly<Record<string, Invariant>> = {
  '3 "not done" is true': notDone,
  '3 "done" is true': done,
  '6 refunds within the payment': refunds,
  '10 confirmed by its own journal': confirmed,
  ...answerInvariantsWithTruth,
};

/** About the rows alone: equal ones are judged once. */
const ofLedger: Readonly<Record<string, Invariant>> = { ...stateInvariants, ...answerInvariants };

export const invariants = { transitions, ofTruth, ofLedger };
