// The receipts requested for card payments: linked by one document [D80], or by naming the payment [D146].
import { sql } from 'kysely';
import type { Queries } from '../../../database/database.ts';
import { kindConditions } from '../../../ledger/standing-sql.ts';
import { moneySql } from '../money-sql.ts';

export async function readPrints(queries: Queries, merchantId: string, payments: readonly { id: string; documentNr: string | null }[]) {
  if (payments.length === 0) return [];
  const documents = payments.flatMap(({ documentNr }) => (documentNr === null ? [] : [documentNr, documentNr.toUpperCase()]));
  const isDone = sql<number>`case when ${moneySql().of('c').done} then 1 else 0 end`.as('isDone');
  const columns = ['c.id', 'c.receipt_uid', 'c.receipt_id', isDone] as const;
  const byDocument =
    documents.length === 0
      ? []
      : await queries
          .selectFrom('commands as c')
          .select(columns)
          .where('c.merchant_id', '=', merchantId)
          .where('c.receipt_uid', 'is not', null)
          .where('c.receipt_uid', 'in', documents)
          .where(kindConditions('c').print)
          .execute();
  const byPayment = await queries
    .selectFrom(moneySql().receiptPayments.as('r'))
    .innerJoin('commands as c', 'c.id', 'r.print_id')
    .select([...columns, 'r.payment_id'])
    .where(
      'r.payment_id',
      'in',
      payments.map(({ id }) => id),
    )
    .execute();
  return [...byDocument.map((row) => ({ ...row, payment_id: undefined })), ...byPayment].map((row) => ({
    id: row.id,
    // In lower case; the ERP may have written its Uid in capitals.
    document: (row.receipt_uid ?? '').toLowerCase(),
    // Of a receipt that names its payment.
    paymentId: row.payment_id,
    isPrinted: row.isDone === 1,
    receiptId: row.receipt_id,
  }));
}
