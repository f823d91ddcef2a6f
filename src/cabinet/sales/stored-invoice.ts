// An invoice as stored, for actions on it, and the orphan board: payments without an invoice that accepts them.
import type { Queries } from '../../database/database.ts';
import type { State } from '../../invoices/rules.ts';
import { isStillOrphan } from '../../invoices/store.ts';

export interface StoredInvoice {
  oid: string;
  merchantId: string;
  state: State;
  receipt: string;
  callbackUri: string | undefined;
  validToMs: number | undefined;
  pointOfSalesCode: string | undefined;
  preferredDeviceId: string | undefined;
  receiptId: string | undefined;
  paidDeviceId: string | undefined;
  createdAtMs: number;
  /** When its receipt and history were deleted by retention [D66]. */
  removedAtMs: number | undefined;
}

export async function readInvoice(queries: Queries, oid: string): Promise<StoredInvoice | undefined> {
  const row = await queries
    .selectFrom('invoices')
    .select(['oid', 'merchant_id', 'state', 'receipt', 'callback_uri', 'valid_to', 'point_of_sales_code', 'preferred_device_id'])
    .select(['receipt_id', 'paid_device_id', 'created_at', 'removed_at'])
    .where('oid', '=', oid)
    .executeTakeFirst();
  if (!row) return undefined;
  return {
    oid: row.oid,
    merchantId: row.merchant_id,
    state: row.state as State,
    receipt: row.receipt,
    callbackUri: row.callback_uri ?? undefined,
    validToMs: row.valid_to ?? undefined,
    pointOfSalesCode: row.point_of_sales_code ?? undefined,
    preferredDeviceId: row.preferred_device_id ?? undefined,
    receiptId: row.receipt_id ?? undefined,
    paidDeviceId: row.paid_device_id ?? undefined,
    createdAtMs: row.created_at,
    removedAtMs: row.removed_at ?? undefined,
  };
}

export interface Orphan {
  id: number;
  merchantId: string;
  oid: string;
  receiptId: string;
  deviceId: string;
  reason: string;
  atMs: number;
}

/** Newest first, without payments that their invoice accepted later. */
export async function listOrphans(queries: Queries, limit: number, merchantId?: string): Promise<Orphan[]> {
  let query = queries
    .selectFrom('orphan_payments as o')
    .select([
      'o.id',
      'o.merchant_id as merchantId',
      'o.oid',
      'o.receipt_id as receiptId',
      'o.device_id as deviceId',
      'o.reason',
      'o.at as atMs',
    ])
    .where(isStillOrphan)
    .orderBy('o.id', 'desc')
    .limit(limit);
  if (merchantId !== undefined) query = query.where('o.merchant_id', '=', merchantId);
  return await query.execute();
}
