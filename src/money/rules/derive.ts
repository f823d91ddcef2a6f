// All consequences of the states of the operations in a case: standing, refunded sum, document, lock of the device, invoice, names. No other
// function writes these fields, so there is no undo code: a payment that proves not to be made has the same consequences as a refused one.
import type { Device, Draft, Id, Name, Op } from '../case.ts';
import { deriveAttention } from './derive-attention.ts';
import { deriveInvoice } from './derive-invoices.ts';
import {
  allOps,
  closesDay,
  followersOf,
  isAbort,
  isCloseDoc,
  isContentName,
  isDayClosed,
  isOpen,
  isPayment,
  isPrint,
  isRefund,
  isUnexecuted,
  isVoid,
  mayBeExecuted,
  nameOf,
  returnsMoney,
  sumOf,
} from './facts.ts';

export function derive(c: Draft): Draft {
  const ops = allOps(c);
  for (const op of ops) {
    const isGuessed = op.settledBy === 'person' && !op.isConfirmed;
    op.isUnconfirmed = isGuessed && isUnexecuted(op) && !op.isHardwareLost;
    op.isToConfirm = isGuessed && op.removedAt === null;
  }
  for (const op of ops) if (!isPayment(op) && !isAbort(op)) op.standing = ownStanding(op);
  for (const op of ops) if (isPayment(op) && c.sales.has(op.id)) derivePayment(c, op);
  for (const op of ops) if (isAbort(op)) deriveAbort(c, op);
  for (const device of Object.values(c.devices)) deriveDevice(c, device);
  for (const name of Object.values(c.names)) {
    deriveName(c, name);
    deriveAttention(c, name);
  }
  for (const invoice of Object.values(c.invoices)) deriveInvoice(c, invoice);
  return c;
}

const standings = { sent: 'Open', unknown: 'Open', done: 'Done', refused: 'Refused', never: 'Never', disputed: 'Disputed' } as const;
const ownStanding = ({ state }: Op) => standings[state];

function derivePayment(c: Draft, payment: Op): void {
  const followers = followersOf(c, payment.id);
  const made = followers.filter(({ state }) => state === 'done');
  payment.refundedBani = sumOf(made.filter(isRefund));
  payment.printId = printOf(followers)?.id ?? null;
  payment.standing = paymentStanding(payment, followers, made);
  payment.document = documentOf(payment, made);
}

/**
 * A print that is disputed, or was, has the payment only if no other has it [D146]. Registers have no common order, so of two the ids
 * decide.
 */
function printOf(followers: readonly Op[]): Op | undefined {
  const prints = followers.filter((op) => isPrint(op) && !isUnexecuted(op)).toSorted((one, other) => (one.id < other.id ? -1 : 1));
  const certain = prints.filter(({ state }) => state !== 'disputed');
  return certain.find(({ disputedFrom }) => disputedFrom === null) ?? certain[0] ?? prints[0];
}

function paymentStanding(payment: Op, followers: readonly Op[], made: readonly Op[]): Op['standing'] {
  if (payment.state !== 'done') return ownStanding(payment);
  // It is not known whether the shop has the money.
  if (followers.some((op) => returnsMoney(op) && op.state === 'disputed')) return 'Disputed';
  if (made.some(isVoid)) return 'Voided';
  if (payment.refundedBani > 0 && payment.refundedBani >= (payment.amountBani ?? 0)) return 'Refunded';
  return isEnded(payment, made) ? 'Closed' : 'Done';
}

const isEnded = (payment: Op, made: readonly Op[]) => payment.isEndedByHand || made.some(isCloseDoc);

function documentOf(payment: Op, made: readonly Op[]): Op['document'] {
  if (payment.state !== 'done') return null;
  if (made.some(isVoid)) return 'voided';
  return isEnded(payment, made) ? 'closed' : 'open';
}

/** The settlement of the payment ends the abort [D315]; one that the terminal refused has ended, and has no later effect [D18]. */
function deriveAbort(c: Draft, abort: Op): void {
  const payment = c.ops[abort.targetId ?? ''];
  if (payment && c.sales.has(payment.id) && isOpen(abort) && !isOpen(payment) && payment.state !== 'disputed') {
    abort.state = isUnexecuted(payment) ? 'done' : 'refused';
    abort.settledBy = 'gateway';
    abort.settledAt = c.now;
  }
  abort.standing = ownStanding(abort);
}

