// Columns of a list of sales: whether the receipt of each payment was printed, and whether the ERP has the outcome. A few queries per page.
import { listCallbacksOf } from '../../../callbacks/delivery-log.ts';
import type { Queries } from '../../../database/database.ts';
import { operationOf } from '../../../kernel/operations.ts';
import { erpNotified } from '../sale/erp-notified.ts';
import type { ListedCommand } from './commands-list.ts';
import { readPrints } from './receipts-of-payments.ts';

/** none: a receipt was requested and not printed. */
export const receiptStates = ['printed', 'none', 'notRequested'] as const;
export const erpStates = ['notified', 'waiting', 'dead'] as const;

export interface SaleColumns {
  receipt: (typeof receiptStates)[number];
  receiptNumber: string | undefined;
  erp: (typeof erpStates)[number];
}

const maxCallbacks = 2_000;
const erpOf = { delivered: 'notified', pending: 'waiting', dead: 'dead' } as const;

/** Without a callback the ERP knows the outcome from the answer to its call, or from a later request if it gave that call up. */
function knowsByAnswer({ settledAtMs, outcomeMissedAtMs, outcomeReceivedAtMs }: ListedCommand): boolean {
  return settledAtMs !== null && (outcomeMissedAtMs === null || outcomeReceivedAtMs !== null);
}

export async function readSaleColumns(queries: Queries, commands: readonly ListedCommand[]): Promise<Map<string, SaleColumns>> {
  const columns = new Map<string, SaleColumns>();
  const payments = commands.filter(({ name }) => operationOf(name).isPayment);
  for (const merchantId of new Set(payments.map((payment) => payment.merchantId))) {
    const own = payments.filter((payment) => payment.merchantId === merchantId);
    const prints = await readPrints(queries, merchantId, own);
    // A payment under an invoice's OID belongs to that invoice, whose callbacks notify the ERP.
    const subjects = own.flatMap(({ id, documentNr }) => (documentNr === null ? [id] : [id, documentNr]));
    const callbacks = await listCallbacksOf(queries, merchantId, [...subjects, ...prints.map(({ id }) => id)], maxCallbacks);
    for (const payment of own) {
      const printed = prints.filter(
        ({ document, paymentId }) => paymentId === payment.id || (paymentId === undefined && document === payment.documentNr),
      );
      const about = new Set([payment.id, payment.documentNr, ...printed.map(({ id }) => id)]);
      const notified = erpNotified(callbacks.filter(({ subjectId }) => about.has(subjectId)));
      const done = printed.find(({ isPrinted }) => isPrinted);
      columns.set(payment.id, {
        receipt: done ? 'printed' : printed.length > 0 ? 'none' : 'notRequested',
        receiptNumber: done?.receiptId ?? undefined,
        erp: notified === undefined ? (knowsByAnswer(payment) ? 'notified' : 'waiting') : erpOf[notified],
      });
    }
  }
  return columns;
}
