// QR Mode: Create, Get, Payd, Status, the end of an invoice's validity, its cancellation by its merchant, and its removal [D20 to D25, D142].
import type { Draft, Invoice, Op, OrphanReason } from '../case.ts';
import type { Answer, Effect, Of } from '../event.ts';
import { cannotApply, done, invalid, unknownRecord } from './answers.ts';
import { orphanKey } from './derive-invoices.ts';
import { byKey, otherRequestUnderKey } from './earlier.ts';
import { allOps, presenceOf } from './facts.ts';
import {
  byOf,
  cannotCancel,
  invoiceStatus,
  isCertain,
  isOverdue,
  isUnpaid,
  move,
  movedBy,
  refusal,
  standingPayments,
} from './invoice-rules.ts';
import { changed, changedSaying, nothing, type Ruled, relyOn, say, takeKey } from './ruled.ts';

/** The same for a missing invoice and for one of another merchant [D11]. */
const noSuchInvoice = unknownRecord('There is no invoice with this QR.');

/** Of any merchant, if the caller has only the QR. */
const askedInvoice = (c: Draft, { oid, merchantId }: { oid: string; merchantId?: string | undefined }): Invoice | undefined => {
  const invoice = c.invoices[oid];
  return merchantId === undefined || invoice?.merchantId === merchantId ? invoice : undefined;
};

/** Nothing is notified, and its history begins with its row [D25]. A key is kept with the invoice alone, so a refused call leaves it free. */
export function create(c: Draft, event: Of<'Create'>): Ruled {
  const { type: _, newId: oid, key, ...given } = event;
  const found = byKey(c, event);
  const earlier = found && 'invoice' in found ? c.invoices[found.invoice] : undefined;
  if (earlier) return say(created(earlier));
  if (found) return say(otherRequestUnderKey);
  if (given.validTo !== null && given.validTo <= c.now) return say(invalid('ValidTo must not be in the past.'));
  const invoice = newInvoice({ ...given, oid, createdAt: c.now });
  c.invoices[oid] = invoice;
  takeKey(c, { merchantId: given.merchantId, key }, oid, 'invoice');
  return changedSaying(created(invoice));
}

/** The same answer again, whatever became of the invoice. */
const created = (invoice: Invoice): Answer => ({ ...done({ OID: invoice.oid }), invoice });
const shown = (invoice: Invoice): Answer => ({ ...done({ OID: invoice.oid, Status: invoiceStatus[invoice.state] }), invoice });

type Given = 'oid' | 'merchantId' | 'amountBani' | 'validTo' | 'callbackUri' | 'createdAt';
type Content = 'receipt' | 'qrSecretId' | 'pointOfSalesCode' | 'preferredDeviceId';

export const newInvoice = (given: Pick<Invoice, Given | Content>): Invoice => ({
  ...given,
  ...{ version: 0, state: 'NewItem', scannedAt: null, endedAt: null, receiptId: null, paidDeviceId: null, notices: 0 },
  ...{ isChargeBegun: false, removedAt: null, isPaidByCard: false },
});

/** An overdue invoice becomes Expired by whatever event meets it first [D23]. */
function expireIfOverdue(c: Draft, invoice: Invoice): boolean {
  if (!isOverdue(c, invoice)) return false;
  move(c, invoice, 'Expired');
  return true;
}

/** Once there is a card payment, only the device that was paid and the ERP get the receipt, and no caller while it is in doubt [D142]. */
export function get(c: Draft, event: Of<'Get'>): Ruled {
  const invoice = askedInvoice(c, event);
  if (!invoice) return say(noSuchInvoice);
  if (expireIfOverdue(c, invoice)) return changedSaying(refusal(c, invoice, 'scan', []));
  const payments = standingPayments(c, invoice);
  const isPayee = event.hasKey === true || payments.some(({ deviceId }) => deviceId === event.asDevice);
  const to = movedBy('scan', invoice);
  if (to === undefined || payments.some((op) => !isCertain(op)) || (payments.length > 0 && !isPayee))
    return say(refusal(c, invoice, 'scan', payments));
  if (to === invoice.state) return say(shown(invoice));
  move(c, invoice, to, byOf(event));
  return changedSaying(shown(invoice));
}

export function invoiceStatusOf(c: Draft, event: Of<'InvoiceStatus'>): Ruled {
  const invoice = askedInvoice(c, event);
  if (!invoice) return say(noSuchInvoice);
  const hasExpired = expireIfOverdue(c, invoice);
  const answer = done({ Status: invoiceStatus[invoice.state], ReceiptID: invoice.receiptId ?? '' });
  return hasExpired ? changedSaying(answer) : say(answer);
}

export function expire(c: Draft, { oid }: Of<'Expire'>): Ruled {
  const invoice = c.invoices[oid];
  return invoice && expireIfOverdue(c, invoice) ? changed() : nothing;
}

