// Invariants about single steps, which planted bugs showed to be missing (planted/): what is sent where, what ends once, what people see.
import type { Id, Op } from '../src/money/case.ts';
import type { Event } from '../src/money/event.ts';
import { planIn, wholeCase } from './asking.ts';
import { callsIn } from './calls.ts';
import { equalOf } from './gateway.ts';
import type { Invariant } from './judged.ts';
import type { Ledger } from './memory-store.ts';
import { reportOf } from './moves.ts';
import { invoiceIn, isCharge, isHere, isOpen, isUnexecuted, kindOf, numberOfCharge, stands } from './reading.ts';
import { aroundOf, longAgo, merchantId, newId, oid, opsOf, type State } from './world.ts';

const find = (ops: readonly Op[], id: Id | null | undefined): Op | undefined => ops.find((op) => op.id === id);

/** The command that the step has begun. */
const begunIn = (before: State, after: State): Op | undefined =>
  after.sent === undefined || before.ledger['commands']?.[after.sent] ? undefined : find(opsOf(after), after.sent);

const abortGoesThere: Invariant = ({ after }) => {
  const aborts = opsOf(after).filter(({ kind }) => kind === 'Abort');
  for (const { id, deviceId, targetId } of aborts) {
    const payment = find(opsOf(after), targetId);
    if (payment?.deviceId !== deviceId) return `Abort ${id} goes to ${deviceId}, its payment is on ${payment?.deviceId}`;
  }
  return aborts.length > 0 ? true : undefined;
};

/** D14: a device has one command, and a terminal one document, which its CloseDoc or void may find open. */
const oneAtATime: Invariant = ({ before, after, move }) => {
  const op = begunIn(before, after);
  if (!op || move.label.startsWith('gateway 2')) return undefined;
  const { commandId, documentId } = wholeCase(before).devices[op.deviceId] ?? { commandId: null, documentId: null };
  if (commandId !== null) return `${kindOf(op)} ${op.id} is sent to ${op.deviceId}, which has command ${commandId}`;
  if (documentId === null) return undefined;
  return documentId === op.targetId ? true : `${kindOf(op)} ${op.id} is sent to ${op.deviceId}, whose document ${documentId} is open`;
};

const ends = ['Payed', 'Expired', 'Cancelled'];

const invoiceEndsOnce: Invariant = ({ before, after }) => {
  const [was, is] = [invoiceIn(before), invoiceIn(after)];
  if (!was || !is || was.state === is.state) return undefined;
  if (ends.includes(was.state)) return `the invoice was ${was.state} and becomes ${is.state}`;
  const standing = opsOf(after).find((op) => isCharge(op) && numberOfCharge(op) === oid && stands(op));
  if (is.state === 'Expired' && standing) return `the invoice expires although ${kindOf(standing)} ${standing.id} is ${standing.standing}`;
  const charges = opsOf(before).filter((op) => op.merchantId === merchantId && op.documentNr === oid && stands(op));
  const paid = charges.find(({ standing: one }) => one === 'Done' || one === 'Closed');
  if (is.state === 'Payed' && paid && !charges.some(({ deviceId }) => deviceId === is.paidDeviceId))
    return `the invoice is paid at ${is.paidDeviceId} although ${kindOf(paid)} ${paid.id} of ${paid.deviceId} has paid it`;
  return true;
};

const overdueIsNotShown: Invariant = ({ before, move }) => {
  const invoice = invoiceIn(before);
  if (move.event?.type !== 'Get' || invoice?.validTo !== longAgo || ends.includes(invoice.state)) return undefined;
  const isHeld = opsOf(before).some((op) => isCharge(op) && numberOfCharge(op) === oid && stands(op));
  return isHeld || move.answer?.code !== 'NoError' || 'an overdue invoice is shown to a customer, who could pay it';
};

/** Who resolves a dispute must know of the other charge, or of the other receipt. */
const toldOfDouble: Invariant = ({ before, after }) => {
  const ops = opsOf(after);
  let isInteresting = false;
  for (const op of ops) {
    const was = find(opsOf(before), op.id);
    if (op.state !== 'disputed' || !was || was.state === 'disputed') continue;
    const number = numberOfCharge(op);
    const isOther = (one: Op) => one.id !== op.id && isCharge(op) && isCharge(one) && numberOfCharge(one) === number && stands(one);
    const isOtherPrint = (one: Op) =>
      one.id !== op.id && one.kind === 'PrintReceipt' && op.receiptUid !== null && one.receiptUid === op.receiptUid && !isUnexecuted(one);
    if (number === null || !ops.some((one) => isOther(one) || isOtherPrint(one))) continue;
    isInteresting = true;
    if (!op.review?.reason.includes('may be done twice'))
      return `${kindOf(op)} ${op.id} is disputed, and its review does not name the other one`;
  }
  return isInteresting || undefined;
};

