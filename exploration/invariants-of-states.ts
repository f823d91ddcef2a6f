// Invariants about the rows: what is stored is what follows from the operations, State goes forward, and nothing is held for ever.
import { type Device, draftOf, type Id, type Op } from '../src/money/case.ts';
import type { Event } from '../src/money/event.ts';
import { derive } from '../src/money/rules/derive.ts';
import { wholeCase } from './asking.ts';
import { bankNumbers } from './calls.ts';
import type { Invariant } from './judged.ts';
import { type Ledger, rowOf } from './memory-store.ts';
import { invoiceIn, isCharge, isOpen, isUnexecuted, kindOf, numberOfCharge, stands } from './reading.ts';
import { keyOfLedger } from './state-key.ts';
import { isPast, longAgo, oid, opOf, opsOf, runIn, type State, type World, withTimes } from './world.ts';

const ranks: Readonly<Record<string, number>> = { Open: 0, Refused: 1, Never: 1, Done: 1, Closed: 2, Refunded: 3, Voided: 3 };

/** D143: only a dispute of the operation, or of what returns its money, takes its State back. */
const forward: Invariant = ({ before, after }) => {
  let isInteresting = false;
  const earlier = opsOf(before);
  const later = opsOf(after);
  for (const op of later) {
    const was = before.ledger['commands']?.[op.id] ? opOf(before, op.id) : undefined;
    if (!was || was.standing === op.standing || op.kind === 'Abort') continue;
    isInteresting = true;
    if (was.standing === 'Disputed' || op.standing === 'Disputed') continue;
    // It moves no money, so its device's late "done" needs no person.
    if (op.kind === 'CloseDoc' && op.state === 'done') continue;
    const isByFollower = earlier.some(
      (one) => one.targetId === op.id && (one.state === 'disputed' || opOf(after, one.id).state === 'disputed'),
    );
    if ((ranks[op.standing] ?? 0) <= (ranks[was.standing] ?? 0) && !isByFollower)
      return `${kindOf(op)} ${op.id} goes from ${was.standing} to ${op.standing}`;
  }
  return isInteresting || undefined;
};

const noPaidInvoiceCancelled: Invariant = ({ before, after }) => {
  const [was, is] = [before, after].map((state) => invoiceIn(state)?.state);
  if (is !== 'Cancelled' || was === is) return undefined;
  const standing = opsOf(after).find((op) => isCharge(op) && numberOfCharge(op) === oid && stands(op));
  return standing ? `the invoice is cancelled although ${kindOf(standing)} ${standing.id} is ${standing.standing}` : true;
};

const tables = ['ops', 'names', 'devices', 'invoices'] as const;

const storedIsDerived: Invariant = ({ after }) => {
  const whole = wholeCase(after);
  const anew = derive(draftOf(whole));
  for (const table of tables)
    for (const [key, row] of Object.entries(whole[table])) {
      const other = anew[table][key] as unknown as Record<string, unknown>;
      // What a caller has received leaves the list of a content with its next change only.
      for (const [field, value] of key.includes('\u0001') ? [] : Object.entries(row as object))
        if (value !== other[field] && JSON.stringify(value) !== JSON.stringify(other[field]))
          return `${table} ${key}: ${field} is stored as ${JSON.stringify(value)}, computed as ${JSON.stringify(other[field])}`;
    }
  return opsOf(after).length > 1 ? true : undefined;
};

/** D186: a customer who paid by QR and by card finds the money again, for as long as the shop has both. */
const paidTwiceIsListed: Invariant = ({ after }) => {
  const invoice = invoiceIn(after);
  if (invoice?.state !== 'Payed') return undefined;
  const other = chargesOfInvoice(after).find((op) => hasMoney(op) && op.deviceId !== invoice.paidDeviceId);
  const orphan = after.ledger['orphan_payments']?.[`${oid} ${invoice.receiptId} ${invoice.paidDeviceId}`];
  if (!other) return orphan?.['is_listed'] === 1 ? 'the payment of the invoice is listed, and the shop has no other' : undefined;
  return orphan?.['is_listed'] === 1 ? true : `the invoice is paid by QR and by ${kindOf(other)} ${other.id}, and nothing lists that`;
};

/** D142: until Payd completes it, an invoice that was paid by card waits for a person. */
const paidByCardIsListed: Invariant = ({ after }) => {
  const invoice = invoiceIn(after);
  if (!invoice) return undefined;
  const isExpected = ['NewItem', 'Scanned'].includes(invoice.state) && chargesOfInvoice(after).some(hasMoney);
  if (invoice.isPaidByCard !== isExpected) return `the invoice is ${invoice.state}, paid by card: ${invoice.isPaidByCard}`;
  return isExpected || undefined;
};