export function cancelInvoice(c: Draft, event: Of<'CancelInvoice'>): Ruled {
  const invoice = askedInvoice(c, event);
  if (!invoice) return say(noSuchInvoice);
  if (isUnpaid(invoice) && standingPayments(c, invoice).length > 0)
    return say(cannotApply('A card payment for it is open or was made; stop or void that first.'));
  const why = cannotCancel(c, invoice);
  if (why) return say(why);
  move(c, invoice, 'Cancelled', { ...byOf(event), ...(event.reason === undefined ? {} : { reason: event.reason }) });
  return changedSaying(done({}));
}

/** The money was taken before this call, so a refused Payd is kept as an orphan. */
export function payd(c: Draft, event: Of<'Payd'>): Ruled {
  const { oid, receiptId, deviceId, merchantId } = event;
  const invoice = askedInvoice(c, event);
  if (!invoice) return say(noSuchInvoice, [{ type: 'unmatched', oid, receiptId, deviceId, merchantId }]);
  if (invoice.state === 'Payed' && invoice.receiptId === receiptId && invoice.paidDeviceId === deviceId) return say(done({}));
  const hasExpired = expireIfOverdue(c, invoice);
  const refused = cannotBePaid(c, invoice, event);
  if (refused) return keepOrphan(c, invoice, event, refused, hasExpired);
  move(c, invoice, 'Payed', { ...byOf(event), receiptId, deviceId });
  invoice.receiptId = receiptId;
  invoice.paidDeviceId = deviceId;
  sold(c, invoice, deviceId);
  return changedSaying(done({}));
}

interface Refused {
  reason: OrphanReason;
  answer: Answer;
}

function cannotBePaid(c: Draft, invoice: Invoice, { asDevice, hasKey, deviceId }: Of<'Payd'>): Refused | undefined {
  // The credential of a device stands for that device only; the ERP's key may name each of its own [D282].
  if (asDevice !== undefined && hasKey !== true && asDevice !== deviceId)
    return { reason: 'other-device', answer: invalid('DeviceID must be the device of the credential; only a key may name another one.') };
  const device = presenceOf(c, invoice.merchantId, deviceId);
  if (!device || device.isDisabled)
    return {
      reason: 'device-not-registered',
      answer: unknownRecord('No such device is registered with the merchant of this invoice.'),
    };
  const payments = standingPayments(c, invoice);
  return cannotBePaidBy(invoice, payments, deviceId)
    ? { reason: reasonOf(invoice), answer: refusal(c, invoice, 'pay', payments) }
    : undefined;
}

/** A card payment that is certain excludes a second payment; Payd on its own device only completes it [D252]. */
function cannotBePaidBy(invoice: Invoice, payments: readonly Op[], deviceId: string): boolean {
  const isPaidDevice = payments.some((op) => op.deviceId === deviceId);
  return movedBy('pay', invoice) === undefined || (payments.some(isCertain) && !isPaidDevice);
}

/** A QR sale on a device counts among what the next close of its day includes [D149, D307]. Nothing else of the device is relied on. */
function sold(c: Draft, { oid }: Invoice, deviceId: string): void {
  const device = c.devices[deviceId];
  if (device) device.lastSaleId = oid;
}

function reasonOf(invoice: Invoice): OrphanReason {
  if (invoice.state === 'NewItem') return 'never-scanned';
  if (invoice.state === 'Expired') return 'expired';
  return invoice.state === 'Cancelled' ? 'cancelled' : 'paid-otherwise';
}

/** A holder of the QR can send any number of receipt ids. */
const maxOrphans = 100;
const orphansOf = (c: Draft, { oid }: Invoice) => Object.values(c.orphans).filter((orphan) => orphan.oid === oid);

/** A repeat is refused again, and kept and logged only once. */
function keepOrphan(c: Draft, invoice: Invoice, event: Of<'Payd'>, { reason, answer }: Refused, hasExpired: boolean): Ruled {
  const { oid, merchantId } = invoice;
  const { receiptId, deviceId } = event;
  const key = orphanKey(event);
  const isKnown = c.orphans[key] !== undefined;
  const isKept = !isKnown && orphansOf(c, invoice).length < maxOrphans;
  if (isKept) {
    c.orphans[key] = { oid, merchantId, receiptId, deviceId, version: 0, at: c.now, reason, isListed: true };
    c.added.history.push({ oid, at: c.now, event: 'payment-refused', detail: { ...byOf(event), reason, receiptId, deviceId } });
    relyOn(c, 'invoices', oid);
  }
  const effects: Effect[] = isKnown ? [] : [{ type: 'orphan', oid, merchantId, receiptId, deviceId, reason, isKept }];
  return isKept || hasExpired ? changedSaying(answer, effects) : say(answer, effects);
}

/** A tombstone stays, so that Status, a repeated Payd and a late payment are answered as before. The store empties its content [D66]. */
export function removeInvoice(c: Draft, { oid, isCallbackPending }: Of<'RemoveInvoice'>): Ruled {
  const invoice = c.invoices[oid];
  if (!invoice || invoice.removedAt !== null || isUnpaid(invoice) || isCallbackPending === true) return nothing;
  const isKept = allOps(c).some((op) => op.merchantId === invoice.merchantId && op.documentNr === oid && op.removedAt === null);
  if (isKept || orphansOf(c, invoice).some(({ isListed }) => isListed)) return nothing;
  invoice.removedAt = c.now;
  return changed();
}
