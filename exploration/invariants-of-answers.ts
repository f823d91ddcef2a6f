// Invariants about answers: those about one operation agree, by whatever name it is asked, and advice can be followed.
import type { Id, Op } from '../src/money/case.ts';
import type { Answer, Event } from '../src/money/event.ts';
import { askIn, isAccepted, payAgain, planIn, statusOf, stopAt } from './asking.ts';
import { callsIn, numberOf } from './calls.ts';
import type { Invariant } from './judged.ts';
import { beganAfter, invoiceIn, isCharge, isHere, isOpen, isReal, isUnexecuted, kindOf, numberOfCharge, stands } from './reading.ts';
import { isPast, longAgo, merchantId, newId, oid, opsOf, type State } from './world.ts';

const begunIsKnown: Invariant = ({ after, world, count }) => {
  let isInteresting = false;
  const ops = opsOf(after);
  for (const number of world.numbers.map(numberOf)) {
    if (ops.some((op) => op.kind === 'Pay' && numberOfCharge(op) === number)) {
      isInteresting = true;
      if (askIn(after, statusOf({ documentNr: number }), count).code === 'Record_not_exist')
        return `a Pay was begun under ${number}, and a query answers 20`;
    }
    if (ops.some((op) => op.receiptUid === number)) {
      isInteresting = true;
      if (askIn(after, statusOf({ receiptUid: number }), count).code === 'Record_not_exist')
        return `a Print was begun under ${number}, and a query answers 20`;
    }
  }
  return isInteresting || undefined;
};

const namedIn = ({ fields }: Answer): (Id | undefined)[] => [fields.OID, ...(fields.AlsoUnderThisNumber ?? []).map(({ OID }) => OID)];

/** D305: by number, the newest whose money the shop may have, on the terminal named; and all the others. */
const numberNamesEveryCharge: Invariant = ({ after, world, count }) => {
  let isInteresting = false;
  const ops = opsOf(after);
  for (const number of world.numbers.map(numberOf)) {
    // A register that charges another card for the receipt of a payment does not charge its number again [D146].
    const isBeside = (op: Op) =>
      op.paid.some(({ paymentId }) => ops.some(({ id, documentNr }) => id === paymentId && documentNr === number));
    const all = ops.filter((op) => isCharge(op) && numberOfCharge(op) === number && stands(op) && !isBeside(op));
    if (all.length === 0) continue;
    for (const deviceId of [undefined, ...world.devices.filter((id) => id.startsWith('t'))]) {
      const answer = askIn(after, deviceId === undefined ? statusOf({ documentNr: number }) : payAgain(deviceId, number), count);
      const newest = all.findLast((op) => op.deviceId === deviceId) ?? all.at(-1);
      if (answer.fields.OID !== newest?.id)
        return `by number ${number} (${deviceId}) the answer is about ${answer.fields.OID}, the newest is ${newest?.id}`;
      for (const { id, standing } of all)
        if (!namedIn(answer).includes(id)) return `by number ${number} (${deviceId}) ${id} ${standing} is not named`;
    }
    if (all.length > 1) isInteresting = true;
  }
  return isInteresting || undefined;
};

/** By its OID, an operation is answered what its State says. */
const codes: Readonly<Record<string, Answer['code']>> = {
  ...{ Done: 'NoError', Closed: 'NoError', Refunded: 'NoError', Voided: 'The_status_cannot_be_applied', Open: 'Timeout_or_no_response' },
  ...{ Disputed: 'Timeout_or_no_response', Refused: 'Refused_By_Device' },
};

const oidAnswersState: Invariant = ({ after, count }) => {
  const ops = opsOf(after).filter((op) => op.kind !== 'Abort' && op.removedAt === null && op.merchantId === merchantId);
  for (const op of ops) {
    const { code, fields } = askIn(after, statusOf({ oid: op.id }), count);
    if (fields.OID !== op.id || fields.State !== op.standing)
      return `by OID ${op.id} ${op.standing} the answer is about ${fields.OID} ${fields.State}`;
    const wanted = codes[op.standing] ?? (op.outcome === 'busy' ? 'Device_Busy' : 'Device_Offline');
    if (code !== wanted) return `by OID ${op.id} ${op.standing} the answer is ${code}, not ${wanted}`;
  }
  return ops.length > 0 ? true : undefined;
};

