// The answer about an operation: from its standing alone, for the call, its repeat, Operation/Status and every attempt by number [D140].
// Every answer about an operation has its OID and State. No sentence suggests a new documentNr: a caller that followed it would charge again.
import type { ErrorName } from '../../kernel/error-codes.ts';
import { baniToLei } from '../../kernel/money.ts';
import type { OperationState } from '../../kernel/operation-states.ts';
import type { Case, Op } from '../case.ts';
import type { Answer, AnswerFields } from '../event.ts';
import { isAbort, isPayment, isUnexecuted, remainderOf } from './facts.ts';

/** `query`: the call itself, its repeat, Operation/Status. `number`: another Pay under a number that was paid. */
export type Question = 'query' | 'number';
type Reply = 'success' | 'ended' | 'unclear' | 'refused' | 'not done';

const toQuery: Readonly<Record<OperationState, Reply>> = {
  Open: 'unclear',
  Done: 'success',
  Closed: 'success',
  Refunded: 'success',
  Voided: 'ended',
  Refused: 'refused',
  Never: 'not done',
  Disputed: 'unclear',
};
const replies: Readonly<Record<Question, Readonly<Record<OperationState, Reply>>>> = {
  query: toQuery,
  number: { ...toQuery, Closed: 'ended', Refunded: 'ended' },
};

export interface Asked {
  question?: Question;
  /** Other operations under the number [D305]. */
  also?: readonly Op[];
}

export function answerAbout(c: Case, op: Op, { question = 'query', also = [] }: Asked = {}): Answer {
  if (isAbort(op)) return answerOfAbort(c, op, also);
  const fields = fieldsOf(op, also);
  if (op.removedAt !== null) return cannotApply(removedSentences[isUnexecuted(op) ? 'not done' : 'done'], fields);
  switch (replies[question][op.standing]) {
    case 'success':
      return done(fields, op.report);
    case 'ended':
      return warned({ ...cannotApply(endedSentences[op.standing] ?? '', fields), report: op.report ?? undefined }, also);
    case 'refused':
      return warned(refusedByDevice(op, fields), also, others);
    case 'not done':
      return warned(notDone(op, fields), also, others);
    case 'unclear':
      return warned(unclear(op, fields), also);
  }
}

export function fieldsOf(op: Op, also: readonly Op[] = []): AnswerFields {
  const isRefundedInPart = isPayment(op) && op.state === 'done' && op.refundedBani > 0;
  return {
    OID: op.id,
    State: op.standing,
    ...(isRefundedInPart ? { Remainder: baniToLei(Math.max(0, remainderOf(op))) } : {}),
    ...namesOf(also),
  };
}

/** Every answer by number names the others whose money the shop may have [D305]. */
export const namesOf = (also: readonly Op[]): AnswerFields =>
  also.length > 0 ? { AlsoUnderThisNumber: also.map(({ id, standing }) => ({ OID: id, State: standing })) } : {};

/**
 * By the state of the payment [D302]: 0 if it was not made, whether the abort stopped it or not; 22 if it was. A terminal that refused to
 * stop ends the request, too: 22 for good, while State tells what becomes of the payment [D315].
 */
function answerOfAbort(c: Case, abort: Op, also: readonly Op[]): Answer {
  const payment = c.ops[abort.targetId ?? ''];
  return payment ? stopped(payment, also, abort.isStopRefused) : unclear(abort, fieldsOf(abort));
}

/** What a call that wants to stop this payment is answered. */
export function stopped(payment: Op, also: readonly Op[] = [], isRefused = false): Answer {
  const fields = fieldsOf(payment, also);
  if (payment.standing === 'Disputed') return warned(unclear(payment, fields), also);
  if (isRefused) return warned(cannotApply(refusedToStop, fields), also);
  if (payment.standing === 'Open') return warned(error('Timeout_or_no_response', stillStopping, fields), also);
  if (isUnexecuted(payment)) return done(fields, payment.report);
  return warned(cannotApply(chargedSentences[payment.standing] ?? '', fields), also);
}

