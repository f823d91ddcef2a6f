// The audit log: who changed what. Each entry is written in the transaction of the change it tells about,
// so neither exists without the other. No key and no secret ever stands in an entry.
import { sql } from 'kysely';
import type { Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';

export interface AuditEntry {
  /** Who did it: 'admin', 'sandbox', a user of the cabinet, a device that paired. */
  actor: string;
  /** What was done, subject first: 'key.revoke', 'device.rename'. */
  action: string;
  /** The id of what it was done to. */
  subject: string;
  /** Whose users may read it besides the operators; absent: none. */
  merchantId?: string | undefined;
  detail?: Record<string, unknown>;
}

export interface AuditRecord {
  id: number;
  atMs: number;
  actor: string;
  action: string;
  subject: string;
  detail: Record<string, unknown>;
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
  /** Only entries older than this one: the last id of the page before. */
  beforeId?: number | undefined;
  limit: number;
}

/** Newest first. */
const maxSearched = 50_000;

export async function listAudit(queries: Queries, filter: AuditFilter): Promise<AuditRecord[]> {
  let query = queries
    .selectFrom('audit_log')
    .select(['id', 'at', 'actor', 'action', 'subject', 'detail'])
    .orderBy('id', 'desc')
    .limit(filter.limit);
  if (filter.actor !== undefined || filter.action !== undefined) {
    // No index knows these: they are looked for among the newest entries.
    query = query.where('id', '>', sql<number>`(select coalesce(max(a.id), 0) from audit_log a) - ${sql.lit(maxSearched)}`);
  }
  if (filter.actor !== undefined) query = query.where('actor', '=', filter.actor);
  if (filter.action !== undefined) query = query.where('action', '=', filter.action);
  if (filter.subject !== undefined) query = query.where('subject', '=', filter.subject);
  if (filter.merchantId !== undefined) query = query.where('merchant_id', '=', filter.merchantId);
  if (filter.beforeId !== undefined) query = query.where('id', '<', filter.beforeId);
  const rows = await query.execute();
  return rows.map((row) => ({
    id: row.id,
    atMs: row.at,
    actor: row.actor,
    action: row.action,
    subject: row.subject,
    detail: JSON.parse(row.detail) as Record<string, unknown>,
  }));
}
