// The orphan board: payments without an invoice that accepts them.
import type { Queries } from '../../database/database.ts';
import { isStillOrphan, orphanReason } from '../../invoices/store.ts';

/** Newest first, without payments that their invoice accepted later, unless it was paid by card, too. */
export async function listOrphans(queries: Queries, limit: number, merchantId?: string) {
  let query = queries
    .selectFrom('orphan_payments as o')
    .select([
      'o.id',
      'o.merchant_id as merchantId',
      'o.oid',
      'o.receipt_id as receiptId',
      'o.device_id as deviceId',
      orphanReason.as('reason'),
      'o.at as atMs',
    ])
    .where(isStillOrphan)
    .orderBy('o.id', 'desc')
    .limit(limit);
  if (merchantId !== undefined) query = query.where('o.merchant_id', '=', merchantId);
  return await query.execute();
}
