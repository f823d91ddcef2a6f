// Which further rows a change relies on: a row that it changes is written and guarded anyway. What a decision reads of rows that it does not
// write is guarded by their root, and every guarded row is written: a guard without a write does not exclude another unit.
//
//   operation ..... its own row, and its device's, whose counter orders everything on it
//   QR sale ....... none: on its device it is only noted, whatever is under way there, so that row is written without a guard
//   follower ...... the payment that it is about: of a CloseDoc only at its end, because until then its device stands for it
//   name .......... written by whatever changes what it stands for: begin, end without execution, dispute, decision, resolution, removal, and
//                   the end of what returns the money of a payment under it; and with it what is open under it
//   invoice ....... by each begin and change of a payment under its OID
import { type Case, type Draft, nameKey, type Op } from '../case.ts';
import {
  followersOf,
  invoiceOf,
  isAbort,
  isCharge,
  isCloseDoc,
  isContentName,
  isOpen,
  isPayment,
  isPrint,
  nameOf,
  opsUnder,
  paymentsOf,
  returnsMoney,
} from './facts.ts';
import { relyOn } from './ruled.ts';

/** Written without the version, on a condition of their own: acceptance and delivery. */
const lateFields: ReadonlySet<string> = new Set(['acceptedAt', 'missedAt', 'receivedAt']);

/** The fields of a row that have changed. */
export function differs(before: object, after: object): string[] {
  const fields: string[] = [];
  for (const field in after) if (!isSame((before as Fields)[field], (after as Fields)[field])) fields.push(field);
  return fields;
}
type Fields = Record<string, unknown>;
export const isSame = (one: unknown, other: unknown): boolean =>
  one === other || (typeof one === 'object' && one !== null && JSON.stringify(one) === JSON.stringify(other));

/** The event only notes an acceptance or a delivery. */
export function isLate(facts: Case, c: Draft): boolean {
  let isChanged = false;
  for (const op of Object.values(c.ops)) {
    const before = (facts.ops[op.id] ?? {}) as unknown as Fields;
    for (const field in op)
      if (!isSame(before[field], (op as unknown as Fields)[field])) {
        if (!lateFields.has(field)) return false;
        isChanged = true;
      }
  }
  return isChanged;
}

export function relyOnRoots(facts: Case, c: Draft): void {
  if (isLate(facts, c)) return;
  for (const op of Object.values(c.ops)) {
    const before = facts.ops[op.id];
    const fields = before ? differs(before, op) : undefined;
    // What is listed about it follows from what changes elsewhere.
    if (!fields || fields.some((field) => field !== 'attention')) relyOnRootsOf(c, before, op);
  }
}

function relyOnRootsOf(c: Draft, before: Op | undefined, op: Op): void {
  if (!isAbort(op) && c.devices[op.deviceId]) relyOn(c, 'devices', op.deviceId);
  for (const payment of paymentsOf(c, op)) {
    if (isCloseDoc(op) && !before) continue;
    relyOn(c, 'ops', payment.id);
    if (!returnsMoney(op) || !hasChangedFold(before, op)) continue;
    relyOnName(c, payment);
    relyOnInvoice(c, payment);
  }
  if (!before) relyOnOpen(c, op);
  if (hasChangedFold(before, op)) relyOnName(c, op);
  if (isCharge(op)) relyOnInvoice(c, op);
}

/** A plain "done" changes nothing of what the number stands for. */
function hasChangedFold(before: Op | undefined, op: Op): boolean {
  if (!before) return false;
  const isPlainDone = isOpen(before) && op.state === 'done';
  if (returnsMoney(op)) return before.state !== op.state;
  return (
    (before.state !== op.state && !isPlainDone && !(isOpen(before) && isOpen(op))) ||
    before.isUnconfirmed !== op.isUnconfirmed ||
    before.removedAt !== op.removedAt
  );
}

function relyOnName(c: Draft, op: Op): void {
  const value = nameOf(op);
  if (value === undefined || !c.names[nameKey(op.merchantId, value)]) return;
  relyOn(c, 'names', nameKey(op.merchantId, value));
  relyOnOpen(c, op);
}

/** A plain "done" does not write the name: a unit that relies on what is open under it writes that. */
function relyOnOpen(c: Draft, op: Op): void {
  const value = nameOf(op);
  const listed = value === undefined || isContentName(value) ? [] : opsUnder(c, op.merchantId, value, () => true);
  for (const one of [...listed, ...listed.filter(isPayment).flatMap(({ id }) => followersOf(c, id).filter(isPrint))])
    if (one !== op && isOpen(one)) relyOn(c, 'ops', one.id);
}

/** The number may be the OID of another merchant's invoice, which it has nothing to do with. */
function relyOnInvoice(c: Draft, { merchantId, documentNr }: Op): void {
  const invoice = invoiceOf(c, merchantId, documentNr);
  if (invoice) relyOn(c, 'invoices', invoice.oid);
}