/** D308: no call could close it or return its money. */
const unnumberedIsClosed: Invariant = ({ after }) => {
  const bare = opsOf(after).filter((op) => op.kind === 'Pay' && op.state === 'done' && op.operationId === null);
  const open = bare.find(({ document }) => document === 'open');
  if (open) return `the document of Pay ${open.id} is open, and no call can name it`;
  return bare.length > 0 ? true : undefined;
};

const numbersOfTheDevice: Invariant = ({ after, world }) => {
  const printed = opsOf(after).filter((op) => op.kind === 'PrintReceipt' && op.state === 'done' && op.outcome === 'done');
  // A tombstone does not keep it [D66].
  for (const op of printed.filter(({ removedAt }) => removedAt === null)) {
    const said = reportOf(op, world)['receiptId'];
    if (op.receiptId !== said) return `Print ${op.id} has the receipt number ${op.receiptId}, not ${String(said)}`;
  }
  return printed.length > 0 ? true : undefined;
};

/** D66: what may still change, or waits for a person, is kept. */
const removedIsAtRest: Invariant = ({ before, after }) => {
  const ops = opsOf(after);
  const removed = ops.filter((op) => op.removedAt !== null && find(opsOf(before), op.id)?.removedAt === null);
  for (const op of removed)
    for (const one of ops.filter(({ id, targetId }) => id === op.id || targetId === op.id))
      if (isOpen(one) || one.state === 'disputed' || one.isUnconfirmed)
        return `${kindOf(op)} ${op.id} is removed, ${one.id} is ${one.state}`;
  return removed.length > 0 ? true : undefined;
};

/** D251: a try that was not made is not answered as refused while another one under its number stands. */
const tryKnowsItsNumber: Invariant = ({ before, after, move }) => {
  if (move.event?.type !== 'Report' || !move.answer) return undefined;
  const ops = opsOf(after);
  const op = find(ops, move.event.id);
  if (op?.kind !== 'Pay' || numberOfCharge(op) === null || !isUnexecuted(op) || before === after) return undefined;
  const others = ops.filter((one) => one.id !== op.id && isCharge(one) && numberOfCharge(one) === op.documentNr && stands(one));
  if (others.length === 0) return undefined;
  const { code, fields } = move.answer;
  return code === 'Refused_By_Device' || code === 'Device_Offline'
    ? `Pay ${op.id} is answered ${code} (${fields.State}) although ${others[0]?.id} under its number is ${others[0]?.standing}`
    : true;
};

/** D250: a new key does not show that a request is a new one. */
const notBesideDisputed: Invariant = ({ before, after }) => {
  const op = begunIn(before, after);
  if (!op || op.requestHash === null || op.kind === 'CloseDay') return undefined;
  const equal = opsOf(before).filter((one) => one.requestHash === op.requestHash && one.deviceId === op.deviceId);
  const disputed = equal.find(({ state }) => state === 'disputed');
  if (disputed) return `${kindOf(op)} ${op.id} is sent beside the equal ${kindOf(disputed)} ${disputed.id}, which is disputed`;
  return equal.length > 0 ? true : undefined;
};

/** D315: a key names the request. */
const keyNamesRequest: Invariant = ({ before, after, move }) => {
  const event = move.event;
  const op = begunIn(before, after);
  if (!op || !event || !('key' in event) || !event.key) return undefined;
  const row = after.ledger['idempotency_keys']?.[`${merchantId} ${event.key.key}`];
  return row?.['subject_id'] === op.id || `${kindOf(op)} ${op.id} is sent, and its key names ${row?.['subject_id']}`;
};

/** D304: what is connected can still answer. */
const lostIsNotHere: Invariant = ({ before, after, move }) => {
  if (move.event?.type !== 'HardwareLost') return undefined;
  const lost = opsOf(after).filter((op) => op.isHardwareLost && find(opsOf(before), op.id)?.isHardwareLost === false);
  const here = lost.find((op) => before.live[op.deviceId] === op.journalId);
  if (here) return `the hardware of ${kindOf(here)} ${here.id} is declared lost, and is connected`;
  const other = lost.find((op) => !find(opsOf(before), op.id)?.isUnconfirmed);
  return other ? `${kindOf(other)} ${other.id} waits for no hardware that could be declared lost` : true;
};

const acceptedIsDisputed: Invariant = ({ before, after }) => {
  // A gateway has only decided, and stands still.
  if (after.pending !== null && after.pending !== before.pending) return undefined;
  const id = before.gathered.find((one) => !after.gathered.includes(one));
  const was = find(opsOf(before), id);
  if (!was?.isUnconfirmed || was.contradiction !== null || was.acceptedAt !== null) return undefined;
  return find(opsOf(after), id)?.state === 'disputed' || `${kindOf(was)} ${id} was decided as not executed, is accepted, and not disputed`;
};

