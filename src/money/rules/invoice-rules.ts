// The states of an invoice [D19, D21, D22, D23, D142]: one table of transitions. States only move forward; three of the five are final.
import type { Case, Draft, Invoice, InvoiceEntry, InvoiceState, Op } from '../case.ts';
import type { Answer } from '../event.ts';
import { cannotApply } from './answers.ts';
import { stands } from './facts.ts';
import { chargesUnder } from './numbers.ts';

export const invoiceStatus: Readonly<Record<InvoiceState, number>> = { NewItem: 0, Scanned: 1, Payed: 2, Expired: 3, Cancelled: 4 };

/** `charge`: a card payment under its OID begins. */
export type Trigger = 'scan' | 'charge' | 'pay' | 'expire' | 'cancel';

/** From which states a trigger leads where; the same state: the call is answered and nothing changes. Absent: refused. */
const moves: Readonly<Record<Trigger, Partial<Record<InvoiceState, InvoiceState>>>> = {
  scan: { NewItem: 'Scanned', Scanned: 'Scanned' },
  charge: { NewItem: 'NewItem', Scanned: 'Scanned' },
  pay: { Scanned: 'Payed' },
  expire: { NewItem: 'Expired', Scanned: 'Expired' },
  cancel: { NewItem: 'Cancelled', Scanned: 'Cancelled' },
};

export const movedBy = (trigger: Trigger, { state }: Invoice): InvoiceState | undefined => moves[trigger][state];
export const isUnpaid = ({ state }: Invoice): boolean => state === 'NewItem' || state === 'Scanned';

/** Of an entry in the history: the caller, if known. */
export const byOf = ({ by }: { by?: string | undefined }): InvoiceEntry['detail'] => (by === undefined ? {} : { by });

/** The move with its entry in the history; notices.ts adds the callback. */
export function move(c: Draft, invoice: Invoice, state: InvoiceState, detail: InvoiceEntry['detail'] = {}): void {
  invoice.state = state;
  if (state === 'Scanned') invoice.scannedAt = c.now;
  else invoice.endedAt = c.now;
  c.added.history.push({ oid: invoice.oid, at: c.now, event: state, detail });
}

/** The card payments under its OID whose money the shop may have. With one, the invoice does not expire. */
export const standingPayments = (c: Case, { merchantId, oid }: Invoice): Op[] => chargesUnder(c, merchantId, oid).filter(stands);

export function isOverdue(c: Case, invoice: Invoice): boolean {
  if (!isUnpaid(invoice) || invoice.validTo === null || standingPayments(c, invoice).length > 0) return false;
  return invoice.validTo + (invoice.state === 'Scanned' ? c.scanGraceMs : 0) <= c.now;
}

/** The shop has the money of it, and its device does not contradict. */
export const isCertain = ({ standing }: Op): boolean => standing === 'Done' || standing === 'Closed';

export const cannotCharge = (c: Case, invoice: Invoice): Answer | undefined =>
  movedBy('charge', invoice) === undefined || isOverdue(c, invoice) ? refusal(c, invoice, 'charge', []) : undefined;

export function cannotCancel(c: Case, invoice: Invoice): Answer | undefined {
  const payments = standingPayments(c, invoice);
  const isRefused = payments.length > 0 || movedBy('cancel', invoice) === undefined || isOverdue(c, invoice);
  return isRefused ? refusal(c, invoice, 'cancel', payments) : undefined;
}

const sentences: Readonly<Record<Trigger, string>> = {
  scan: 'it can no longer be fetched',
  charge: 'no card payment can be made for it any more',
  pay: 'this payment cannot be applied to it',
  expire: 'it cannot expire',
  cancel: 'it can no longer be cancelled',
};
const adviceWithPayment: Partial<Record<Trigger, string>> = {
  cancel: 'it cannot be cancelled; stop or void the payment by CancelTransaction',
  pay: 'DeviceID must be the terminal that was paid; a payment at another device is a second one',
};

export function refusal(c: Case, invoice: Invoice, trigger: Trigger, payments: readonly Op[]): Answer {
  if (isUnpaid(invoice) && payments.length > 0) {
    const what = payments.some((op) => !isCertain(op))
      ? 'A card payment for this invoice was begun, and its outcome is not known yet'
      : 'This invoice was paid by card';
    return cannotApply(`${what}; ${adviceWithPayment[trigger] ?? sentences[trigger]}.`);
  }
  // The sweep may not have reached an overdue invoice yet.
  const name = isOverdue(c, invoice) ? 'Expired' : invoice.state;
  return cannotApply(`The invoice is ${name}; ${sentences[trigger]}.`);
}
