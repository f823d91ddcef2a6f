// QR Mode: Get, Payd, Status, the end of an invoice's validity, and its cancellation by its merchant [D21 to D23, D142].
import type { Draft, Invoice, InvoiceState, Op, OrphanReason } from '../case.ts';
import { nameKey } from '../case.ts';
import type { AnswerFields, InvoiceEvent } from '../event.ts';
import { done, invalid, unknownRecord } from './answers.ts';
import { cannotCancel, invoiceStatus, isCertain, isOverdue, isUnpaid, movedBy, refusal, standingPayments } from './invoice-rules.ts';
import { changed, nothing, type Ruled, relyOn, say } from './ruled.ts';

type Of<Type extends InvoiceEvent['type']> = Extract<InvoiceEvent, { type: Type }>;

/** The same for a missing invoice and for one of another merchant [D11]. */
const noSuchInvoice = unknownRecord('There is no invoice with this QR.');

const invoiceOf = (c: Draft, { oid, merchantId }: { oid: string; merchantId: string | undefined }): Invoice | undefined => {
  const invoice = c.invoices[oid];
  return merchantId === undefined || invoice?.merchantId === merchantId ? invoice : undefined;
};

const fieldsOf = (invoice: Invoice): AnswerFields => ({ Status: invoiceStatus[invoice.state], ReceiptID: invoice.receiptId ?? '' });

/** An overdue invoice becomes Expired by whatever event meets it first. */
function expireIfOverdue(c: Draft, invoice: Invoice): boolean {
  if (!isOverdue(c, invoice)) return false;
  move(c, invoice, 'Expired');
  return true;
}

function move(c: Draft, invoice: Invoice, state: InvoiceState): void {
  invoice.state = state;
  if (state === 'Scanned') invoice.scannedAt = c.now;
  else invoice.endedAt = c.now;
  relyOn(c, 'invoices', invoice.oid);
}

const moved = (answer: Ruled['answer']): Ruled => ({ ...changed(), ...(answer ? { answer } : {}) });

/** Once there is a card payment, only the device that was paid and the ERP get the receipt, and no device while it is in doubt [D142]. */
export function get(c: Draft, event: Of<'Get'>): Ruled {
  const invoice = invoiceOf(c, event);
  if (!invoice) return say(noSuchInvoice);
  if (expireIfOverdue(c, invoice)) return moved(refusal(c, invoice, 'scan', []));
  const payments = standingPayments(c, invoice);
  const isPayee = event.hasKey === true || payments.some(({ deviceId }) => deviceId === event.asDevice);
  const to = movedBy('scan', invoice);
  if (to === undefined || payments.some((op) => !isCertain(op)) || (payments.length > 0 && !isPayee))
    return say(refusal(c, invoice, 'scan', payments));
  if (to === invoice.state) return say(done(fieldsOf(invoice)));
  move(c, invoice, to);
  return moved(done(fieldsOf(invoice)));
}

export function invoiceStatusOf(c: Draft, event: Of<'InvoiceStatus'>): Ruled {
  const invoice = invoiceOf(c, event);
  if (!invoice) return say(noSuchInvoice);
  return expireIfOverdue(c, invoice) ? moved(done(fieldsOf(invoice))) : say(done(fieldsOf(invoice)));
}

export function expire(c: Draft, { oid }: Of<'Expire'>): Ruled {
  const invoice = c.invoices[oid];
  return invoice && expireIfOverdue(c, invoice) ? moved(undefined) : nothing;
}

export function cancelInvoice(c: Draft, event: Of<'CancelInvoice'>): Ruled {
  const invoice = invoiceOf(c, event);
  if (!invoice) return say(noSuchInvoice);
  const why = cannotCancel(c, invoice);
  if (why) return say(why);
  move(c, invoice, 'Cancelled');
  return moved(done(fieldsOf(invoice)));
}

