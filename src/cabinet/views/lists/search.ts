// One box for every id: commands, invoices, devices and callbacks that a text may mean, the newest first.
// Each reading of the text is a look into one index, and gives a few results.
import { type SqlBool, sql } from 'kysely';
import type { Queries } from '../../../database/database.ts';
import { parseUuid } from '../../../kernel/ids.ts';
import { baniToLei } from '../../../kernel/money.ts';
import { ownedBy, type Scope } from '../scope.ts';
import { shownStateOf } from '../shown-state.ts';
import { type Text, text } from '../texts.ts';
import { beginsWith, idPrefixOf } from './command-lookup.ts';
import { listCommands } from './commands-list.ts';

export interface SearchResult {
  kind: 'command' | 'invoice' | 'device' | 'callback';
  id: string;
  title: Text;
  atMs: number;
  amount?: number | undefined;
}

const maxOfEach = 10;

export async function search(queries: Queries, scope: Scope, q: string): Promise<SearchResult[]> {
  const words = q.trim();
  const found = await Promise.all([
    findCommands(queries, scope, words),
    findInvoices(queries, scope, words),
    findDevices(queries, scope, words),
    findCallbacks(queries, scope, words),
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
      state: shownStateOf({ ...command, isInReview: command.reviewSinceMs !== null }),
      device: command.deviceName,
      documentNr: command.documentNr,
      rrn: command.rrn,
      receiptId: command.receiptId,
    }),
    atMs: command.issuedAtMs,
    amount: command.amountBani === null ? undefined : baniToLei(command.amountBani),
  }));
}

async function findInvoices(queries: Queries, scope: Scope, q: string): Promise<SearchResult[]> {
  const prefix = idPrefixOf(q);
  const byReceipt = queries
    .selectFrom('invoices as i')
    .select(['i.oid', 'i.state', 'i.receipt_id', 'i.created_at', 'i.amount_bani'])
    .where('i.receipt_id', '=', q)
    .where(ownedBy(scope, sql`i.merchant_id`))
    .orderBy('i.created_at', 'desc')
    .limit(maxOfEach);
  const rows = await byReceipt.execute();
  if (prefix !== undefined) {
    rows.push(
      ...(await queries
        .selectFrom('invoices as i')
        .select(['i.oid', 'i.state', 'i.receipt_id', 'i.created_at', 'i.amount_bani'])
        .where(beginsWith(sql`i.oid`, prefix))
        .where(ownedBy(scope, sql`i.merchant_id`))
        .limit(maxOfEach)
        .execute()),
    );
  }
  return rows.map((row) => ({
    kind: 'invoice',
    id: row.oid,
    title: text('search.invoice', { state: row.state, receiptId: row.receipt_id }),
    atMs: row.created_at,
    amount: row.amount_bani === null ? undefined : baniToLei(row.amount_bani),
  }));
}

/** By name or id. A merchant's devices are few, an operator's some thousand: their table is small. */
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
