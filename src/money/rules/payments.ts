// Pay, CloseDoc, Refund and the void of a payment [D13 to D18].
import { type Bani, baniToLei } from '../../kernel/money.ts';
import type { Draft, Op } from '../case.ts';
import type { Answer, CallEvent, Of } from '../event.ts';
import { answerAbout, cannotApply, done, fieldsOf, namesOf, warned } from './answers.ts';
import { joined, repeatByContent, repeatByKey, repeatOfRefused, unconfirmed, underTheSameName } from './earlier.ts';
import { followersOf, invoiceOf, isCloseDoc, isOpen, isPayment, isUnexecuted, leavesNumberFree, returnsMoney, saleOf } from './facts.ts';
import { cannotCharge } from './invoice-rules.ts';
import { cannotRefund, cannotVoid, findPayment, noSuchOperation, untouchable, wrongRrn } from './named-payment.ts';
import { chargesUnder, fold } from './numbers.ts';
import { begin, notFree, type Ruled, say, wrongDevice } from './ruled.ts';

export function pay(c: Draft, event: Of<'Pay'>): Ruled {
  const { documentNr, amountBani } = event;
  const earlier =
    repeatByKey(c, event) ??
    payByNumber(c, event) ??
    repeatOfRefused(c, event) ??
    (documentNr === undefined ? repeatByContent(c, event) : undefined);
  if (earlier) return earlier;
  const refusal = wrongDevice(c, event, 'terminal') ?? invoiceRefusal(c, event) ?? notFree(c, event);
  if (refusal) return say(refusal);
  const asked = unconfirmed(c, event, underTheSameName(c, event));
  if (asked) return asked;
  const args = { amount: baniToLei(amountBani), currency: 'MDL', ...(documentNr === undefined ? {} : { documentNr }) };
  return begin(c, event, { kind: 'Pay', args, amountBani, cardBani: amountBani, documentNr: documentNr ?? null });
}

/** Another Pay under a number whose money the shop may have; undefined: the number is free. */
export function payByNumber(c: Draft, event: Of<'Pay'>): Ruled | undefined {
  const { merchantId, deviceId, documentNr, amountBani } = event;
  if (documentNr === undefined) return undefined;
  const { about, also } = fold(chargesUnder(c, merchantId, documentNr), deviceId);
  if (!about || leavesNumberFree(about)) return undefined;
  const refusal = otherPayment(c, about, also, { deviceId, amountBani });
  return refusal ? say(refusal) : joined(c, event, about, answerAbout(c, about, { also }));
}

function otherPayment(
  c: Draft,
  about: Op,
  also: readonly Op[],
  { deviceId, amountBani }: { deviceId: string; amountBani: Bani },
): Answer | undefined {
  if (about.standing === 'Disputed' || about.removedAt !== null) return answerAbout(c, about, { also });
  // Without State: Closed would mean that this amount is paid [D244].
  if (amountBani !== (isPayment(about) ? about.amountBani : about.cardBani))
    return warned(
      cannotApply('This documentNr already belongs to a payment or receipt of another amount.', { OID: about.id, ...namesOf(also) }),
      also,
    );
  if (!isPayment(about)) return chargedByRegister(about, also);
  const answer = answerAbout(c, about, { question: 'number', also });
  if (answer.code === 'The_status_cannot_be_applied') return answer;
  return about.deviceId === deviceId
    ? undefined
    : warned(cannotApply('This documentNr already belongs to a payment on another terminal.', fieldsOf(about, also)), also);
}

/** A register charged, or is charging, a card for the receipt of this number [D146]. */
export const chargedByRegister = (print: Op, also: readonly Op[]): Answer =>
  warned(
    cannotApply(
      'A register has charged a card for the receipt of this number, or is about to; it is not charged again.',
      fieldsOf(print, also),
    ),
    also,
  );

/** A payment under an OID begins only while the invoice can be paid [D142]; the invoice is the root of its payments. */
function invoiceRefusal(c: Draft, { merchantId, documentNr }: Of<'Pay'>): Answer | undefined {
  const invoice = invoiceOf(c, merchantId, documentNr ?? null);
  if (!invoice) return undefined;
  const refusal = cannotCharge(c, invoice);
  if (refusal) return refusal;
  invoice.isChargeBegun = true;
  return undefined;
}

