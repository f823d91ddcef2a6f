// Payd: a device reports that the bank has confirmed the payment of a scanned invoice [D10, D22].
// The money was taken before this call, so a refused Payd is recorded in the invoice's history and on the orphan board; one for an invoice
// that the caller's merchant does not have, among the unmatched reports [D295].
// If the process dies before the commit, the invoice is still Scanned and the device repeats the call. After the commit, the repeat is
// answered 0 and sends no callback.
import type { Queries } from '../database/database.ts';
import { GatewayError, invalidRequest } from '../kernel/error-codes.ts';
import { parseUuid } from '../kernel/ids.ts';
import { type Asker, type InvoiceDeps, lookAndMove, move, oidOf, withCurrent } from './move.ts';
import type { Payment } from './move-batch.ts';
import type { InvoiceFacts, InvoiceForPayment } from './read-batch.ts';
import { checkReceiptId, checkText, judge, moveBy, refusal, type State, states } from './rules.ts';
import { insertEvent, insertOrphan, insertPaidByCardToo } from './store.ts';

const maxDeviceIdLength = 64;

type OrphanReason = 'device-not-registered' | 'other-device' | 'never-scanned' | 'paid-otherwise' | 'expired' | 'cancelled';

/** `isRepeat`: the result of the first try is unclear, so the invoice is read first. */
export async function payInvoice(deps: InvoiceDeps, qr: string, named: Payment, asker: Asker, isRepeat: boolean): Promise<void> {
  const oid = await oidOf(deps, qr);
  const payment = checkPayment(named);
  // The credential of a device stands for that device only; the ERP's key may name each of its own [D282].
  const isOtherDevice = asker.deviceId !== undefined && asker.hasKey !== true && asker.deviceId !== payment.deviceId;
  let first: InvoiceForPayment | undefined;
  if (!isRepeat && !isOtherDevice) {
    const { found, isMoved } = await lookAndMove(deps, qr, { oid, asker, transition: moveBy('pay'), payment, wantsReceipt: false });
    if (isMoved) return;
    first = found;
  }
  await withCurrent(
    deps,
    async () => {
      const found = await deps.reads.forPayment({ oid, merchantId: asker.merchantId }, payment.deviceId);
      // The QR is genuine, so the money was taken for an invoice of this service.
      if (!found) await deps.unmatched.keep({ kind: 'invoice', id: oid, merchantId: asker.merchantId, outcome: 'done', ...payment });
      return found;
    },
    async (invoice) => {
      const isSamePayment = invoice.receiptId === payment.receiptId && invoice.paidDeviceId === payment.deviceId;
      // With the ERP's key, too: DeviceID is the device that took the money, and another one took it a second time [D252].
      const isPaidDevice = invoice.payment?.deviceIds.includes(payment.deviceId) === true;
      const verdict = judge({ ...invoice, isSamePayment, isPayee: isPaidDevice }, 'pay');
      if (verdict.kind === 'stay') return true;
      if (isOtherDevice) {
        await writeOrphan(deps, invoice, payment, 'other-device', asker);
        throw invalidRequest('DeviceID must be the device of the credential; only a key may name another one.');
      }
      if (!invoice.isDeviceRegistered) {
        await writeOrphan(deps, invoice, payment, 'device-not-registered', asker);
        throw new GatewayError('Record_not_exist', 'No such device is registered with the merchant of this invoice.');
      }
      if (verdict.kind === 'refuse') {
        await writeOrphan(deps, invoice, payment, reasonOf(invoice.state), asker);
        throw refusal(invoice, 'pay');
      }
      // The customer may be charged by card, too: then this payment is listed [D186].
      const isElsewhereToo = invoice.payment?.deviceIds.some((id) => id !== payment.deviceId);
      const alongside = isElsewhereToo ? (queries: Queries) => insertPaidByCardToo(queries, invoice, payment) : undefined;
      return (await move(deps, invoice, verdict.transition, { by: asker.name }, { payment, alongside })) || undefined;
    },
    first,
  );
}

/** A DeviceID that is no UUID is kept with the refused payment. */
export function checkPayment({ receiptId, deviceId }: Payment): Payment {
  return {
    receiptId: checkReceiptId(receiptId),
    deviceId: parseUuid(deviceId) ?? checkText('DeviceID', deviceId, maxDeviceIdLength),
  };
}

function reasonOf(state: State): OrphanReason {
  if (state === states.newItem) return 'never-scanned';
  if (state === states.expired) return 'expired';
  if (state === states.cancelled) return 'cancelled';
  return 'paid-otherwise';
}

/** A repeat of a refused payment is refused again and recorded only once. If the board is full, the log records the payment. */
async function writeOrphan(deps: InvoiceDeps, invoice: InvoiceFacts, payment: Payment, reason: OrphanReason, asker: Asker): Promise<void> {
  const place = await deps.database.transaction(async (queries) => {
    const found = await insertOrphan(queries, invoice, payment, reason);
    if (found === 'new') await insertEvent(queries, invoice.oid, 'payment-refused', { by: asker.name, reason, ...payment });
    return found;
  });
  const facts = { oid: invoice.oid, merchantId: invoice.merchantId, deviceId: payment.deviceId, reason };
  if (place === 'new') deps.logger.warn(facts, 'a payment was refused: money was taken');
  if (place === 'full') deps.logger.error({ ...facts, ...payment }, 'a payment was refused, and the orphan board has no room for it');
}