const chargesOfInvoice = (state: State) => opsOf(state).filter((op) => isCharge(op) && numberOfCharge(op) === oid);
const hasMoney = ({ standing }: Op) => standing === 'Done' || standing === 'Closed';

/** D80, D146, D305: what a person must know of the operations under one number, each computed from the rows alone. */
const attentionIsStored: Invariant = ({ after }) => {
  const ops = opsOf(after);
  let isInteresting = false;
  for (const op of ops) {
    const number = numberOfCharge(op);
    const wanted = number === null || op.removedAt !== null ? [] : attentionTo(ops, op, number);
    if (wanted.length > 0) isInteresting = true;
    const stored = [...(op.attention ?? [])];
    if (stored.toSorted().join() !== wanted.toSorted().join())
      return `${kindOf(op)} ${op.id} is on Attention as ${stored.join() || 'nothing'} instead of ${wanted.join() || 'nothing'}`;
  }
  return isInteresting || undefined;
};

function attentionTo(ops: readonly Op[], op: Op, number: string): string[] {
  const equal = ops.filter((one) => numberOfCharge(one) === number);
  const names = (print: Op, payment: Op) => print.paid.some(({ paymentId }) => paymentId === payment.id);
  const isBeside = (one: Op) => one.kind === 'PrintReceipt' && equal.some((payment) => names(one, payment));
  const charges = equal.filter((one) => isCharge(one) && stands(one) && isBeside(one) === isBeside(op));
  const kept = charges.filter(({ removedAt }) => removedAt === null);
  const newest = kept.reduce<Op | undefined>((last, one) => (last && last.attempt > one.attempt ? last : one), undefined);
  const twice = charges.length > 1 && newest === op ? ['chargedTwice'] : [];
  const prints = ops.filter((one) => one.kind === 'PrintReceipt' && (equal.includes(one) || names(one, op)));
  const payments = equal.filter(({ kind }) => kind === 'Pay');
  if (op.kind === 'PrintReceipt') {
    const isAlone = op.state === 'done' && !isCharge(op) && payments.length > 0 && payments.every(isUnexecuted);
    return isAlone ? [...twice, 'receiptWithoutPayment'] : twice;
  }
  if (op.standing === 'Voided')
    return prints.some((one) => one.state === 'done' && names(one, op)) ? [...twice, 'voidedAfterReceipt'] : twice;
  return hasMoney(op) && prints.length > 0 && prints.every(isUnexecuted) ? [...twice, 'paymentWithoutReceipt'] : twice;
}

const devicesIn = (ledger: Ledger): Device[] => Object.values(ledger['device_locks'] ?? {}).map((row) => rowOf('devices', row));

/** What is held, by whom. */
function heldIn(state: State): string[] {
  const locked = devicesIn(state.ledger).filter((one) => one.commandId !== null || one.documentId !== null || one.unconfirmed.length > 0);
  const unsettled = opsOf(state).filter((op) => isCharge(op) && (isOpen(op) || op.state === 'disputed'));
  return [...locked.map(({ id }) => `device ${id}`), ...unsettled.map(({ id }) => `operation ${id}`)];
}

function stepsOf(state: State, op: Op, world: World): Event[] {
  const { id, contradiction } = op;
  if (isOpen(op) && isPast(op))
    return [true, false].map((isDone) => ({ type: 'Decide', id, isDone, reason: '', ...bankNumbers(world, id) }));
  if (op.state === 'disputed') return [true, false].map((isDone) => ({ type: 'Decide', id, isDone, reason: '', contradiction }));
  return op.document === 'open' ? [{ type: 'CloseByHand', id, reason: '' }] : [];
}

const known = new Map<string, boolean>();
export const forgetReleases = () => known.clear();

/** By people and deadlines alone: a device may never answer again. */
function isReleased(state: State, what: string, left: number, world: World): boolean {
  const place = `${keyOfLedger(state)} ${what} ${left}`;
  let found = known.get(place);
  if (found === undefined) {
    found = isReleasedBySteps(state, what, left, world);
    known.set(place, found);
  }
  return found;
}

function isReleasedBySteps(state: State, what: string, left: number, world: World): boolean {
  if (!heldIn(state).includes(what)) return true;
  if (left === 0) return false;
  const device = devicesIn(state.ledger).find(({ id }) => what === `device ${id}`);
  for (const op of device ? holdersOf(state, device) : [opOf(state, what.slice('operation '.length))]) {
    if (isOpen(op) && !isPast(op) && isReleased(withTimes(state, op.id, { answerBy: longAgo }), what, left - 1, world)) return true;
    for (const event of stepsOf(state, op, world)) {
      const { state: next, unit } = runIn(state, event);
      if (unit && isReleased(next, what, left - 1, world)) return true;
    }
  }
  return device !== undefined && device.unconfirmed.length > 0 && isReleasedByLoss(state, device.id, what, left, world);
}