/** Its resolution corrects the money by it. */
const disputeKeepsItsBegin: Invariant = ({ before, after }) => {
  const both = opsOf(after).filter((op) => op.state === 'disputed' && find(opsOf(before), op.id)?.state === 'disputed');
  for (const op of both) {
    const was = find(opsOf(before), op.id)?.disputedFrom;
    if (op.disputedFrom !== was) return `the dispute of ${kindOf(op)} ${op.id} began from ${was}, and is from ${op.disputedFrom}`;
  }
  return both.length > 0 ? true : undefined;
};

/** Many transitions lead to the same rows: what is asked of these alone is judged once. */
function onceForRows(check: Invariant): Invariant {
  const known = new WeakMap<Ledger, Map<string, ReturnType<Invariant>>>();
  return (judged) => {
    const ledger = equalOf(judged.after.ledger);
    const around = aroundOf(judged.after).key ?? '';
    const mine = known.get(ledger) ?? new Map<string, ReturnType<Invariant>>();
    known.set(ledger, mine);
    if (!mine.has(around)) mine.set(around, check(judged));
    return mine.get(around);
  };
}

/** Also after a CloseDoc that was refused. */
const openCanBeClosed = onceForRows(({ after }) => {
  const { devices } = wholeCase(after);
  const ops = opsOf(after);
  const open = ops.filter((op) => op.document === 'open' && op.documentNr !== null && op.operationId !== null && op.standing === 'Done');
  for (const { id, deviceId, documentNr, operationId } of open.filter((op) => isHere(after, op))) {
    const device = devices[deviceId];
    if (device?.documentId !== id || device.commandId !== null || ops.some(({ isUnconfirmed }) => isUnconfirmed)) continue;
    const event: Event = { type: 'CloseDoc', merchantId, newId, deviceId, documentNr: documentNr ?? '', operationId: operationId ?? '' };
    const { answer, wouldChange } = planIn(after, event);
    if (!wouldChange) return `the document of Pay ${id} is open, and CloseDoc is ${answer?.code}: ${answer?.sentence}`;
  }
  return open.length > 0 ? true : undefined;
});

const givesBack = ({ kind }: Op) => kind === 'CancelTransaction' || kind === 'Refund';

/** What a till can expect of a sale at rest: its payment can be voided, and its receipt printed. */
const saleGoesOn = onceForRows(({ after, world }) => {
  const ops = opsOf(after);
  const { devices } = wholeCase(after);
  const isAtRest = ops.every((op) => !isOpen(op) && op.state !== 'disputed' && !op.isUnconfirmed && op.removedAt === null);
  const paid = ops.filter(
    (op) => op.kind === 'Pay' && isHere(after, op) && (op.standing === 'Done' || op.standing === 'Closed') && op.operationId !== null,
  );
  const [payment] = paid;
  if (!isAtRest || !payment || paid.length > 1 || ops.some((op) => givesBack(op) && !isUnexecuted(op))) return undefined;
  const { id, deviceId, documentNr } = payment;
  for (const { kind, label, event } of callsIn(after, { ...world, maxOps: 99, keys: [] })) {
    const isVoid = kind === 'Void' && label.startsWith(`Void ${deviceId} ${id}`);
    const isPrint = kind === 'Print' && payment.printId === null && numberIn(event) === documentNr;
    if ((!isVoid && !isPrint) || world.hasReusedNumbers || documentNr === null) continue;
    if (isVoid && !['commandId', 'documentId'].every((held) => [null, id].includes(devices[deviceId]?.[held as 'commandId'] ?? null)))
      continue;
    const { answer, wouldChange } = planIn(after, event);
    // An equal call that was refused is repeated under its content, and is answered again [D58].
    if (!wouldChange && answer?.fields.Repeated !== true && !(isPrint && ops.some((op) => op.receiptUid === documentNr)))
      return `${label} is ${answer?.code}: ${answer?.sentence}`;
  }
  return true;
});

const numberIn = (event: Event): unknown => (event.type === 'Print' ? event.receipt['Uid'] : undefined);

export const stepInvariants: Readonly<Record<string, Invariant>> = {
  '1 a device has one command': oneAtATime,
  '1 nothing is sent beside a disputed equal': notBesideDisputed,
  '1 a key names what it began': keyNamesRequest,
  '2 what is removed is at rest': removedIsAtRest,
  '3 a try knows its number': tryKnowsItsNumber,
  '3 numbers are those of the device': numbersOfTheDevice,
  '4 an abort goes where its payment is': abortGoesThere,
  '4 an invoice ends once': invoiceEndsOnce,
  '4 an overdue invoice is not shown': overdueIsNotShown,
  '7 people know of the other one': toldOfDouble,
  '7 a dispute keeps where it began': disputeKeepsItsBegin,
  '9 an open document can be closed': openCanBeClosed,
  '10 an acceptance contradicts a decision': acceptedIsDisputed,
  '10 what is connected is not lost': lostIsNotHere,
  '9 a sale at rest goes on': saleGoesOn,
  '9 what has no number is closed': unnumberedIsClosed,
};
