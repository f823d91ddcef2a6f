// What a dispute finds done twice, and what its resolution cannot undo [D143]: for the person who resolves it, and in the timeline. Everything
// else follows from the states of the operations.
import type { Case, Draft, Op } from '../case.ts';
import { followersOf, invoiceOf, isPayment, isPrint, isUnexecuted, opsUnder, paymentsOf, returnsMoney } from './facts.ts';
import { isUnpaid } from './invoice-rules.ts';
import { othersBeside } from './numbers.ts';

export function noteRemains(facts: Case, c: Draft): void {
  for (const op of Object.values(c.ops)) {
    const before = facts.ops[op.id];
    if (before === undefined || (before.state === op.state && before.contradiction === op.contradiction)) continue;
    if (op.state === 'disputed') warnOfDouble(c, op);
    else if (before.state === 'disputed') noteResolved(facts, c, before, op);
  }
}

function warnOfDouble(c: Draft, op: Op): void {
  const other = othersBeside(c, op).at(-1) ?? otherPrints(c, op).at(-1);
  if (!other || !op.review) return;
  const why = `Another operation under the same number, or for the same payment, was begun, too (${other.id}): it may be done twice.`;
  op.review = { ...op.review, reason: `${op.review.reason} ${why}` };
}

/** Of a print: the others of its Receipt.Uid, or of a payment on it, that were or may be made. */
function otherPrints(c: Draft, print: Op): Op[] {
  if (!isPrint(print)) return [];
  const ofUid = print.receiptUid === null ? [] : opsUnder(c, print.merchantId, print.receiptUid, isPrint);
  return [...ofUid, ...printsOfPayments(c, print)].filter((op) => op !== print && !isUnexecuted(op));
}

const printsOfPayments = (c: Draft, print: Op): Op[] => paymentsOf(c, print).flatMap(({ id }) => followersOf(c, id).filter(isPrint));

function noteResolved(facts: Case, c: Draft, before: Op, op: Op): void {
  const isExecuted = before.disputedFrom !== 'done' && op.state === 'done';
  const isReversed = before.disputedFrom === 'done' && isUnexecuted(op);
  const sentences = isExecuted ? remainsOfExecuted(c, op) : isReversed ? remainsOfReversed(c, op) : [];
  const detail = [documentStays(facts, c, op), ...sentences].filter((sentence) => sentence !== undefined).join(' ');
  if (detail !== '') c.added.steps.push({ operationId: op.id, step: 'not undone', detail });
}

/** A void or CloseDoc was not made, and the terminal has gone on. */
function documentStays(facts: Case, c: Draft, op: Op): string | undefined {
  const isEnded = paymentsOf(c, op).some((payment) => payment.isEndedByHand && facts.ops[payment.id]?.isEndedByHand === false);
  return isEnded ? 'The terminal has begun other operations since: the document of the payment stays closed.' : undefined;
}

function remainsOfExecuted(c: Draft, op: Op): (string | undefined)[] {
  if (isPayment(op)) return [endedWithout(c, op)];
  const other = printsOfPayments(c, op).find((print) => print !== op && !isUnexecuted(print));
  return [other && `A card payment of this receipt is on another one, too (${other.id}): correct one of them on its register.`];
}

function remainsOfReversed(c: Draft, op: Op): (string | undefined)[] {
  // The payment stands again. An invoice that a void cancelled stays Cancelled.
  if (returnsMoney(op)) return paymentsOf(c, op).map((payment) => endedWithout(c, payment));
  if (!isPayment(op)) return [];
  const invoice = invoiceOf(c, op.merchantId, op.documentNr);
  return [
    op.printId === null ? undefined : 'A receipt with this payment was begun: if it was printed, correct it on the register.',
    invoice?.paidDeviceId === op.deviceId ? `The invoice ${invoice.oid} stays Payed although its card payment was not made.` : undefined,
  ];
}

/** The payment was made, and its invoice has ended without it. */
function endedWithout(c: Draft, payment: Op): string | undefined {
  const invoice = invoiceOf(c, payment.merchantId, payment.documentNr);
  if (!invoice || isUnpaid(invoice) || payment.state !== 'done' || payment.standing === 'Voided') return undefined;
  if (invoice.paidDeviceId === payment.deviceId) return undefined;
  const how = invoice.paidDeviceId === null ? invoice.state : `${invoice.state} by another payment`;
  return `The invoice ${invoice.oid} stays ${how} although its card payment was made.`;
}