/** D302: by its own OID, by its key and repeated, an abort has one answer, which is that of its payment. */
const abortHasOneAnswer: Invariant = ({ after, count }) => {
  const ops = opsOf(after);
  const aborts = ops.filter(({ kind }) => kind === 'Abort');
  const isOtherPaid = ops.some((op) => isCharge(op) && numberOfCharge(op) === oid && stands(op));
  const isPayable = ['NewItem', 'Scanned'].includes(String(invoiceIn(after)?.state));
  for (const abort of aborts) {
    const payment = ops.find(({ id }) => id === abort.targetId);
    if (!payment) return `Abort ${abort.id} has no payment`;
    const { code } = askIn(after, statusOf({ oid: abort.id }), count);
    if (code === 'The_status_cannot_be_applied' && isUnexecuted(payment) && !abort.isStopRefused)
      return `Abort ${abort.id} is 22, but ${payment.id} is ${payment.standing}`;
    if (code === 'NoError' && (!isUnexecuted(payment) || (payment.settledBy !== 'person' && isReal(after, payment.id))))
      return `Abort ${abort.id} is 0, but ${payment.id} is ${payment.standing}`;
    if (code === 'NoError' && payment.documentNr === oid && isPayable && !isOtherPaid)
      return `Abort ${abort.id} is 0, and its invoice can be paid`;
    if (isOpen(abort) && !isOpen(payment) && payment.state !== 'disputed')
      return `Abort ${abort.id} is open for ever, its payment is ${payment.standing}`;
    if (abort.isStopRefused) {
      if (code === 'NoError') return `Abort ${abort.id} was refused, and is 0`;
      continue;
    }
    const repeat = askIn(after, stopAt(abort.deviceId, payment.documentNr ?? ''), count);
    // A repeat without the key may be about the invoice, which the void of the payment has cancelled.
    if (repeat.fields.PreviousStatus !== undefined && payment.standing === 'Voided') continue;
    if (repeat.fields.OID === payment.id && repeat.code !== code)
      return `Abort ${abort.id}: ${code} by its OID, ${repeat.code} repeated; payment ${payment.standing}`;
  }
  return aborts.length > 0 ? true : undefined;
};

/** A message names a call only if it is accepted; whether the terminal is free just now is another question. */
const advised: readonly [pattern: RegExp, event: (op: Op, ops: readonly Op[]) => Event | undefined][] = [
  [/use CancelTransaction with its whole amount/, (op) => cancelOf(op, op.amountBani ?? 0)],
  [/return what is left with Refund/, (op, ops) => refundOf(op, leftOf(op, ops))],
  [/Stop it there|stop it there/, (op) => stopAt(op.deviceId, op.documentNr ?? '')],
  [/Ask GET Device\/Operation\/Status with this OID/, (op) => statusOf({ oid: op.id })],
];
const leftOf = ({ id, amountBani }: Op, ops: readonly Op[]) =>
  ops
    .filter((op) => op.kind === 'Refund' && op.targetId === id && !isUnexecuted(op))
    .reduce((left, op) => left - (op.amountBani ?? 0), amountBani ?? 0);
const about = (op: Op) => ({
  merchantId,
  newId,
  deviceId: op.deviceId,
  documentNr: op.documentNr ?? '',
  operationId: op.operationId ?? '',
});
const cancelOf = (op: Op, amountBani: number): Event => ({ type: 'CancelTransaction', ...about(op), amountBani, token: '' });
const refundOf = (op: Op, amountBani: number): Event => ({ type: 'Refund', ...about(op), amountBani, rrn: op.rrn ?? '' });

/** It is being stopped already, and a repeat waits with the first. */
const isStopped = (event: Event, ops: readonly Op[], { id }: Op) =>
  event.type === 'CancelTransaction' && ops.some((op) => op.kind === 'Abort' && op.targetId === id && !op.isStopRefused);

const isNotNow = (state: State, op: Op, answer: Answer | undefined) => answer?.code === 'Device_Busy' || !isHere(state, op);

const adviceIsAccepted: Invariant = ({ after, world }) => {
  let isInteresting = false;
  const ops = opsOf(after);
  const asked = world.numbers.map(numberOf).flatMap((number) => {
    const terminals = world.devices.filter((id) => id.startsWith('t'));
    return [statusOf({ documentNr: number }), ...terminals.flatMap((id) => [payAgain(id, number), stopAt(id, number)])];
  });
  for (const event of asked) {
    const { answer } = planIn(after, event);
    const op = ops.find(({ id }) => id === answer?.fields.OID);
    if (!answer || !op) continue;
    for (const [pattern, call] of advised) {
      const next = pattern.test(answer.sentence) ? call(op, ops) : undefined;
      if (!next) continue;
      isInteresting = true;
      const got = planIn(after, next);
      const isTaken = got.wouldChange || got.answer?.code === 'NoError' || next.type === 'Status' || isStopped(next, ops, op);
      if (!isTaken && !isNotNow(after, op, got.answer) && !ops.some(({ isUnconfirmed }) => isUnconfirmed))
        return `${event.type} advises ${next.type} about ${op.id} ("${answer.sentence}"), which is ${got.answer?.code}: ${got.answer?.sentence}`;
    }
    if (answer.advice && isHere(after, op) && !isAccepted(after, answer.advice))
      return `${event.type} advises ${answer.advice.type}, which is refused`;
  }
  return isInteresting || undefined;
};

