// The page of an invoice, in the form of a sale: its states, its card payments, payments that it could not accept, and every callback attempt.
import { type SqlBool, sql } from 'kysely';
import type { Queries } from '../../../database/database.ts';
import { type State, stateNames } from '../../../invoices/rules.ts';
import { isStillOrphan, orphanReason, paidByCardToo } from '../../../invoices/store.ts';
import { readAttentionAbout } from '../figures/attention.ts';
import type { AttentionKind } from '../figures/attention-kinds.ts';
import { readListed } from '../lists/commands-list.ts';
import { type ListedInvoice, readListedInvoices } from '../lists/invoices-list.ts';
import type { Scope } from '../scope.ts';
import { type Text, text } from '../texts.ts';
import type { CoreView } from './core-view.ts';
import { type CallbackFacts, erpNotified, notifiedMarks } from './erp-notified.ts';
import { oldCore } from './old-core.ts';
import { readAborts, readAttempts, readCallbacks, readCommands, readInvoiceEvents } from './sale-facts.ts';
import { adviceOnCallbacks, adviceOnListed, type Mark } from './sale-outcome.ts';
import { itemsOf } from './sale-page.ts';
import { abortStep, callbackSteps, invoiceStep, relatedStep } from './sale-steps.ts';

export type InvoicePage = NonNullable<Awaited<ReturnType<typeof readInvoicePage>>>;

const maxOrphans = 100;

/** Undefined: no such invoice, or of another merchant. */
export async function readInvoicePage(queries: Queries, scope: Scope, oid: string, nowMs: number, core: CoreView = oldCore) {
  const [invoice] = await readListedInvoices(queries, scope, [oid]);
  if (!invoice) return undefined;
  const own: Scope = { merchantId: invoice.merchantId };
  const stored = await queries
    .selectFrom('invoices')
    .select(['receipt', 'qr_secret_id', 'preferred_device_id', 'callback_uri'])
    .where('oid', '=', oid)
    .executeTakeFirstOrThrow();
  const isUnderIt = sql<SqlBool>`c.merchant_id = ${invoice.merchantId} and c.document_nr is not null and c.document_nr = ${oid}`;
  const payments = await readCommands(queries, own, isUnderIt);
  const aborts = await readAborts(queries, own, isUnderIt);
  const listed = await readListed(
    queries,
    own,
    payments.map(({ id }) => id),
  );
  const orphans = await queries
    .selectFrom('orphan_payments as o')
    .select(['o.receipt_id as receiptId', 'o.device_id as deviceId', orphanReason.as('reason'), 'o.at as atMs'])
    .where('o.oid', '=', oid)
    .where(isStillOrphan)
    .orderBy('o.id')
    .limit(maxOrphans)
    .execute();
  const callbacks = await readCallbacks(queries, own, [oid]);
  const attempts = await readAttempts(queries, callbacks);
  const events = await readInvoiceEvents(queries, invoice);
  const rawReceipt = JSON.parse(stored.receipt) as unknown;
  const attention = await readAttentionAbout(queries, own, { commandIds: payments.map(({ id }) => id), oids: [oid] }, nowMs);
  const hasPayment = await core.hasPayment(queries, invoice);
  const timeline = [
    ...events.map(invoiceStep),
    ...payments.map(relatedStep),
    ...aborts.map(abortStep),
    ...callbackSteps(callbacks, attempts),
  ];
  return {
    invoice,
    qrSecretId: stored.qr_secret_id,
    preferredDeviceId: stored.preferred_device_id ?? undefined,
    callbackUri: stored.callback_uri ?? undefined,
    outcome: outcomeOfInvoice(invoice, orphans, hasPayment),
    advice: adviceOnInvoice(invoice, attention, callbacks, hasPayment),
    marks: marksOfInvoice(invoice, callbacks),
    receipt: { number: invoice.receiptId ?? undefined, items: itemsOf(rawReceipt), totalBani: invoice.amountBani ?? undefined },
    // As the ERP sent it.
    rawReceipt,
    payments: listed,
    orphans,
    callbacks,
    timeline: timeline.sort((one, other) => one.atMs - other.atMs),
    whyNotCancelled: core.cannotCancel ? await core.cannotCancel(invoice) : whyNotCancelled(invoice, hasPayment),
  };
}

const isUnpaid = ({ state }: Pick<ListedInvoice, 'state'>) => state === 0 || state === 1;

function whyNotCancelled({ state }: Pick<ListedInvoice, 'state'>, hasPayment: boolean): Text | undefined {
  if (isUnpaid({ state })) return hasPayment ? text('whyNot.invoice.payment') : undefined;
  return text(`whyNot.invoice.${stateNames[state as State]}`);
}

type Facts = Pick<ListedInvoice, 'state' | 'amountBani' | 'receiptId' | 'paidDeviceName' | 'createdAtMs' | 'endedAtMs'>;

function outcomeOfInvoice(invoice: Facts, orphans: readonly { reason: string }[], hasPayment: boolean): Text {
  const name = stateNames[invoice.state as State];
  // Money was taken that the invoice could not accept: this comes first, whatever the state.
  if (orphans.length > 0) {
    const isPaidTwice = orphans.every(({ reason }) => reason === paidByCardToo);
    return text(`outcome.invoice.${isPaidTwice ? 'paidTwice' : 'orphan'}`, { state: name, count: orphans.length });
  }
  // Nothing is to be scanned or paid any more.
  return text(`outcome.invoice.${isUnpaid(invoice) && hasPayment ? 'hasPayment' : name}`, {
    amount: invoice.amountBani === null ? undefined : invoice.amountBani / 100,
    device: invoice.paidDeviceName,
    receiptId: invoice.receiptId,
    spanMs: invoice.endedAtMs === null ? undefined : invoice.endedAtMs - invoice.createdAtMs,
  });
}

/** "Nothing to do" only if Attention lists neither the invoice nor a card payment for it. */
export function adviceOnInvoice(
  invoice: Pick<Facts, 'state'>,
  attention: readonly AttentionKind[],
  callbacks: readonly CallbackFacts[],
  hasPayment = false,
): Text {
  const listed = adviceOnListed(attention) ?? (attention.length > 0 ? text('advice.openPayment') : undefined);
  const onPayment = isUnpaid(invoice) && hasPayment ? text('advice.seePayment') : undefined;
  return listed ?? onPayment ?? adviceOnCallbacks(callbacks) ?? text(isUnpaid(invoice) ? 'advice.waitForCustomer' : 'advice.nothing');
}

const markStates: Record<State, Mark['state']> = { 0: 'waiting', 1: 'waiting', 2: 'good', 3: 'neutral', 4: 'neutral' };

export function marksOfInvoice(invoice: Pick<Facts, 'state'>, callbacks: readonly CallbackFacts[]): Mark[] {
  const marks: Mark[] = [{ key: `invoice.${stateNames[invoice.state as State]}`, state: markStates[invoice.state as State] }];
  const notified = erpNotified(callbacks);
  if (notified !== undefined) marks.push(notifiedMarks[notified]);
  return marks;
}
