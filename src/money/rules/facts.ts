// What single facts mean. Every rule about money starts from these predicates, and no other place evaluates the columns behind them.
import { parseUuid } from '../../kernel/ids.ts';
import { type Operation, operationOf } from '../../kernel/operations.ts';
import { type Case, type Id, type Invoice, type Key, nameKey, type Op, type Presence } from '../case.ts';

export const isOpen = ({ state }: Pick<Op, 'state'>): boolean => state === 'sent' || state === 'unknown';
export const isUnexecuted = ({ state }: Pick<Op, 'state'>): boolean => state === 'refused' || state === 'never';
/** The same may be tried again under its number. A removed attempt keeps it: what is not known any more is not repeated [D66]. */
export const leavesNumberFree = (op: Op): boolean => isUnexecuted(op) && op.removedAt === null;
/** Open, done or disputed; also what a person decided as not executed, until its journal has answered [D304]. */
export const mayBeExecuted = (op: Op): boolean => !isUnexecuted(op) || op.isUnconfirmed;

export const catalogued = ({ kind }: Pick<Op, 'kind'>): Partial<Operation> => (kind === 'Abort' ? {} : operationOf(kind));
export const isPayment = (op: Pick<Op, 'kind'>): boolean => catalogued(op).isPayment === true;
export const isPrint = (op: Pick<Op, 'kind'>): boolean => catalogued(op).prints === true;
export const isRefund = (op: Pick<Op, 'kind'>): boolean => catalogued(op).effect === 'refund';
export const isVoid = (op: Pick<Op, 'kind'>): boolean => catalogued(op).effect === 'void';
export const isCloseDoc = (op: Pick<Op, 'kind'>): boolean => catalogued(op).effect === 'close';
export const returnsMoney = (op: Pick<Op, 'kind'>): boolean => isRefund(op) || isVoid(op);
export const isAbort = (op: Pick<Op, 'kind'>): boolean => op.kind === 'Abort';
/** A request to stop that did not leave: nothing follows from it. */
export const isUnsentAbort = (op: Pick<Op, 'kind' | 'state'>): boolean => isAbort(op) && op.state === 'never';
/** It charges a card itself: a payment, or a print for which the register asks for a card [D146]. */
export const isCharge = (op: Pick<Op, 'kind' | 'cardBani'>): boolean => isPayment(op) || op.cardBani > 0;
/** A Report is a Z: an X report changes nothing and is never compared by its content. */
export const closesDay = (op: Pick<Op, 'kind'>): boolean => catalogued(op).closesDay === true;

/** The shop may have its money [D305]. */
export const stands = ({ standing }: Pick<Op, 'standing'>): boolean =>
  standing === 'Open' || standing === 'Disputed' || standing === 'Done' || standing === 'Closed';

/** An operation that is being begun has no number yet: it is the newest. */
export const sequenceOf = ({ sequence }: Pick<Op, 'sequence'>): number => sequence ?? Number.POSITIVE_INFINITY;

/** The operations in their order of begin on a device, or under a name. */
export const inOrder = (ops: readonly Op[]): Op[] => ops.toSorted((one, other) => sequenceOf(one) - sequenceOf(other));

export const allOps = (c: Case): Op[] => Object.values(c.ops);

/** Refunds, voids, closes and aborts of a payment, and the prints on which it stands. */
export function followersOf(c: Case, paymentId: Id): Op[] {
  return inOrder(allOps(c).filter((op) => op.targetId === paymentId || op.paid.some((element) => element.paymentId === paymentId)));
}

/** The payment and its followers. */
export const saleOf = (c: Case, payment: Op): Op[] => [payment, ...followersOf(c, payment.id)];

/** The payments that an operation is about: of a refund one, of a print those on its receipt. */
export const paymentsOf = (c: Case, op: Op): Op[] =>
  [op.targetId, ...op.paid.map(({ paymentId }) => paymentId)].flatMap((id) => (id === null ? [] : (c.ops[id] ?? [])));

/**
 * The name under which the operation happens only once: a payment's documentNr, a print's Receipt.Uid; otherwise its content, which is no
 * text that an ERP could send as a number.
 */
export function nameOf(op: Pick<Op, 'kind' | 'documentNr' | 'receiptUid' | 'deviceId' | 'requestHash'>): string | undefined {
  const number = isPayment(op) ? op.documentNr : isPrint(op) ? op.receiptUid : null;
  return number ?? (op.requestHash === null ? undefined : contentName(op.deviceId, op.requestHash));
}

const contentMark = '\u0001';
export const contentName = (deviceId: Id, requestHash: string) => `${contentMark}${deviceId} ${requestHash}`;
export const isContentName = (value: string) => value.startsWith(contentMark);

/** A request is known by its content until this long after its end, or after the last answer 3 about it [D58]. */
const recognisedMs = 10 * 60_000;
/** No caller is known to have its outcome, and a repeat may still come. */
export function isUndelivered({ now }: Case, op: Op): boolean {
  if (op.state === 'never' || op.receivedAt !== null || op.removedAt !== null) return false;
  return isOpen(op) || Math.max(op.settledAt ?? 0, op.missedAt ?? 0) > now - recognisedMs;
}

/** The operations under a name, in the order in which they began. */
export const opsUnder = (c: Case, merchantId: Id, value: string, isMeant: (op: Op) => boolean): Op[] =>
  (c.names[nameKey(merchantId, value)]?.ops ?? []).flatMap((id) => c.ops[id] ?? []).filter(isMeant);

export const presenceOf = (c: Case, merchantId: Id, deviceId: Id): Presence | undefined => c.presence[nameKey(merchantId, deviceId)];
export const keyRowOf = (c: Case, merchantId: Id, key: string): Key | undefined => c.keys[nameKey(merchantId, key)];

/** An invoice of this merchant: its OID may be the documentNr of a payment. */
export function invoiceOf(c: Case, merchantId: Id, number: string | null): Invoice | undefined {
  const invoice = c.invoices[parseUuid(number) ?? ''];
  return invoice?.merchantId === merchantId ? invoice : undefined;
}

/** The day of the device was closed after this operation [D307]. */
export const isDayClosed = (c: Case, op: Op): boolean =>
  (c.devices[op.deviceId]?.closes ?? []).some(({ sequence }) => sequence > sequenceOf(op));

const refundsOf = (followers: readonly Op[]): Op[] => followers.filter(isRefund);
export const sumOf = (ops: readonly Op[]): number => ops.reduce((sum, { amountBani }) => sum + (amountBani ?? 0), 0);
/**
 * Refunds that were or may be made: parallel ones never exceed the payment [D17]. One that a person decided as not made counts as such; until
 * its journal has answered, nothing is sent about the payment [D304].
 */
export const committedRefunds = (followers: readonly Op[]): Op[] => refundsOf(followers).filter((op) => !isUnexecuted(op));

/** Of a payment: what was not refunded. */
export const remainderOf = (payment: Op): number => (payment.amountBani ?? 0) - payment.refundedBani;
