// CancelTransaction [D18]: voids the payment with the operationId; otherwise stops the payment that is still on the terminal under the
// documentNr; without any payment, withdraws the unpaid invoice whose OID is the documentNr [D142]. An abort is answered by the state of the
// payment, and a repeat is answered in the same way [D302].
import type { Draft, Invoice, Op } from '../case.ts';
import type { Answer, AnswerFields, Of } from '../event.ts';
import { answerAbout, cannotApply, done, error, fieldsOf, stopped, unclear, warned } from './answers.ts';
import { byKey, otherRequestUnderKey, repeatByKey } from './earlier.ts';
import { followersOf, invoiceOf, isAbort, isOpen, isPayment, isUnexecuted, opsUnder, stands } from './facts.ts';
import { byOf, cannotCancel, invoiceStatus, move } from './invoice-rules.ts';
import { findPayment, howToReturn, noSuchOperation, paymentsWith, untouchable } from './named-payment.ts';
import { chargesUnder, fold, othersBeside } from './numbers.ts';
import { chargedByRegister, voidPayment } from './payments.ts';
import { begin, changedSaying, type Ruled, say, takeKey, waitFor, wrongDevice } from './ruled.ts';

type Cancel = Of<'CancelTransaction'>;

export function cancelTransaction(c: Draft, event: Cancel): Ruled {
  if (event.isForInvoices) return withdrawOnly(c, event);
  const earlier = repeatByKey(c, event);
  if (earlier) return earlier;
  const payment = findPayment(c, event);
  if (payment) return voidPayment(c, event, payment);
  const found = byKey(c, event);
  if (found && 'op' in found) return say(answerAbout(c, found.op, { also: othersBeside(c, found.op) }));
  // An operationId of another payment is a mistake of a caller that means that payment.
  if (paymentsWith(c, event).length > 0) return say(wrongDevice(c, event, 'terminal') ?? noSuchOperation);
  return withdraw(c, event) ?? stopHere(c, event);
}

function stopHere(c: Draft, event: Cancel): Ruled {
  const wrong = wrongDevice(c, event, 'terminal');
  return wrong ? say(wrong) : stop(c, event);
}

/** Stops the payment under the number, or says what became of it. */
function stop(c: Draft, event: Cancel): Ruled {
  const { merchantId, deviceId, documentNr } = event;
  const charged = fold(chargesUnder(c, merchantId, documentNr), deviceId).about;
  if (charged && !isPayment(charged) && !isUnexecuted(charged)) return say(chargedByRegister(charged, othersBeside(c, charged)));
  const { about: payment } = fold(opsUnder(c, merchantId, documentNr, isPayment), deviceId);
  if (!payment) return say(noSuchOperation);
  const also = othersBeside(c, payment);
  const isElsewhere = payment.deviceId !== deviceId;
  if (!isOpen(payment)) return say(withAdvice(c, payment, stopped(payment, also), isElsewhere));
  if (isElsewhere) {
    const sentence = 'The payment under this documentNr is open on another terminal: stop it there.';
    return say(warned(cannotApply(sentence, fieldsOf(payment, also)), also));
  }
  const running = followersOf(c, payment.id).find((op) => isAbort(op) && isOpen(op));
  if (running) return (takeKey(c, event, running.id) ? changedSaying : say)(stopped(payment, also), waitFor(running));
  return begin(c, event, { kind: 'Abort', documentNr, targetId: payment.id, args: { target: payment.id } });
}

function withAdvice(c: Draft, payment: Op, answer: Answer, isElsewhere: boolean): Answer {
  if (payment.standing !== 'Done' && payment.standing !== 'Closed') return answer;
  const refusal = untouchable(payment);
  const place = isElsewhere ? ' It was made on another terminal, which a call about it must name.' : '';
  return { ...answer, sentence: refusal?.sentence ?? `${answer.sentence}${place} ${howToReturn(c, payment)}` };
}

/** Undefined: it is no invoice, or the answer is about its payment. */
function withdraw(c: Draft, event: Cancel): Ruled | undefined {
  const { merchantId, documentNr, deviceId } = event;
  const invoice = invoiceOf(c, merchantId, documentNr);
  if (!invoice) return undefined;
  const { about } = fold(chargesUnder(c, merchantId, documentNr), deviceId);
  if (about && stands(about)) return paidElsewhere(c, event, about);
  const found = byKey(c, event);
  if (found && 'other' in found) return say(otherRequestUnderKey);
  // Of a payment that was stopped or refused, what a stop is answered [D302].
  const fields: AnswerFields = about && isUnexecuted(about) ? fieldsOf(about) : {};
  if (invoice.state === 'Cancelled') return withKey(c, event, invoice, { ...fields, PreviousStatus: invoice.scannedAt === null ? 0 : 1 });
  const refusal = cannotCancel(c, invoice);
  // Whatever became of a card payment: its State would let a till take cash for an invoice that was paid by QR [D187].
  if (refusal) return say(refusal);
  const previous = invoiceStatus[invoice.state];
  move(c, invoice, 'Cancelled', { ...byOf(event), reason: 'Withdrawn by the ERP.' });
  takeKey(c, event, invoice.oid, 'invoice');
  return changedSaying(done({ ...fields, PreviousStatus: previous }));
}

function withKey(c: Draft, event: Cancel, invoice: Invoice, fields: AnswerFields): Ruled {
  return (takeKey(c, event, invoice.oid, 'invoice') ? changedSaying : say)(done(fields));
}

/** If the payment is on another terminal, 20 would be wrong: a till would take cash for a charged invoice [D245]. */
function paidElsewhere(c: Draft, event: Cancel, about: Op): Ruled | undefined {
  if (about.deviceId === event.deviceId || !isPayment(about)) return undefined;
  const wrong = wrongDevice(c, event, 'terminal');
  if (wrong) return say(wrong);
  if (about.standing === 'Disputed') return say(unclear(about, fieldsOf(about)));
  const advice = isOpen(about) ? 'Stop it there.' : howToReturn(c, about);
  const sentence = `A card payment for this invoice is open or was made on another terminal, so the invoice cannot be cancelled; a call about the payment must name that terminal. ${advice}`;
  return say(cannotApply(sentence, fieldsOf(about)));
}

function withdrawOnly(c: Draft, event: Cancel): Ruled {
  const found = byKey(c, event);
  if (found && 'other' in found) return say(otherRequestUnderKey);
  const invoice = invoiceOf(c, event.merchantId, event.documentNr);
  if (!invoice || (found && 'op' in found) || paymentsWith(c, event).length > 0)
    return say(
      error(
        'API_Key_Wrong_Product',
        'APIKey does not open the module POS, and documentNr is not the OID of an invoice that can be cancelled.',
      ),
    );
  if (chargesUnder(c, event.merchantId, event.documentNr).some(stands))
    return say(
      cannotApply(
        'A card payment for this invoice is open or was made, so the invoice cannot be cancelled; to stop or void the payment, use a key that opens POS.',
      ),
    );
  return withdraw(c, event) ?? say(cannotCancel(c, invoice) ?? noSuchOperation);
}
