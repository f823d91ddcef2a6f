// The audit log: who changed what. Each entry is written in the transaction of its change, so neither exists without the other.
// An entry never contains a key or a secret.
import { sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';

export interface AuditEntry {
  /** 'admin', 'sandbox', a user of the cabinet, or a device that paired. */
  actor: string;
  /** Kind of subject, then the change: 'key.revoke', 'device.rename'. */
  action: string;
  /** The id of the changed object. */
  subject: string;
  /** The merchant whose users may read the entry; absent: only operators may. */
  merchantId?: string | null | undefined;
  detail?: Record<string, unknown>;
}

export async function writeAudit(queries: Queries, entry: AuditEntry): Promise<void> {
  await queries
    .insertInto('audit_log')
    .values({
      at: nowMs,
      actor: entry.actor,
      action: entry.action,
      subject: entry.subject,
      detail: JSON.stringify(entry.detail ?? {}),
      merchant_id: entry.merchantId ?? null,
    })
    .execute();
}

export interface AuditFilter {
  actor?: string | undefined;
  action?: string | undefined;
  subject?: string | undefined;
  merchantId?: string | undefined;
  /** Only entries older than this one: the last id of the previous page. */
  beforeId?: number | undefined;
  limit: number;
}

const maxSearched = 50_000;

/** Newest first. */
export async function listAudit(queries: Queries, filter: AuditFilter) {
  let query = queries
    .selectFrom('audit_log')
    .select(['id', 'at as atMs', 'actor', 'action', 'subject', 'detail'])
    .orderBy('id', 'desc')
    .limit(filter.limit);
  if (filter.actor !== undefined || filter.action !== undefined) {
    // These columns have no index, so only the newest entries are searched.
    query = query.where('id', '>', sql<number>`(select coalesce(max(a.id), 0) from audit_log a) - ${sql.lit(maxSearched)}`);
  }
  if (filter.actor !== undefined) query = query.where('actor', '=', filter.actor);
  if (filter.action !== undefined) query = query.where('action', '=', filter.action);
  if (filter.subject !== undefined) query = query.where('subject', '=', filter.subject);
  if (filter.merchantId !== undefined) query = query.where('merchant_id', '=', filter.merchantId);
  if (filter.beforeId !== undefined) query = query.where('id', '<', filter.beforeId);
  const rows = await query.execute();
  return rows.map((row) => ({ ...row, detail: JSON.parse(row.detail) as Record<string, unknown> }));
}
