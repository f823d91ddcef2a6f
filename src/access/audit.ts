// The audit log: who changed what. Each entry is written in the transaction of its change, so neither exists without the other.
// An entry never contains a key or a secret.
import { type SqlBool, sql } from 'kysely';
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

/** Its columns but the time. */
export function auditRow({ actor, action, subject, detail = {}, merchantId = null }: AuditEntry) {
  return { actor, action, subject, detail: JSON.stringify(detail), merchant_id: merchantId };
}

export async function writeAudit(queries: Queries, entry: AuditEntry): Promise<void> {
  await queries
    .insertInto('audit_log')
    .values({ at: nowMs, ...auditRow(entry) })
    .execute();
}

export interface AuditFilter {
  actor?: string | undefined;
  action?: string | undefined;
  subject?: string | undefined;
  merchantId?: string | undefined;
  /** For a merchant's user, who sees operators without their address: a filter must not confirm one either. */
  hidesOperators?: boolean | undefined;
  /** Only entries older than this one: the last id of the previous page. */
  beforeId?: number | undefined;
  limit: number;
}

const maxSearched = 50_000;

/** The address of an operator in a name of people/session-keeper.ts. No name or e-mail contains < or >. */
const operatorAddress = / <[^<>]*>, operator/g;

/** For a merchant's user: the names of operators without their addresses, wherever they stand in the text. */
export function hideOperators(text: string): string {
  return text.includes('>, operator') ? text.replaceAll(operatorAddress, ', operator') : text;
}

function isBy(actor: string, hidesOperators: boolean) {
  const name = hidesOperators ? /^(.*), operator$/s.exec(actor)?.[1] : undefined;
  if (name === undefined) return sql<SqlBool>`actor = ${actor}`;
  return sql<SqlBool>`actor like ${`${name.replaceAll(/[\\%_]/g, '\\$&')} <%>, operator`} escape '\\'`;
}

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
  if (filter.actor !== undefined) query = query.where(isBy(filter.actor, filter.hidesOperators === true));
  if (filter.action !== undefined) query = query.where('action', '=', filter.action);
  if (filter.subject !== undefined) query = query.where('subject', '=', filter.subject);
  if (filter.merchantId !== undefined) query = query.where('merchant_id', '=', filter.merchantId);
  if (filter.beforeId !== undefined) query = query.where('id', '<', filter.beforeId);
  const rows = await query.execute();
  return rows.map((row) => ({ ...row, detail: JSON.parse(row.detail) as Record<string, unknown> }));
}