const refusedToStop =
  'It is too late to stop the payment. Ask GET Device/Operation/Status with this OID for its outcome, and void it if it was approved.';
const stillStopping = 'It is not known yet whether the payment was stopped. Ask GET Device/Operation/Status with this OID.';

const chargedSentences: Partial<Record<OperationState, string>> = {
  Done: 'The payment was approved in the meantime: it is charged.',
  Closed: 'The payment was approved and its document is closed: it is charged.',
  Voided: 'The payment is voided already: nothing of it is charged any more.',
  Refunded: 'The payment was approved and refunded in full already.',
};

/** Of a payment that its number cannot pay for again. */
const endedSentences: Partial<Record<OperationState, string>> = {
  Closed: 'This is paid: the payment under this documentNr was approved and its document is closed. It is not charged again.',
  Voided: 'The payment was approved and then voided, so nothing of it is charged any more. It is not charged again.',
  Refunded: 'The payment was approved and then refunded in full. It is not charged again.',
};

const removedSentences = {
  done: 'This was done long ago, and its record has been removed since; it is not done again.',
  'not done': 'This was tried long ago and not done, and its record has been removed since; it is not tried again under this number.',
};

const others = 'AlsoUnderThisNumber names other payments under this number that were made, or may have been.';

/** The caller must learn that the shop may have the money twice, or that another payment under the number was made [D305]. */
export const warned = (answer: Answer, also: readonly Op[], warning = `Possible double charge: ${others}`): Answer =>
  also.length === 0 ? answer : { ...answer, sentence: `${answer.sentence} ${warning}` };

function refusedByDevice({ reason, report, outcome, settledBy }: Op, fields: AnswerFields): Answer {
  // An operator's reason is for the shop, not for the ERP; and a report of `done` is no refusal, so it is left out.
  const sentence =
    settledBy === 'person'
      ? 'An operator decided that the operation was not carried out.'
      : reason
        ? `The device refused: ${reason}`
        : 'The device refused the operation.';
  return error('Refused_By_Device', sentence, fields, outcome === 'done' ? null : report);
}

function notDone({ outcome, report }: Op, fields: AnswerFields): Answer {
  if (outcome === 'busy') return error('Device_Busy', 'The device is busy with another operation; nothing was done.', fields, report);
  return error('Device_Offline', 'The command did not reach the device in time; nothing was done and nothing will be.', fields);
}

/** 3: it may have been done. The status call that the sentence names starts nothing [D64]. */
export function unclear(op: Op, fields: AnswerFields): Answer {
  const sentence =
    op.standing === 'Disputed'
      ? 'The device contradicts the outcome that was settled before, and an operator of the gateway has to resolve it. Ask GET Device/Operation/Status with this OID later, which starts nothing; do not begin another operation instead.'
      : 'The outcome is not known yet. Ask GET Device/Operation/Status with this OID, which starts nothing, until it is; do not begin another operation instead.';
  return error('Timeout_or_no_response', sentence, fields);
}

export function error(code: ErrorName, sentence: string, fields: AnswerFields = {}, report: Op['report'] = null): Answer {
  return { code, sentence, fields, ...(report === null ? {} : { report }) };
}

export const cannotApply = (sentence: string, fields: AnswerFields = {}): Answer => error('The_status_cannot_be_applied', sentence, fields);
export const invalid = (sentence: string): Answer => error('Invalid_Request', sentence);
export const unknownRecord = (sentence: string): Answer => error('Record_not_exist', sentence);
export const busy = (sentence: string, fields: AnswerFields = {}): Answer => error('Device_Busy', sentence, fields);
export const done = (fields: AnswerFields, report: Op['report'] = null): Answer => ({
  ...{ code: 'NoError', sentence: '', fields },
  ...(report === null ? {} : { report }),
});
