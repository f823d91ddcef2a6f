// What the payments under its OID mean for an invoice, and which money it was not paid with: derived in every decision that knows both.
import { type Draft, type Invoice, nameKey, type Op, type Orphan } from '../case.ts';
import { followersOf, isAbort, isUnexecuted, isUnsentAbort, stands } from './facts.ts';
import { isCertain, isUnpaid, move, standingPayments } from './invoice-rules.ts';
import { chargesUnder } from './numbers.ts';

export function deriveInvoice(c: Draft, invoice: Invoice): void {
  if (!c.names[nameKey(invoice.merchantId, invoice.oid)]) return;
  cancelWithPayment(c, invoice);
  const payments = standingPayments(c, invoice);
  invoice.isPaidByCard = isUnpaid(invoice) && payments.some(isCertain);
  deriveOrphans(c, invoice, payments);
}

/**
 * An unpaid invoice is cancelled as soon as a payment under its OID was voided, or ended unexecuted after an abort that the terminal did not
 * refuse; not while another payment under the OID stands [D19, D302].
 */
function cancelWithPayment(c: Draft, invoice: Invoice): void {
  if (!isUnpaid(invoice)) return;
  const isStopped = (op: Op) =>
    isUnexecuted(op) && followersOf(c, op.id).some((one) => isAbort(one) && !one.isStopRefused && !isUnsentAbort(one));
  const charges = chargesUnder(c, invoice.merchantId, invoice.oid);
  const isVoided = charges.some(({ standing }) => standing === 'Voided');
  if (charges.some(stands) || (!isVoided && !charges.some(isStopped))) return;
  move(c, invoice, 'Cancelled', { reason: isVoided ? 'The card payment was voided.' : 'The card payment was aborted.' });
}

export const orphanKey = ({ oid, receiptId, deviceId }: Pick<Orphan, 'oid' | 'receiptId' | 'deviceId'>) =>
  `${oid} ${receiptId} ${deviceId}`;

/**
 * A payment that was refused and accepted later is no orphan [D22], unless the invoice was paid by card on another device, too: then it is
 * listed for as long as the shop has both [D186].
 */
function deriveOrphans(c: Draft, { oid, merchantId, receiptId, paidDeviceId }: Invoice, payments: readonly Op[]): void {
  const accepted = receiptId === null || paidDeviceId === null ? undefined : { oid, receiptId, deviceId: paidDeviceId };
  const acceptedKey = accepted && orphanKey(accepted);
  const isPaidTwice = payments.some((op) => isCertain(op) && op.deviceId !== paidDeviceId);
  for (const [key, orphan] of Object.entries(c.orphans)) {
    if (orphan.oid !== oid) continue;
    orphan.isListed = key !== acceptedKey || isPaidTwice;
    if (key === acceptedKey && isPaidTwice) orphan.reason = 'paid-by-card-too';
  }
  if (accepted && acceptedKey && isPaidTwice && !c.orphans[acceptedKey])
    c.orphans[acceptedKey] = { ...accepted, merchantId, version: 0, at: c.now, reason: 'paid-by-card-too', isListed: true };
}