/** The money was taken before this call, so a refused Payd is kept as an orphan. */
export function payd(c: Draft, event: Of<'Payd'>): Ruled {
  const invoice = invoiceOf(c, event);
  const { oid, receiptId, deviceId, asDevice, hasKey } = event;
  if (!invoice) return say(noSuchInvoice, [{ type: 'unmatched', oid, receiptId, deviceId }]);
  if (invoice.state === 'Payed' && invoice.receiptId === receiptId && invoice.paidDeviceId === deviceId)
    return say(done(fieldsOf(invoice)));
  // The credential of a device stands for that device only; the ERP's key may name each of its own [D282].
  if (asDevice !== undefined && hasKey !== true && asDevice !== deviceId)
    return kept(c, event, 'other-device', invalid('DeviceID must be the device of the credential; only a key may name another one.'));
  if (!c.presence[nameKey(invoice.merchantId, deviceId)])
    return kept(c, event, 'device-not-registered', unknownRecord('No such device is registered with the merchant of this invoice.'));
  if (expireIfOverdue(c, invoice)) return { ...kept(c, event, 'expired', refusal(c, invoice, 'pay', [])), changes: true };
  const payments = standingPayments(c, invoice);
  const refused = cannotBePaidBy(invoice, payments, deviceId);
  if (refused) return kept(c, event, reasonOf(invoice), refusal(c, invoice, 'pay', payments));
  move(c, invoice, 'Payed');
  invoice.receiptId = receiptId;
  invoice.paidDeviceId = deviceId;
  sold(c, invoice, deviceId);
  // The customer may be charged by card, too: then this payment is listed [D186].
  if (payments.some((op) => op.deviceId !== deviceId)) keep(c, event, 'paid-by-card-too');
  return moved(done(fieldsOf(invoice)));
}

/** A card payment that is certain excludes a second payment; Payd on its own device only completes it [D252]. */
function cannotBePaidBy(invoice: Invoice, payments: readonly Op[], deviceId: string): boolean {
  const isPaidDevice = payments.some((op) => op.deviceId === deviceId);
  return movedBy('pay', invoice) === undefined || (payments.some(isCertain) && !isPaidDevice);
}

/** A QR sale on a device counts among what the next close of its day includes [D149, D307]. */
function sold(c: Draft, { oid }: Invoice, deviceId: string): void {
  const device = c.devices[deviceId];
  if (!device) return;
  device.lastSaleId = oid;
  relyOn(c, 'devices', deviceId);
}

function reasonOf(invoice: Invoice): OrphanReason {
  if (invoice.state === 'NewItem') return 'never-scanned';
  if (invoice.state === 'Expired') return 'expired';
  return invoice.state === 'Cancelled' ? 'cancelled' : 'paid-otherwise';
}

/** A holder of the QR can send any number of receipt ids. */
const maxOrphans = 100;
const orphanKey = ({ oid, receiptId, deviceId }: { oid: string; receiptId: string; deviceId: string }) => `${oid} ${receiptId} ${deviceId}`;

function keep(c: Draft, event: Of<'Payd'>, reason: OrphanReason): boolean {
  const { oid, receiptId, deviceId } = event;
  if (c.orphans[orphanKey(event)] !== undefined) return false;
  if (reason !== 'paid-by-card-too' && Object.keys(c.orphans).length >= maxOrphans) return false;
  c.added.orphans.push({ oid, receiptId, deviceId, reason });
  return true;
}

function kept(c: Draft, event: Of<'Payd'>, reason: OrphanReason, answer: Ruled['answer']): Ruled {
  const isNew = keep(c, event, reason);
  return isNew ? moved(answer) : { ...(answer ? { answer } : {}), effects: [] };
}

/** An invoice that was paid by QR, while a card payment under its OID stands or comes back on another device, was paid twice [D186]. */
export function listPaidTwice(c: Draft): void {
  for (const invoice of Object.values(c.invoices)) {
    const { oid, receiptId, paidDeviceId, merchantId } = invoice;
    if (isUnpaid(invoice) || receiptId === null || paidDeviceId === null || !c.names[nameKey(merchantId, oid)]) continue;
    if (!standingPayments(c, invoice).some((op) => op.deviceId !== paidDeviceId)) continue;
    const orphan = { oid, receiptId, deviceId: paidDeviceId };
    const isListed = c.orphans[orphanKey(orphan)] !== undefined || c.added.orphans.some((one) => orphanKey(one) === orphanKey(orphan));
    if (!isListed) c.added.orphans.push({ ...orphan, reason: 'paid-by-card-too' });
  }
}
