// What the rules say about one operation, for its page in the cabinet, from the case of an Operation/Status by its OID.
import type { Bani } from '../kernel/money.ts';
import type { Case, Id, Op } from './case.ts';
import type { Answer } from './event.ts';
import { answerAbout } from './rules/answers.ts';
import { followersOf, isAbort, isPrint, opsUnder, stands } from './rules/facts.ts';
import { leftBaniOf } from './rules/named-payment.ts';
import { othersBeside } from './rules/numbers.ts';
import { cannotAsk } from './rules/people.ts';
import type { Run } from './run.ts';

export interface Looked {
  /** As Operation/Status answers by its OID. */
  answer: Answer;
  op: Readonly<Op>;
  /** The others under its number whose money the shop may have, and receipts that may have been printed under it. */
  others: readonly Op[];
  /** Of a payment: what a refund may still return. */
  leftBani: Bani;
  /** It was not made because it was stopped. */
  isStopped: boolean;
  /** Why its device cannot be asked about it. */
  cannotAsk: Answer | undefined;
}

/** Undefined: there is no such operation of the merchant. */
export async function look(run: Run, merchantId: Id, oid: Id): Promise<Looked | undefined> {
  const { case: c } = await run({ type: 'Status', merchantId, oid });
  const op = c.ops[oid];
  if (!op || op.merchantId !== merchantId) return undefined;
  const others = othersBeside(c, op);
  const prints = printsBeside(c, op).filter((print) => !others.includes(print));
  return {
    answer: answerAbout(c, op, { also: others }),
    others: [...others, ...prints],
    op,
    leftBani: stands(op) && op.state === 'done' ? leftBaniOf(c, op) : 0,
    isStopped: isStopped(c, op),
    cannotAsk: cannotAsk(op),
  };
}

/** Of an attempt to print: the receipts that were printed under its Uid. */
function printsBeside(c: Case, op: Op): Op[] {
  if (!isPrint(op) || op.receiptUid === null) return [];
  return opsUnder(c, op.merchantId, op.receiptUid, (one) => isPrint(one) && one.id !== op.id && stands(one));
}

const isStopped = (c: Case, { id }: Op): boolean => followersOf(c, id).some((op) => isAbort(op) && op.state === 'done');
