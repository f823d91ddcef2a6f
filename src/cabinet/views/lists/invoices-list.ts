// The list of invoices, newest first, and its text search.
import { type SqlBool, sql } from 'kysely';
import type { Queries } from '../../../database/database.ts';
import { ownedBy, type Scope } from '../scope.ts';
import { amountIn, beginsWith, idPrefixOf } from './command-lookup.ts';
import { subjectsOf, withoutLabel } from './search-terms.ts';
import { type Lookup, type PageWanted, type Walkable, walk } from './walk.ts';

export interface InvoiceFilter {
  state?: number | undefined;
  /** An OID or its beginning, a receipt's number, an amount. */
  q?: string | undefined;
  fromMs?: number | undefined;
  toMs?: number | undefined;
}

export type ListedInvoice = Awaited<ReturnType<typeof readListedInvoices>>[number];

const invoiceRows: Walkable = { table: sql`invoices i`, time: sql`i.created_at`, id: sql`i.oid` };

export async function listInvoices(queries: Queries, scope: Scope, filter: InvoiceFilter, page: PageWanted) {
  const walked = [
    ...(filter.fromMs === undefined ? [] : [sql<SqlBool>`i.created_at >= cast(${filter.fromMs} as bigint)`]),
    ...(filter.toMs === undefined ? [] : [sql<SqlBool>`i.created_at < cast(${filter.toMs} as bigint)`]),
  ];
  const sieve = [
    ...(filter.state === undefined ? [] : [sql<SqlBool>`i.state = ${sql.lit(filter.state)}`]),
    ...(filter.q === undefined ? [] : [ownedBy(scope, sql`i.merchant_id`)]),
  ];
  const { ids, next } = await walk(queries, invoiceRows, { sources: sourcesOf(scope, filter.q), walked, sieve }, page);
  return { invoices: await readListedInvoices(queries, scope, ids), next };
}

function sourcesOf(scope: Scope, q: string | undefined): Lookup[] {
  if (q === undefined) {
    return [
      { where: scope.merchantId === undefined ? sql<SqlBool>`true` : sql<SqlBool>`i.merchant_id = ${scope.merchantId}`, isOrdered: true },
    ];
  }
  const text = withoutLabel(q);
  const amount = amountIn(text);
  const prefix = idPrefixOf(text);
  return [
    { where: sql<SqlBool>`i.receipt_id is not null and i.receipt_id = ${text}`, isOrdered: true },
    ...(amount === undefined
      ? []
      : [{ where: sql<SqlBool>`i.amount_bani is not null and i.amount_bani = cast(${amount} as bigint)`, isOrdered: true }]),
    ...(prefix === undefined ? [] : [{ where: beginsWith(sql`i.oid`, prefix), isOrdered: false }]),
    ...subjectsOf(scope, 'invoice', text).map((ids) => ({ where: sql<SqlBool>`i.oid in ${ids}`, isOrdered: false })),
  ];
}

/** Newest first. */
export async function readListedInvoices(queries: Queries, scope: Scope, oids: readonly string[]) {
  if (oids.length === 0) return [];
  return await queries
    .selectFrom('invoices as i')
    .innerJoin('merchants as m', 'm.id', 'i.merchant_id')
    .leftJoin('devices as d', 'd.id', 'i.paid_device_id')
    .select(['i.oid', 'i.merchant_id as merchantId', 'm.name as merchantName', 'i.state', 'i.amount_bani as amountBani'])
    .select(['i.created_at as createdAtMs', 'i.valid_to as validToMs', 'i.scanned_at as scannedAtMs', 'i.ended_at as endedAtMs'])
    .select(['i.receipt_id as receiptId', 'i.paid_device_id as paidDeviceId', 'd.name as paidDeviceName', 'i.point_of_sales_code as shop'])
    .where('i.oid', 'in', [...oids])
    .where(ownedBy(scope, sql`i.merchant_id`))
    .orderBy(sql`i.created_at + 0`, 'desc')
    .orderBy('i.oid', 'desc')
    .execute();
}
