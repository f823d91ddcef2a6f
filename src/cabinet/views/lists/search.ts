// The search box: commands, invoices, devices and callbacks that match a text, newest first.
// Each interpretation of the text reads one index and returns a few results.
import { type SqlBool, sql } from 'kysely';
import type { Queries } from '../../../database/database.ts';
import { parseUuid } from '../../../kernel/ids.ts';
import { baniToLei } from '../../../kernel/money.ts';
import { ownedBy, type Scope } from '../scope.ts';
import { type Text, text } from '../texts.ts';
import { beginsWith, idPrefixOf } from './command-lookup.ts';
import { listCommands } from './commands-list.ts';
import { listInvoices } from './invoices-list.ts';
import { withoutLabel } from './search-terms.ts';

export interface SearchResult {
  kind: 'command' | 'invoice' | 'device' | 'callback';
  id: string;
  title: Text;
  atMs: number;
  amount?: number | undefined;
  shop?: string | undefined;
}

const maxOfEach = 10;

export async function search(queries: Queries, scope: Scope, q: string): Promise<SearchResult[]> {
  const words = q.trim();
  const found = await Promise.all([
    findCommands(queries, scope, words),
    findInvoices(queries, scope, words),
    findDevices(queries, scope, words),
    findCallbacks(queries, scope, withoutLabel(words)),
  ]);
  return found.flat();
}

async function findCommands(queries: Queries, scope: Scope, q: string): Promise<SearchResult[]> {
  const { commands } = await listCommands(queries, scope, { q }, { limit: maxOfEach });
  return commands.map((command) => ({
    kind: 'command',
    id: command.id,
    title: text('search.command', {
      name: command.name,
      state: command.shownState,
      device: command.deviceName,
      documentNr: command.documentNr,
      rrn: command.rrn,
      receiptId: command.receiptId,
    }),
    atMs: command.issuedAtMs,
    amount: command.amountBani === null ? undefined : baniToLei(command.amountBani),
    shop: command.shop ?? undefined,
  }));
}

async function findInvoices(queries: Queries, scope: Scope, q: string): Promise<SearchResult[]> {
  const { invoices } = await listInvoices(queries, scope, { q }, { limit: maxOfEach });
  return invoices.map((invoice) => ({
    kind: 'invoice',
    id: invoice.oid,
    title: text('search.invoice', { state: invoice.state, receiptId: invoice.receiptId }),
    atMs: invoice.createdAtMs,
    amount: invoice.amountBani === null ? undefined : baniToLei(invoice.amountBani),
    shop: invoice.shop ?? undefined,
  }));
}

/** By name or id, without an index: there are at most some thousand devices. */
async function findDevices(queries: Queries, scope: Scope, q: string): Promise<SearchResult[]> {
  const words = q.toLowerCase();
  const rows = await queries
    .selectFrom('devices as d')
    .select(['d.id', 'd.name', 'd.kind', 'd.point_of_sales_code', 'd.created_at'])
    .$if(scope.merchantId !== undefined, (query) => query.where('d.merchant_id', '=', scope.merchantId ?? ''))
    .where((row) =>
      row.or([
        sql<SqlBool>`lower(d.name) like ${`%${words.replaceAll(/[\\%_]/g, '\\$&')}%`} escape '\\'`,
        row('d.id', '=', words),
        sql<SqlBool>`substr(d.id, 1, 8) = ${words}`,
        row('d.point_of_sales_code', '=', q),
      ]),
    )
    .orderBy('d.name')
    .limit(maxOfEach)
    .execute();
  return rows.map((row) => ({
    kind: 'device',
    id: row.id,
    title: text('search.device', { name: row.name, kind: row.kind, shop: row.point_of_sales_code }),
    atMs: row.created_at,
  }));
}

async function findCallbacks(queries: Queries, scope: Scope, q: string): Promise<SearchResult[]> {
  const id = parseUuid(q);
  const prefix = idPrefixOf(q);
  if (prefix === undefined) return [];
  const rows = await queries
    .selectFrom('callbacks as k')
    .select(['k.id', 'k.state', 'k.host', 'k.subject_kind', 'k.subject_id', 'k.created_at'])
    .where(ownedBy(scope, sql`k.merchant_id`))
    .where(id === undefined ? beginsWith(sql`k.id`, prefix) : sql<SqlBool>`(k.id = ${id} or k.subject_id = ${id})`)
    .limit(maxOfEach)
    .execute();
  return rows.map((row) => ({
    kind: 'callback',
    id: row.id,
    title: text('search.callback', { state: row.state, host: row.host, subjectKind: row.subject_kind }),
    atMs: row.created_at,
  }));
}