const isUnchanged = (before: State, after: State, op: Op) =>
  opsOf(before).some(({ id, standing, removedAt }) => id === op.id && standing === op.standing && removedAt === op.removedAt);

/** D143: a dispute takes no answer from another operation. */
const repeatKeepsItsAnswer: Invariant = ({ before, after }) => {
  let isInteresting = false;
  if (before.count !== after.count) return undefined;
  for (const op of opsOf(after).filter(
    (one) => one.kind === 'Pay' && numberOfCharge(one) !== null && stands(one) && isUnchanged(before, after, one),
  )) {
    const repeat = payAgain(op.deviceId, op.documentNr ?? '');
    const was = planIn(before, repeat).answer;
    if (was?.fields.OID !== op.id) continue;
    const is = askIn(after, repeat);
    // A newer attempt came back: "the newest" of D305.
    if (beganAfter(opsOf(after), is.fields.OID, op.id)) continue;
    if (is.fields.OID !== op.id || is.code !== was.code)
      return `the repeat of Pay ${op.id}, which stays ${op.standing}, was ${was.code} about ${was.fields.OID} and is ${is.code} about ${is.fields.OID}`;
    isInteresting = true;
  }
  return isInteresting || undefined;
};

/** A key gets the same code while the State is the same, and Operation/Status by the key agrees with the call [D315]. */
const keyHasOneAnswer: Invariant = ({ before, after, world, count }) => {
  let isInteresting = false;
  for (const row of Object.values(after.ledger['idempotency_keys'] ?? {})) {
    const op = row['subject_kind'] === 'command' ? opsOf(after).find(({ id }) => id === row['subject_id']) : undefined;
    if (!op || (isUnexecuted(op) && op.kind !== 'Abort') || isPast(op) || row['created_at'] === longAgo) continue;
    const call = callsIn(after, { ...world, maxOps: 99 }).find(
      ({ event }) => 'key' in event && event.key?.key === row['key'] && event.key?.requestHash === row['request_hash'],
    );
    if (!call) continue;
    const byCall = askIn(after, call.event);
    const byKey = askIn(after, statusOf({ idempotencyKey: String(row['key']) }), count);
    isInteresting = true;
    if (byCall.code !== byKey.code || byCall.fields.OID !== byKey.fields.OID)
      return `${call.label} is ${byCall.code} about ${byCall.fields.OID}, the status of its key ${byKey.code} about ${byKey.fields.OID}`;
    const target = op.kind === 'Abort' ? opsOf(after).find(({ id }) => id === op.targetId) : op;
    const earlier = before.ledger['idempotency_keys']?.[`${merchantId} ${String(row['key'])}`];
    if (earlier?.['subject_id'] !== op.id || !target || !isUnchanged(before, after, target) || !isUnchanged(before, after, op)) continue;
    const was = askIn(before, call.event);
    if (was.code !== byCall.code)
      return `${call.label} was ${was.code} and is ${byCall.code}, while ${kindOf(target)} ${target.id} stays ${target.standing}`;
  }
  return isInteresting || undefined;
};

const words: Readonly<Record<string, string>> = {
  unknown: 'Unknown',
  done: 'Completed',
  refused: 'Refused',
  never: 'Refused',
  disputed: 'Unknown',
};

/** What an ERP was notified of last is what the operation is. */
const noticesAgree: Invariant = ({ after }) => {
  const notices = Object.values(after.ledger['callbacks'] ?? {});
  for (const op of opsOf(after).filter(({ callbackUri }) => callbackUri !== null)) {
    const last = notices.findLast((one) => one['subject_kind'] === 'operation' && one['subject_id'] === op.id);
    const isSilent = op.state === 'sent' || (op.state === 'never' && op.notices === 0);
    if (last?.['state'] !== (isSilent ? undefined : words[op.state]))
      return `${kindOf(op)} ${op.id} is ${op.state}, the last notice says ${last?.['state']}`;
  }
  const invoice = invoiceIn(after);
  const said = notices.findLast((one) => one['subject_kind'] === 'invoice' && one['subject_id'] === oid)?.['state'];
  if (said !== undefined && said !== invoice?.state) return `the invoice is ${invoice?.state}, the last notice says ${said}`;
  return notices.length > 0 ? true : undefined;
};

export const answerInvariantsOfTransitions: Readonly<Record<string, Invariant>> = {
  '8 a repeat keeps its answer': repeatKeepsItsAnswer,
  '8 a key has one answer': keyHasOneAnswer,
  '4 notices agree': noticesAgree,
};

export const answerInvariants: Readonly<Record<string, Invariant>> = {
  '2 what was begun is known': begunIsKnown,
  '1 the number names every charge': numberNamesEveryCharge,
  '4 the OID answers the State': oidAnswersState,
  '5 advice is accepted': adviceIsAccepted,
};

export const answerInvariantsWithTruth: Readonly<Record<string, Invariant>> = { '4 an abort has one answer': abortHasOneAnswer };