export function closeDoc(c: Draft, event: Of<'CloseDoc'>): Ruled {
  const earlier = repeatByKey(c, event);
  if (earlier) return earlier;
  const payment = findPayment(c, event);
  const wrong = wrongDevice(c, event, 'terminal');
  if (!payment) return repeatOfRefused(c, event) ?? say(wrong ?? noSuchOperation);
  const refusal = untouchable(payment, event.isByPerson);
  const closed = closedAs(c, payment);
  if (closed) return delivers(closed.close ? joined(c, event, closed.close) : say(closed.answer), event, payment);
  const refused = repeatOfRefused(c, event);
  if (refused) return refused;
  const isVoided =
    payment.document === 'voided' ? cannotApply('The payment was voided, which ended its document.', fieldsOf(payment)) : undefined;
  const why = wrong ?? refusal ?? isVoided ?? notFree(c, event, payment.id);
  if (why) return delivers(say(why), event, payment);
  const asked = unconfirmed(c, event, saleOf(c, payment));
  if (asked) return asked;
  const { documentNr, operationId } = event;
  return delivers(
    begin(c, event, { kind: 'CloseDoc', args: { documentNr, operationId }, documentNr, operationId, targetId: payment.id }),
    event,
    payment,
  );
}

/** The answer about a document that is closed already, or is being closed; without a CloseDoc a person closed it, and there is no report. */
export function closedAs(c: Draft, payment: Op): { close?: Op; answer: Answer } | undefined {
  const close = followersOf(c, payment.id).findLast((op) => isCloseDoc(op) && !isUnexecuted(op));
  if (close && payment.removedAt === null) return { close, answer: answerAbout(c, close) };
  return payment.document === 'closed' && !untouchable(payment) ? { answer: done(fieldsOf(payment)) } : undefined;
}

/** Its operationId comes from the outcome, so a caller that names it has that; a step of a person shows nothing about the till [D309]. */
export function delivers(ruled: Ruled, { isByPerson }: CallEvent, payment: Op): Ruled {
  if (isByPerson === true || payment.requestHash === null || payment.receivedAt !== null) return ruled;
  return { ...ruled, effects: [...(ruled.effects ?? []), { type: 'delivered', id: payment.id }] };
}

export function refund(c: Draft, event: Of<'Refund'>): Ruled {
  const earlier = repeatByKey(c, event) ?? repeatOfRefused(c, event) ?? repeatByContent(c, event);
  if (earlier) return earlier;
  const wrong = wrongDevice(c, event, 'terminal');
  if (wrong) return say(wrong);
  const payment = findPayment(c, event);
  if (!payment) return say(findPayment(c, { ...event, rrn: undefined }) ? wrongRrn : noSuchOperation);
  const { documentNr, operationId, rrn, amountBani, isByPerson } = event;
  const refusal =
    untouchable(payment, isByPerson) ??
    isBeingReturned(c, event, payment) ??
    cannotRefund(c, payment, amountBani, isByPerson) ??
    notFree(c, event);
  if (refusal) return delivers(say(refusal), event, payment);
  const args = { documentNr, operationId, rrn, amount: baniToLei(amountBani), currency: 'MDL' };
  return follow(c, event, payment, { kind: 'Refund', args, amountBani, documentNr, operationId, rrn });
}

/** What is left is not known while a refund or void of it is open, so a final refusal might be wrong a moment later. */
const isBeingReturned = (c: Draft, event: CallEvent, payment: Op): Answer | undefined =>
  followersOf(c, payment.id).some((op) => returnsMoney(op) && isOpen(op)) ? notFree(c, event) : undefined;

export function voidPayment(c: Draft, event: Of<'CancelTransaction'>, payment: Op): Ruled {
  const earlier = repeatOfRefused(c, event) ?? repeatByContent(c, event);
  if (earlier) return earlier;
  const { documentNr, operationId, amountBani, token, isByPerson } = event;
  const refusal =
    wrongDevice(c, event, 'terminal') ??
    untouchable(payment, isByPerson) ??
    isBeingReturned(c, event, payment) ??
    cannotVoid(c, payment, amountBani) ??
    notFree(c, event, payment.id);
  if (refusal) return delivers(say(refusal), event, payment);
  const args = { documentNr, operationId, token, amount: baniToLei(amountBani) };
  return follow(c, event, payment, { kind: 'CancelTransaction', args, amountBani, documentNr, operationId });
}

/** The payment is the root of what returns its money: two returns at once would exceed it [D17]. */
function follow(c: Draft, event: CallEvent, payment: Op, given: Parameters<typeof begin>[2]): Ruled {
  const asked = unconfirmed(c, event, [...saleOf(c, payment), ...underTheSameName(c, { ...event, documentNr: undefined })]);
  return asked ?? delivers(begin(c, event, { ...given, targetId: payment.id }), event, payment);
}