/** The document locks the terminal until a CloseDoc or a void ends it, but not while the payment or one of these is disputed [D143]. */
function locksTerminal(c: Draft, payment: Op): boolean {
  if (payment.document !== 'open' || payment.standing === 'Disputed') return false;
  return !followersOf(c, payment.id).some((op) => isCloseDoc(op) && op.state === 'disputed');
}

function deriveDevice(c: Draft, device: Device): void {
  const here = allOps(c).filter((op) => op.deviceId === device.id && !isAbort(op));
  for (const op of here) {
    if (device.commandId === op.id && !isOpen(op)) device.commandId = null;
    if (device.documentId === op.id && !locksTerminal(c, op)) device.documentId = null;
  }
  device.closes = here.filter(closesDay).reduce(withClose, device.closes);
  device.lastPayment = here.filter((op) => isPayment(op) && op.state === 'done').reduce(newer, device.lastPayment);
  for (const op of here) if (isPayment(op) && locksTerminal(c, op) && device.documentId !== op.id) lockAgain(c, device, op);
  device.unconfirmed = marked(device.unconfirmed, here);
}

const newer = (last: Device['lastPayment'], { id, sequence }: Op): Device['lastPayment'] =>
  sequence === null || sequence <= (last?.sequence ?? 0) ? last : { id, sequence };

/**
 * A later payment, or another command, is on the terminal, or its day was closed since: the document of the earlier one is not opened
 * again [D143].
 */
function lockAgain(c: Draft, device: Device, payment: Op): void {
  const command = device.commandId === null ? undefined : c.ops[device.commandId];
  const isOthers = device.commandId !== null && command?.targetId !== payment.id;
  if (device.documentId === null && !isOthers && device.lastPayment?.id === payment.id && !isDayClosed(c, payment)) {
    device.documentId = payment.id;
    return;
  }
  payment.isEndedByHand = true;
  derivePayment(c, payment);
}

function marked(ids: readonly Id[], here: readonly Op[]): readonly Id[] {
  const gone = new Set(here.filter((op) => !op.isUnconfirmed).map(({ id }) => id));
  const added = here.filter((op) => op.isUnconfirmed && !ids.includes(op.id)).map(({ id }) => id);
  return added.length === 0 && !ids.some((id) => gone.has(id)) ? ids : [...ids.filter((id) => !gone.has(id)), ...added];
}

const keptCloses = 2;

/** A close that is disputed, or proves not to be made, no longer ends the day. */
function withClose(closes: Device['closes'], { id, state, sequence }: Op): Device['closes'] {
  const others = closes.filter((close) => close.id !== id);
  if (state !== 'done' || sequence === null) return others.length === closes.length ? closes : others;
  if (others.length < closes.length) return closes;
  return [...others, { id, sequence }].toSorted((one, other) => one.sequence - other.sequence).slice(-keptCloses);
}

/**
 * `ops` of a number: every operation that was or may have been executed, and the newest payment and print; what a dispute brings back
 * returns to its place. Of a content, which stands for many sales: the newest, and what a repeat must not be sent beside.
 */
function deriveName(c: Draft, name: Name): void {
  const isContent = isContentName(name.value);
  const isHeld = (op: Op) => (isContent ? op.state === 'disputed' || op.isUnconfirmed : mayBeExecuted(op) || op.removedAt !== null);
  const isOurs = (op: Op) => op.merchantId === name.merchantId && nameOf(op) === name.value;
  const returning = allOps(c).filter((op) => isOurs(op) && isHeld(op) && !name.ops.includes(op.id));
  const listed = [...name.ops, ...returning.map(({ id }) => id)].flatMap((id) => c.ops[id] ?? []);
  listed.sort((one, other) => one.attempt - other.attempt);
  const newest = isContent ? [listed.at(-1)] : [listed.findLast(isPayment), listed.findLast(isPrint)];
  const ops = listed.filter((op) => newest.includes(op) || isHeld(op)).map(({ id }) => id);
  if (ops.join() !== name.ops.join()) (name as { ops: readonly Id[] }).ops = ops;
}
