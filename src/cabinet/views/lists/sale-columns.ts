// Columns of a list of sales: whether the receipt of each payment was printed, and whether the ERP has the outcome. A few queries per page.
import { sql } from 'kysely';
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
  /** Undefined: of a payment that was not made. A receipt under its number belongs to another attempt. */
  receipt: (typeof receiptStates)[number] | undefined;
  receiptNumber: string | undefined;
  /** Undefined: it is not known whether the ERP has the outcome. */
  erp: (typeof erpStates)[number] | undefined;
}

const maxCallbacks = 2_000;
const erpOf = { delivered: 'notified', pending: 'waiting', dead: 'dead' } as const;

/**
 * Without a callback the ERP knows the outcome from the answer to its call, or from a later request if it lacked that answer. Whether it has
 * asked for the status is stored only of a payment without a number. Every call about a disputed payment is answered 3.
 */
function byAnswer(command: ListedCommand, later: LaterCalls | undefined): SaleColumns['erp'] {
  const { settledAtMs, outcomeReceivedAtMs } = command;
  if (settledAtMs === null) return 'waiting';
  if (command.standing === 'Disputed') return undefined;
  if (!later?.isMissed || outcomeReceivedAtMs !== null || later.isRepeated) return 'notified';
  return later.isNumbered ? undefined : 'waiting';
}

interface LaterCalls {
  /** Its caller lacked the outcome: it was answered 3, or has left. */
  isMissed: boolean;
  /** The call was repeated after the settlement. */
  isRepeated: boolean;
  isNumbered: boolean;
}

/** Of payments whose caller lacked the outcome, or that became known otherwise than by the device's answer. */
async function readLaterCalls(queries: Queries, payments: readonly ListedCommand[]): Promise<Map<string, LaterCalls>> {
  const ids = payments
    .filter(({ outcomeMissedAtMs, settledBy }) => outcomeMissedAtMs !== null || settledBy !== 'answer')
    .map(({ id }) => id);
  if (ids.length === 0) return new Map();
  const { rows } = await sql<{ id: string; missed: number; repeated: number; numbered: number }>`
    select c.id, case when c.outcome_missed_at is not null or exists (select 1 from command_events u
      where u.command_id = c.id and u.step = 'unknown') then 1 else 0 end as missed, case when c.request_hash is null then 1 else 0 end as numbered, case when exists (select 1 from command_events e
      where e.command_id = c.id and e.step = 'asked again' and e.at >= c.settled_at) then 1 else 0 end as repeated
    from commands c where c.id in (${sql.join(ids)})`.execute(queries);
  return new Map(
    rows.map(({ id, missed, repeated, numbered }) => [
      id,
      { isMissed: missed === 1, isRepeated: repeated === 1, isNumbered: numbered === 1 },
    ]),
  );
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
    const laterCalls = await readLaterCalls(queries, own);
    for (const payment of own) {
      const isNotMade = payment.standing === 'Refused' || payment.standing === 'Never';
      const printed = prints.filter(
        ({ document, paymentId }) =>
          !isNotMade && (paymentId === payment.id || (paymentId === undefined && document === payment.documentNr)),
      );
      const about = new Set([payment.id, payment.documentNr, ...printed.map(({ id }) => id)]);
      const notified = erpNotified(callbacks.filter(({ subjectId }) => about.has(subjectId)));
      const done = printed.find(({ isPrinted }) => isPrinted);
      columns.set(payment.id, {
        receipt: isNotMade ? undefined : done ? 'printed' : printed.length > 0 ? 'none' : 'notRequested',
        receiptNumber: done?.receiptId ?? undefined,
        erp: notified === undefined ? byAnswer(payment, laterCalls.get(payment.id)) : erpOf[notified],
      });
    }
  }
  return columns;
}
