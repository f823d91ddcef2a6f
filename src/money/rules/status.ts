// Device/Operation/Status [D64]: the answer about an operation, without starting anything; and the notes of connections about delivery.
import { type Draft, type Op } from '../case.ts';
import type { Answer, DeliveryEvent, OutcomeEvent, StatusEvent } from '../event.ts';
import { answerAbout, error, invalid, unknownRecord } from './answers.ts';
import { byKey } from './earlier.ts';
import { catalogued, isAbort, isCloseDoc, isOpen, isPayment, isPrint, isUndelivered, isUnexecuted, keyRowOf, paymentsOf } from './facts.ts';
import { chargesUnder, type Folded, fold, othersBeside } from './numbers.ts';
import { closedAs, payByNumber } from './payments.ts';
import { otherPrint, printUnder } from './prints.ts';
import { changed, nothing, type Ruled, say, waitFor } from './ruled.ts';

const unknownName = unknownRecord('No operation of this merchant is known by that name; nothing was begun under it.');
/** Keys expire, so the absence of one proves nothing about an old call. */
const unknownKey = unknownRecord(
  'No operation of this merchant is known by that Idempotency-Key. A key expires 24 hours after its operation has ended, so this proves nothing about an older call: ask by its OID, documentNr or ReceiptUid.',
);

export function status(c: Draft, event: StatusEvent): Ruled {
  const { merchantId, oid, documentNr, receiptUid, idempotencyKey, modules } = event;
  if ([oid, documentNr, receiptUid, idempotencyKey].filter((name) => name !== undefined).length !== 1)
    return say(invalid('Exactly one of OID, documentNr, ReceiptUid and IdempotencyKey must be given.'));
  const { about, also, answer, named = about } = found(c, event);
  if (!about || !named) return say(idempotencyKey === undefined ? unknownName : unknownKey);
  // Of the call that is asked about: another operation may answer it.
  const module = catalogued(named).mode ?? 'POS';
  if (about.merchantId !== merchantId) return say(unknownName);
  if (modules && !modules.includes(module)) return say(error('API_Key_Wrong_Product', `APIKey does not open the module ${module}.`));
  const said = answer ?? answerAbout(c, about, { also });
  const Operation = isAbort(about) ? 'CancelTransaction' : about.kind;
  return say({ ...said, fields: { ...said.fields, Operation } }, waitFor(about));
}

interface Found extends Folded {
  /** Of a key: the operation that it names. */
  named?: Op | undefined;
  answer?: Answer | undefined;
}

function found(c: Draft, event: StatusEvent): Found {
  const { merchantId, oid, documentNr, receiptUid, idempotencyKey } = event;
  // About that operation alone, whatever else happened under its number [D305].
  if (oid !== undefined) return { about: c.ops[oid], also: c.ops[oid] ? othersBeside(c, c.ops[oid]) : [] };
  if (documentNr !== undefined) return fold(chargesUnder(c, merchantId, documentNr));
  if (receiptUid !== undefined) return newestPrint(c, merchantId, receiptUid);
  const key = { key: idempotencyKey ?? '', requestHash: keyRowOf(c, merchantId, idempotencyKey ?? '')?.requestHash ?? '' };
  const named = byKey(c, { merchantId, key });
  const op = named && 'op' in named ? named.op : undefined;
  return op ? { ...tried(c, op), named: op } : { about: undefined, also: [] };
}

function newestPrint(c: Draft, merchantId: string, receiptUid: string): Folded {
  const about = printUnder(c, merchantId, receiptUid);
  return { about, also: about ? othersBeside(c, about) : [] };
}

export function outcome(c: Draft, { id }: OutcomeEvent): Ruled {
  const op = c.ops[id];
  return op ? say(answerOfTry(c, op)) : say(unknownName);
}

/** The answer of a call whose operation has ended [D125]. */
export function answerOfTry(c: Draft, op: Op): Answer {
  const { about = op, also, answer } = tried(c, op);
  return answer ?? answerAbout(c, about, { also });
}

/** A try that was not made: another call may have been made under its number since, and "refused" would let a till take cash [D251]. */
function tried(c: Draft, op: Op): Found {
  const also = othersBeside(c, op);
  if (!isUnexecuted(op) || isAbort(op)) return { about: op, also };
  if (isCloseDoc(op)) return closedSince(c, op);
  if (isPrint(op) && op.receiptUid !== null) {
    const about = printUnder(c, op.merchantId, op.receiptUid);
    if (!about || isUnexecuted(about)) return { about: op, also };
    return { about, also: othersBeside(c, about), answer: otherPrint(c, about, [op.contentHash]) };
  }
  if (!isPayment(op) || op.documentNr === null) return { about: op, also };
  const { merchantId, deviceId, documentNr, amountBani } = op;
  const again = payByNumber(c, { type: 'Pay', merchantId, deviceId, documentNr, amountBani: amountBani ?? 0, newId: '' });
  const holder = fold(chargesUnder(c, merchantId, documentNr), deviceId);
  return again?.answer && holder.about ? { ...holder, answer: again.answer } : { about: op, also };
}

/** A CloseDoc that was not made: its document may have been closed since, by another call or by a person. */
function closedSince(c: Draft, op: Op): Found {
  const payment = paymentsOf(c, op)[0];
  const closed = payment && closedAs(c, payment);
  return closed && payment ? { about: closed.close ?? payment, also: [], answer: closed.answer } : { about: op, also: [] };
}

/** Written late, in batches; it moves forward only. Each answer 3 renews the time, a caller that leaves does not; what was received stays received. */
export function delivery(c: Draft, { id, was }: DeliveryEvent): Ruled {
  const op = c.ops[id];
  if (!op || op.requestHash === null || op.receivedAt !== null) return nothing;
  // A request that is not known by its content any more does not become known again.
  if (was === 'missed' && !isUndelivered(c, op)) return nothing;
  const isUnclear = op.state === 'disputed' || isOpen(op);
  if (was === 'missed' ? !isUnclear && op.missedAt !== null : isUnclear) return nothing;
  if (was === 'missed') op.missedAt = c.now;
  else op.receivedAt = c.now;
  return changed(op.id);
}
