// The orphan board: payments without an invoice that accepts them, and for invoices that do not exist [D295].
import { sql } from 'kysely';
import type { Queries } from '../../database/database.ts';
import { isOpenReport } from '../../ledger/unmatched.ts';
import { moneySql } from '../views/money-sql.ts';

/**
 * Newest first, without payments that their invoice accepted later, unless it was paid by card, too. `kind` and `id` are those of a note
 * about it.
 */
export async function listOrphans(queries: Queries, limit: number, merchantId?: string) {
  const { isListed, reason } = moneySql().orphan;
  const refused = await queries
    .selectFrom('orphan_payments as o')
    .select([sql<'paydRefused'>`'paydRefused'`.as('kind'), 'o.id', 'o.merchant_id as merchantId', 'o.oid', 'o.receipt_id as receiptId'])
    .select(['o.device_id as deviceId', reason.as('reason'), 'o.at as atMs'])
    .where(isListed)
    .$if(merchantId !== undefined, (query) => query.where('o.merchant_id', '=', merchantId ?? ''))
    .orderBy('o.id', 'desc')
    .limit(limit)
    .execute();
  const unmatched = await queries
    .selectFrom('unmatched_reports as u')
    .select([sql<'unmatched'>`'unmatched'`.as('kind'), 'u.id', 'u.merchant_id as merchantId', 'u.subject_id as oid'])
    .select(['u.receipt_id as receiptId', 'u.device_id as deviceId', sql<string>`'unknown-invoice'`.as('reason'), 'u.at as atMs'])
    .where('u.subject_kind', '=', 'invoice')
    .where(isOpenReport)
    .$if(merchantId !== undefined, (query) => query.where('u.merchant_id', '=', merchantId ?? ''))
    .orderBy('u.id', 'desc')
    .limit(limit)
    .execute();
  return [...refused, ...unmatched].sort((one, other) => other.atMs - one.atMs).slice(0, limit);
}
