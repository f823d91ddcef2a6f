// Removes ended invoices after the retention time [D66]. The receipt, the callback address and the history are deleted; the row stays as a
// tombstone: merchant, state, payment, the receipt's Number and Uid, and the hash of the receipt. So Status stays correct, a repeated Payd
// is still answered 0, and a late payment still finds the invoice and goes on the orphan board.
//
// One transaction per invoice: if the process dies before the commit, the invoice is complete; after it, a tombstone.
// A second removal finds `removed_at` and changes nothing.
import { createHash } from 'node:crypto';
import { type ExpressionBuilder, sql } from 'kysely';
import type { Database, Queries } from '../database/database.ts';
import { lockRows, nowMs } from '../database/dialect.ts';
import type { Schema } from '../database/schema.ts';
import { isStillOrphan } from '../invoices/store.ts';
import { pagesBy, type Removable } from './page.ts';

export const removableInvoices: Removable = {
  what: 'invoices',
  page: pagesBy('invoices', 'ended_at', 'oid', { isCandidate: sql`removed_at is null` }),
  filter: stillRemovable,
  remove,
};

async function stillRemovable(queries: Queries, oids: readonly string[]): Promise<string[]> {
  const rows = await queries
    .selectFrom('invoices as i')
    .select('i.oid')
    .where('i.oid', 'in', oids)
    .where('i.removed_at', 'is', null)
    .where('i.ended_at', 'is not', null)
    .where(({ not, exists }) => not(exists(pendingCallback)))
    .where(({ not, exists }) => not(exists(keptCommand)))
    .where(({ not, exists }) => not(exists(orphan)))
    .execute();
  return rows.map(({ oid }) => oid);
}

type OfInvoice = ExpressionBuilder<Schema & { i: Schema['invoices'] }, 'i'>;

function pendingCallback({ selectFrom }: OfInvoice) {
  return selectFrom('callbacks')
    .select('callbacks.id')
    .whereRef('callbacks.subject_id', '=', 'i.oid')
    .where('callbacks.state', '=', 'pending');
}

/** [D19] Its card payment, or an operation on that. */
function keptCommand({ selectFrom }: OfInvoice) {
  return selectFrom('commands')
    .select('commands.id')
    .whereRef('commands.merchant_id', '=', 'i.merchant_id')
    .whereRef('commands.document_nr', '=', 'i.oid')
    .where('commands.removed_at', 'is', null);
}

/** A payment that this invoice could not accept: the operator needs the whole history to resolve it. */
function orphan({ selectFrom }: OfInvoice) {
  return selectFrom('orphan_payments as o').select('o.id').whereRef('o.oid', '=', 'i.oid').where(isStillOrphan);
}

async function remove({ engine, transaction }: Database, oid: string): Promise<boolean> {
  return await transaction(async (queries) => {
    // Locks first, in a separate statement: a refused payment that is being written for this invoice has the lock, too.
    const invoice = await lockRows(engine, queries.selectFrom('invoices').select('receipt').where('oid', '=', oid)).executeTakeFirst();
    if (!invoice || (await stillRemovable(queries, [oid])).length === 0) return false;
    await queries.deleteFrom('invoice_events').where('oid', '=', oid).execute();
    await queries.deleteFrom('search_terms').where('subject_id', '=', oid).execute();
    await queries
      .updateTable('invoices')
      .set({
        removed_at: nowMs,
        receipt: namesOf(invoice.receipt),
        content_hash: createHash('sha256').update(invoice.receipt).digest('hex'),
        callback_uri: null,
        point_of_sales_code: null,
        preferred_device_id: null,
      })
      .where('oid', '=', oid)
      .execute();
    return true;
  });
}

/** Number and Uid of the receipt; their length was checked when it was accepted. */
function namesOf(receipt: string): string {
  const { Number: number, Uid: uid } = JSON.parse(receipt) as { Number?: unknown; Uid?: unknown };
  return JSON.stringify({ Number: number ?? undefined, Uid: uid ?? undefined });
}
