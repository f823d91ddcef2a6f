// Whether a call repeats an earlier one [D60]: by its Idempotency-Key, then by its number, then by its content [D58]. Looked at before the
// device, so that a terminal that was switched off answers "paid", not "offline".
import type { Draft, Op } from '../case.ts';
import type { CallEvent, Effect } from '../event.ts';
import { answerAbout, busy, cannotApply, error, fieldsOf } from './answers.ts';
import {
  closesDay,
  contentName,
  isAbort,
  isOpen,
  isUndelivered,
  isUnexecuted,
  isUnsentAbort,
  keyRowOf,
  opsUnder,
  presenceOf,
} from './facts.ts';
import { othersBeside, unconfirmedAt } from './numbers.ts';
import { changedSaying, type Ruled, say, takeKey, waitFor } from './ruled.ts';

const keptMs = 24 * 60 * 60_000;

export const otherRequestUnderKey = cannotApply('The Idempotency-Key was used for a different request; use a new key.');

export type ByKey = { other: true } | { op: Op } | { invoice: string } | undefined;

/** What the call's key leads to; a key expires a day after its operation has ended. */
export function byKey(c: Draft, { merchantId, key }: Pick<CallEvent, 'merchantId' | 'key'>): ByKey {
  const row = key && keyRowOf(c, merchantId, key.key);
  if (!row) return undefined;
  const op = row.subjectKind === 'command' ? c.ops[row.subjectId] : undefined;
  if (op && isUnsentAbort(op)) return undefined;
  const isNeeded =
    op !== undefined && (isOpen(op) || op.state === 'disputed' || Math.max(op.settledAt ?? 0, op.missedAt ?? 0) > c.now - keptMs);
  if (row.createdAt <= c.now - keptMs && !isNeeded) return undefined;
  // A try that never began gives its key back.
  if (row.requestHash !== key.requestHash) return op?.state === 'never' && !isAbort(op) ? undefined : { other: true };
  if (row.subjectKind === 'invoice') return { invoice: row.subjectId };
  return op && { op };
}

/**
 * The answer of the operation that the call's key names. Undefined: there is none, it never began, or it was refused: then another call may
 * have been made under its number since [D125].
 */
export function repeatByKey(c: Draft, event: CallEvent): Ruled | undefined {
  const found = byKey(c, event);
  if (!found || 'invoice' in found) return undefined;
  if ('other' in found) return say(otherRequestUnderKey);
  return isUnexecuted(found.op) && !isAbort(found.op) ? undefined : repeated(c, found.op);
}

/** After the search by number: a refused operation answers the repeat under its own key. */
export function repeatOfRefused(c: Draft, event: CallEvent): Ruled | undefined {
  const found = byKey(c, event);
  return found && 'op' in found && found.op.state === 'refused' ? repeated(c, found.op) : undefined;
}

/** The call is answered about an earlier operation, and its key belongs to that one from now on. */
export function joined(c: Draft, event: CallEvent, op: Op, answer = answerAbout(c, op, { also: othersBeside(c, op) })): Ruled {
  return (takeKey(c, event, op.id) ? changedSaying : say)(answer, repeats(op, 'number'));
}

function repeated(c: Draft, op: Op): Ruled {
  return say(answerAbout(c, op, { also: othersBeside(c, op) }), repeats(op, 'key'));
}

const repeats = (op: Op, by: 'key' | 'number' | 'content'): Effect[] => [{ type: 'repeat', id: op.id, by }, ...waitFor(op)];

/**
 * An equal request without a name may be a repeat, as long as no caller is known to have the outcome. A new key does not show that a request
 * is a new one, so beside a disputed equal nothing is sent; but each day is closed by an equal request [D250].
 */
export function repeatByContent(c: Draft, event: CallEvent): Ruled | undefined {
  const { merchantId, deviceId, requestHash, key } = event;
  if (requestHash === undefined) return undefined;
  const equal = opsUnder(c, merchantId, contentName(deviceId, requestHash), () => true);
  const inDispute = equal.find(({ state }) => state === 'disputed');
  if (inDispute && !(key && closesDay(inDispute))) return say(equalIsDisputed(inDispute));
  if (key) return undefined;
  const op = equal.find((one) => mayBeRepeated(c, one));
  if (!op) return undefined;
  if (op.missedAt === null && op.state !== 'unknown' && c.waitedFor.has(op.id)) {
    // Its caller waits for it: this is another customer, and the device is busy.
    if (op.state === 'sent') return undefined;
    // Its answer is on the way: better answered twice than charged twice.
    if (!event.hasWaited) return { needs: { type: 'delivery', id: op.id } };
  }
  const answer = answerAbout(c, op);
  return say({ ...answer, fields: { ...answer.fields, Repeated: true } }, repeats(op, 'content'));
}

function mayBeRepeated(c: Draft, op: Op): boolean {
  // The first close does not include what was sold since, and closing again moves no money.
  if (closesDay(op) && op.afterId !== (c.devices[op.deviceId]?.lastSaleId ?? null)) return false;
  return isUndelivered(c, op);
}

function equalIsDisputed(op: Op) {
  return busy(
    'An earlier request with the same content is disputed: the device contradicts its settlement. Nothing was sent. An operator of the gateway has to resolve the dispute: ask GET Device/Operation/Status with this OID, and repeat the request only if the earlier one was refused.',
    fieldsOf(op),
  );
}

/** Earlier attempts of the same: under the number whatever they are, or with the same content. */
export function underTheSameName(
  c: Draft,
  event: { merchantId: string; deviceId: string; requestHash?: string | undefined; documentNr?: string | undefined },
): Op[] {
  const { merchantId, deviceId, requestHash, documentNr } = event;
  const value = documentNr ?? (requestHash === undefined ? undefined : contentName(deviceId, requestHash));
  return value === undefined ? [] : opsUnder(c, merchantId, value, () => true);
}

/** The device must be asked first, and nothing is sent while its journal has not answered [D304, D129]. */
export function unconfirmed(c: Draft, event: CallEvent, ops: readonly Op[]): Ruled | undefined {
  const asked = unconfirmedAt(ops, event.deviceId).filter(({ id }) => !event.answered?.includes(id));
  if (asked.length === 0) return undefined;
  if (!event.hasWaited) return { needs: { type: 'confirmation', ids: asked.map(({ id }) => id) } };
  const journalId = presenceOf(c, event.merchantId, event.deviceId)?.journalId ?? null;
  const isOther = asked.some((op) => op.journalId !== journalId);
  return say(error('Timeout_or_no_response', isOther ? sentToOtherHardware : notConfirmedYet));
}

const notConfirmedYet =
  'An operator settled an earlier attempt of this operation as not done. The device must first confirm that and has not answered yet, so nothing was sent. Repeat the request.';
const sentToOtherHardware =
  'An operator settled an earlier attempt of this operation as not done, and other hardware is connected under this DeviceID since. Only the hardware that got the attempt can confirm it, so nothing was sent. Reconnect that hardware, or let an operator of the gateway declare it lost; on another device the number is free.';
