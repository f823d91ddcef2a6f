// What the operations under a number together mean for a person, stored with the operation that Attention lists for it. The states of single
// operations (open, disputed, on the review list) are listed by their own columns.
import type { Attention, Case, Draft, Name, Op } from '../case.ts';
import { followersOf, isCharge, isContentName, isPayment, isPrint, isUnexecuted, stands } from './facts.ts';
import { othersBeside } from './numbers.ts';

export function deriveAttention(c: Draft, name: Name): void {
  if (isContentName(name.value)) return;
  const ops = name.ops.flatMap((id) => c.ops[id] ?? []);
  // The newest of which there is still a record; what a register charged on another card beside the payment is no second charge of it.
  const twice = ops.findLast((op) => op.removedAt === null && stands(op) && othersBeside(c, op).length > 0);
  const [payments, prints] = [ops.filter(isPayment), ops.filter(isPrint)];
  for (const op of ops) {
    const own = op.removedAt !== null ? [] : isPayment(op) ? ofPayment(c, op, prints) : ofPrint(op, payments);
    const found: Attention[] = op === twice ? ['chargedTwice', ...own] : own;
    op.attention = found.length === 0 ? null : found;
  }
}

/** Of a payment whose receipt was not printed [D80, D146]; not once all of it was returned. */
function ofPayment(c: Case, payment: Op, prints: readonly Op[]): Attention[] {
  const naming = followersOf(c, payment.id).filter(isPrint);
  if (payment.standing === 'Voided') return naming.some(({ state }) => state === 'done') ? ['voidedAfterReceipt'] : [];
  const isCharged = payment.standing === 'Done' || payment.standing === 'Closed';
  const receipts = [...prints, ...naming];
  return isCharged && receipts.length > 0 && receipts.every(isUnexecuted) ? ['paymentWithoutReceipt'] : [];
}

/** Of a printed receipt under whose number a payment was tried in vain [D80]; not if its register charged a card itself. */
function ofPrint(print: Op, payments: readonly Op[]): Attention[] {
  const isPrinted = print.state === 'done' && !isCharge(print);
  return isPrinted && payments.length > 0 && payments.every(isUnexecuted) ? ['receiptWithoutPayment'] : [];
}
