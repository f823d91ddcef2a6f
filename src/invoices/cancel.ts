// Cancelling an unpaid invoice: by its merchant in the cabinet, because its card payment was aborted or voided [D19], or by its ERP, which
// withdraws the QR [D142]. An invoice that has ended does not change, and one with an open, disputed or done card payment is not cancelled.
// The invoice is locked first, so it cannot change between check and commit.
// If the process dies before the commit, nothing has changed. After it, the invoice is Cancelled with its callback [D26], and a repeat of
// the ERP finds that.
import { claimKey } from '../access/idempotency.ts';
import type { Queries } from '../database/database.ts';
import type { GatewayError } from '../kernel/error-codes.ts';
import { parseUuid } from '../kernel/ids.ts';
import { otherRequestUnderKey } from '../ledger/calls/keyed-calls.ts';
import { type InvoiceDeps, type Judged, moveOf, readLocked, writeMove } from './move.ts';
import { type Move, wakeFor } from './move-batch.ts';
import { judge, refusal, type State, stateNames, states } from './rules.ts';
import { insertPaidByCardToo } from './store.ts';
import { onceMoreIfUnclear } from './unclear-commit.ts';

export interface Cancelling {
  isCancelled: boolean;
  /** Why it was not cancelled; undefined if the merchant has no such invoice (a documentNr may be any text). */
  refusal?: GatewayError;
}

/** In the caller's transaction, which settles the abort or writes the audit entry. Wake the callbacks after the commit. */
export async function cancelUnpaidInvoice(
  deps: InvoiceDeps,
  queries: Queries,
  oid: string,
  merchantId: string,
  reason: string,
): Promise<Cancelling> {
  const id = parseUuid(oid);
  const invoice = id === undefined ? undefined : await readLocked(deps, queries, { oid: id, merchantId });
  if (!invoice) return { isCancelled: false };
  const written = await cancel(deps, queries, invoice, { reason });
  return written ? { isCancelled: true } : { isCancelled: false, refusal: refusal(invoice, 'cancel') };
}

interface CardPayment {
  merchantId: string;
  deviceId: string;
}

/**
 * How the invoice of this card payment has ended without it; undefined: with it, or not at all, or the merchant has no such invoice.
 * If it was paid by another payment, that one is listed as the second [D186].
 */
export async function endWithout(queries: Queries, oid: string, card: CardPayment): Promise<string | undefined> {
  const { merchantId, deviceId } = card;
  const row = await findEnded(queries, oid, card);
  if (!row || row.paid_device_id === deviceId) return undefined;
  const state = stateNames[row.state as State];
  if (row.receipt_id === null || row.paid_device_id === null) return state;
  await insertPaidByCardToo(queries, { oid, merchantId }, { receiptId: row.receipt_id, deviceId: row.paid_device_id });
  return `${state} by another payment`;
}

/** Whether the invoice of this card payment was completed by a Payd that names its terminal. */
export async function wasPaidAt(queries: Queries, oid: string, card: CardPayment): Promise<boolean> {
  return (await findEnded(queries, oid, card))?.paid_device_id === card.deviceId;
}

function findEnded(queries: Queries, oid: string, { merchantId }: CardPayment) {
  const invoice = queries.selectFrom('invoices').select(['state', 'receipt_id', 'paid_device_id']).where('oid', '=', oid);
  return invoice.where('merchant_id', '=', merchantId).where('ended_at', 'is not', null).executeTakeFirst();
}

export interface WithdrawRequest {
  oid: string;
  merchantId: string;
  /** For the invoice's history. */
  by: string | undefined;
  idempotency?: { key: string; requestHash: string } | undefined;
}

/**
 * The state before the cancellation, also if the invoice was cancelled before. 22 if it is paid or has expired. 'held': it has a card
 * payment, and the caller has to decide about that. Undefined: the merchant has no such invoice.
 */
export async function withdrawInvoice(deps: InvoiceDeps, request: WithdrawRequest): Promise<State | 'held' | undefined> {
  const { oid, merchantId, by, idempotency } = request;
  let written: Move | undefined;
  const previous = await onceMoreIfUnclear(() =>
    deps.database.transaction(async (queries) => {
      const invoice = await readLocked(deps, queries, { oid, merchantId });
      if (!invoice) return undefined;
      if (invoice.payment) return 'held' as const;
      if (idempotency) {
        const claimed = await claimKey(queries, { merchantId, ...idempotency, subjectKind: 'invoice', subjectId: oid });
        if (claimed.kind === 'other') throw otherRequestUnderKey();
      }
      if (invoice.state === states.cancelled) return invoice.wasScanned ? states.scanned : states.newItem;
      written = await cancel(deps, queries, invoice, { by, reason: 'Withdrawn by the ERP.' });
      if (!written) throw refusal(invoice, 'cancel');
      return invoice.state;
    }),
  );
  if (written) wakeFor(deps.callbacks, [written], [true]);
  return previous;
}

/** Undefined: it can no longer be cancelled. */
async function cancel(deps: InvoiceDeps, queries: Queries, invoice: Judged, detail: object): Promise<Move | undefined> {
  // An overdue invoice is left to the sweep: it can no longer be paid anyway.
  const verdict = judge(invoice, 'cancel');
  if (verdict.kind !== 'move') return undefined;
  const written = moveOf(deps, invoice, verdict.transition, detail);
  return (await writeMove(deps, queries, written)) ? written : undefined;
}
