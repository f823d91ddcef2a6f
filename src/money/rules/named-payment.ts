// The payment that a call names by operationId and documentNr, and what can still be done about it.
import { type Bani, formatLei } from '../../kernel/money.ts';
import type { Case, Id, Op } from '../case.ts';
import type { Answer, Of } from '../event.ts';
import { cannotApply, fieldsOf, invalid, unclear, unknownRecord } from './answers.ts';
import { allOps, committedRefunds, followersOf, inOrder, isDayClosed, isPayment, isUnexecuted, opsUnder, sumOf } from './facts.ts';

export interface NumbersOfPayment {
  merchantId: Id;
  deviceId: Id;
  operationId: string;
  documentNr: string;
  rrn?: string | undefined;
  paymentId?: Id | undefined;
}

/** Approved, or disputed: then it may have been charged. */
const mayBeMade = ({ state }: Op) => state === 'done' || state === 'disputed';

/** All payments on this terminal with the operationId, under any documentNr, newest last: the bank's numbers start over [D16]. */
export const paymentsWith = (c: Case, { merchantId, deviceId, operationId }: NumbersOfPayment): Op[] =>
  inOrder(
    allOps(c).filter((op) => isPayment(op) && op.merchantId === merchantId && op.deviceId === deviceId && op.operationId === operationId),
  ).filter(mayBeMade);

/** A payment without documentNr matches only if no payment of the merchant has the requested one. */
export function findPayment(c: Case, call: NumbersOfPayment): Op | undefined {
  if (call.paymentId !== undefined) {
    const chosen = c.ops[call.paymentId];
    const isNamed = chosen !== undefined && isPayment(chosen) && chosen.merchantId === call.merchantId && chosen.deviceId === call.deviceId;
    return isNamed ? chosen : undefined;
  }
  const all = paymentsWith(c, call).filter((op) => call.rrn === undefined || op.rrn === call.rrn);
  const exact = all.findLast((op) => op.documentNr === call.documentNr);
  const isNumberUsed = opsUnder(c, call.merchantId, call.documentNr, (op) => isPayment(op) && !isUnexecuted(op)).length > 0;
  return exact ?? (isNumberUsed ? undefined : all.findLast((op) => op.documentNr === null));
}

export const noSuchOperation = unknownRecord('No payment with this operationId and documentNr is known on this terminal.');
export const wrongRrn = unknownRecord('The payment with this operationId has another rrn: the rrn is wrong.');

/** Why nothing can be done about the payment now: its dispute, its removal, or that it was not made. */
export function untouchable(payment: Op, isByPerson = false): Answer | undefined {
  if (payment.standing === 'Disputed') {
    const answer = unclear(payment, fieldsOf(payment));
    return isByPerson ? { ...answer, sentence: 'Its outcome is disputed, or that of its refund or void. Resolve that first.' } : answer;
  }
  if (payment.state !== 'done') return noSuchOperation;
  return payment.removedAt === null ? undefined : removedPayment(payment);
}

export const removedPayment = (payment: Op): Answer =>
  cannotApply(
    'The payment was made long ago, and its record has been removed since; nothing more can be done about it here.',
    fieldsOf(payment),
  );

/** What a refund may still return. */
export const leftBaniOf = (c: Case, payment: Op): Bani => (payment.amountBani ?? 0) - sumOf(committedRefunds(followersOf(c, payment.id)));

/** A person reads what is left to do in the cabinet, not which call would do it. */
export function cannotRefund(c: Case, payment: Op, amountBani: Bani, isByPerson = false): Answer | undefined {
  if (payment.standing === 'Voided') return cannotApply('The payment was voided, so there is nothing to refund.', fieldsOf(payment));
  if (isDayClosed(c, payment)) {
    const advice = isByPerson ? howPersonReturns(c, payment) : howToReturn(c, payment);
    return cannotApply(`The bank day of this payment is closed. ${advice}`, fieldsOf(payment));
  }
  const leftBani = leftBaniOf(c, payment);
  if (isByPerson && leftBani <= 0) return invalid('Nothing is left to refund.');
  return amountBani > leftBani
    ? invalid(`amount must not be over ${formatLei(leftBani)}, which is left of the original payment.`)
    : undefined;
}

export function cannotVoid(c: Case, payment: Op, amountBani: Bani): Answer | undefined {
  if (payment.standing === 'Voided') return cannotApply('The payment is voided already.', fieldsOf(payment));
  if (committedRefunds(followersOf(c, payment.id)).length > 0)
    return cannotApply('A refund of it was made or is under way, so it can no longer be voided.', fieldsOf(payment));
  return amountBani === payment.amountBani
    ? undefined
    : invalid(`amount must be that of the original payment, ${formatLei(payment.amountBani ?? 0)}.`);
}

/** How the money of an approved payment can be returned: a void would be refused after a refund, a refund after the bank day. */
export function howToReturn(c: Case, payment: Op): string {
  if (payment.operationId === null)
    return 'Its operationId is not known, so no call can return the money: return it at the terminal or the bank, or ask Device/Operation/Status later, when the terminal may have reported it.';
  if (isHidden(c, payment))
    return 'A newer payment under this documentNr has the same operationId, so no call can name this one: return the money in the cabinet, at the terminal or the bank.';
  switch (returnOf(c, payment)?.type) {
    case 'CancelTransaction':
      return 'To return the money, use CancelTransaction with its whole amount and its operationId, which Device/Operation/Status returns.';
    case 'Refund':
      return 'A refund of it was made or is under way; return what is left with Refund.';
    default:
      return 'A refund of it was made or is under way, so it can no longer be voided either; what is left must be returned in another way.';
  }
}

const howPersonReturns = (c: Case, payment: Op): string =>
  cannotVoid(c, payment, payment.amountBani ?? 0)
    ? 'A refund of it was made or is under way, so what is left must be returned in another way.'
    : 'It can still be voided.';

/** A call with its numbers would be about another payment [D16]. */
function isHidden(c: Case, { merchantId, deviceId, operationId, documentNr, id }: Op): boolean {
  if (operationId === null || documentNr === null) return false;
  return findPayment(c, { merchantId, deviceId, operationId, documentNr })?.id !== id;
}

/** The call that returns the rest of the money, if its rules allow it; whether its terminal is free now is another question. */
function returnOf(c: Case, payment: Op): Of<'Refund' | 'CancelTransaction'> | undefined {
  const { merchantId, deviceId, operationId, documentNr, amountBani, rrn } = payment;
  if (operationId === null || amountBani === null || untouchable(payment)) return undefined;
  const call = { merchantId, deviceId, operationId, documentNr: documentNr ?? payment.id, paymentId: payment.id, newId: '' };
  if (!cannotVoid(c, payment, amountBani)) return { type: 'CancelTransaction', ...call, amountBani, token: '' };
  const leftBani = leftBaniOf(c, payment);
  if (leftBani <= 0 || isDayClosed(c, payment)) return undefined;
  return { type: 'Refund', ...call, rrn: rrn ?? '', amountBani: leftBani };
}