const holdersOf = (state: State, { commandId, documentId }: Device): Op[] =>
  [commandId, documentId].flatMap((id) => (id === null ? [] : opOf(state, id)));

/** The hardware is declared lost that has not come back; or it is there, and answers. */
function isReleasedByLoss(state: State, deviceId: Id, what: string, left: number, world: World): boolean {
  const lost = runIn(state, { type: 'HardwareLost', deviceId, reason: '' });
  if (lost.unit) return isReleased(lost.state, what, left - 1, world);
  const op = opsOf(state).find((one) => one.isUnconfirmed && one.deviceId === deviceId);
  if (!op) return false;
  const answer: Event =
    op.journalId === null
      ? { type: 'LastIsAnother', id: op.id }
      : { type: 'Report', id: op.id, outcome: 'refused', source: 'recall', journalId: op.journalId };
  const asked = runIn(state, answer);
  return asked.unit !== undefined && isReleased(asked.state, what, left - 1, world);
}

const released: Invariant = ({ after, world }) => {
  const held = heldIn(after);
  for (const what of held) if (!isReleased(after, what, 4, world)) return `nothing releases ${what} within four events`;
  return held.length > 0 ? true : undefined;
};

/** What a dispute leads to when it is resolved is what the outcome would have led to at first. */
const resolvedAsAtFirst: Invariant = ({ after }) => {
  const disputed = opsOf(after).filter((op) => op.state === 'disputed' && op.kind !== 'Abort');
  for (const op of disputed) {
    for (const isDone of [true, false]) {
      const resolved = resolutionOf(after, op, isDone);
      const atFirst = settlementOf(after, op, isDone);
      if (resolved !== undefined && resolved.replace('Closed', 'Done') !== atFirst?.replace('Closed', 'Done'))
        return `${kindOf(op)} ${op.id} resolved as ${isDone ? 'done' : 'not done'}: ${resolved}, at first: ${atFirst}`;
    }
  }
  return disputed.length > 0 ? true : undefined;
};

type Shown = ReturnType<typeof wholeCase>;

function shapeOf(c: Shown | undefined, op: Op): string | undefined {
  if (!c) return undefined;
  const root = c.ops[op.targetId ?? op.id] ?? op;
  return [root.standing, root.refundedBani, root.printId].join();
}

function resolutionOf(state: State, op: Op, isDone: boolean): string | undefined {
  const event: Event = { type: 'Decide', id: op.id, isDone, reason: '', contradiction: op.contradiction };
  return shapeOf(caseAfter(state, event), op);
}

function settlementOf(state: State, op: Op, isDone: boolean): string | undefined {
  const row = {
    ...state.ledger['commands']?.[op.id],
    ...{ state: 'sent', disputed_from: null, contradiction: null, is_confirmed: 0, settled_by: null, is_ended_by_hand: 0, outcome: null },
    ...{ accepted_at: null, review: 'null' },
  };
  const asOpen = { ...state, ledger: { ...state.ledger, commands: { ...state.ledger['commands'], [op.id]: row } } };
  const event: Event = {
    ...{ type: 'Report', id: op.id, outcome: isDone ? 'done' : 'refused', source: 'answer' },
    ...(op.journalId === null ? {} : { journalId: op.journalId }),
    ...(isDone ? { report: { rrn: 'r', operationId: 'b', amount: (op.amountBani ?? 0) / 100 } } : {}),
  };
  return shapeOf(caseAfter(asOpen, event), op);
}

const caseAfter = (state: State, event: Event): Shown | undefined => {
  const { unit, state: next } = runIn(state, event);
  return unit && wholeCase(next);
};

export const stateInvariantsOfTransitions: Readonly<Record<string, Invariant>> = {
  '2 and 8 State goes back by a dispute only': forward,
  '4 no invoice is cancelled that is paid': noPaidInvoiceCancelled,
};

export const stateInvariants: Readonly<Record<string, Invariant>> = {
  '4 stored is derived': storedIsDerived,
  '4 paid twice is listed': paidTwiceIsListed,
  '4 paid by card is listed': paidByCardIsListed,
  '4 what a number needs a person for is stored': attentionIsStored,
  '7 a resolution leads where the outcome would have led': resolvedAsAtFirst,
  '9 something releases it': released,
};
