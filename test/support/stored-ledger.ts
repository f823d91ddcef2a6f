// The rows of a ledger in memory (exploration/memory-store.ts), put into a database of either engine in place of what is there.
import { sql } from 'kysely';
import type { Surroundings } from '../../exploration/memory-load.ts';
import type { Ledger } from '../../exploration/memory-store.ts';
import { merchantId, now } from '../../exploration/world.ts';
import type { Values } from '../../src/database/commit-data.ts';
import type { Database, Queries } from '../../src/database/database.ts';
import type { Engine } from '../../src/database/dialect.ts';
import { nameKey } from '../../src/money/case.ts';
import { addedTables, commitTables } from '../../src/money/tables.ts';

/** What the rows refer to. */
export async function prepareForLedgers(queries: Queries, owner = merchantId): Promise<void> {
  await sql`insert into merchants (id, name, callback_secret, created_at) values (${owner}, 'Shop', 'c2VjcmV0', 1)`.execute(queries);
  await sql`insert into instances (id, host, pid, embedded, started_at, heartbeat_at) values ('gateway', 'h', 1, '', 1, ${now})`.execute(
    queries,
  );
}

export async function storeLedger(
  { engine, queries }: Pick<Database, 'engine' | 'queries'>,
  ledger: Ledger,
  { presence = {} }: Partial<Surroundings> = {},
  owner = merchantId,
): Promise<void> {
  await deleteAll(engine, queries, ['command_step_counts', ...Object.keys(commitTables).reverse(), 'devices']);
  const devices = Object.keys(ledger['device_locks'] ?? {}).map(
    (id): Values => ({ id, merchant_id: owner, kind: presence[nameKey(owner, id)]?.kind ?? 'terminal', name: 'D', created_at: 1 }),
  );
  await insert(queries, 'devices', devices);
  for (const [table, rows] of Object.entries(ledger)) {
    const all = Object.values(rows).map((row) => (table === 'commands' ? { ...row, instance_id: 'gateway' } : addedRow(table, row, owner)));
    await insert(queries, table, all);
  }
}

/** PostgreSQL does it in one statement, which is most of the time that a test takes that stores a thousand ledgers. */
async function deleteAll(engine: Engine, queries: Queries, tables: readonly string[]): Promise<void> {
  const deletes = tables.map((table) => sql`delete from ${sql.table(table)}`);
  if (engine === 'sqlite') for (const one of deletes) await one.execute(queries);
  else {
    const parts = deletes.map((one, at) => sql`${sql.ref(`d${at}`)} as (${one})`);
    await sql`with ${sql.join(parts)} select 1`.execute(queries);
  }
}

/** One statement for all rows that name the same columns. */
async function insert(queries: Queries, table: string, rows: readonly Values[]): Promise<void> {
  for (const some of Map.groupBy(rows, (row) => Object.keys(row).join()).values()) {
    const columns = Object.keys(some[0] ?? {});
    const values = some.map((row) => sql`(${sql.join(columns.map((column) => sql`${row[column]}`))})`);
    await sql`insert into ${sql.table(table)} (${sql.join(columns.map((column) => sql.ref(column)))}) values ${sql.join(values)}
      on conflict do nothing`.execute(queries);
  }
}

/** Rows that are only added are counted; the store in memory keeps them in a form of its own. */
let added = 0;
function addedRow(table: string, row: Values, owner: string): Values {
  added += 1;
  if (table === 'callbacks') return { ...callbackRow(row), merchant_id: owner, created_at: now, next_attempt_at: now };
  if (table === 'settlements') return { ...row, settled_at: added };
  if (table === 'printed_payments' || table === 'bank_operations') return row;
  return table in addedTables ? { ...row, at: now } : row;
}

export function callbackRow({ subject_kind = null, subject_id = null, sequence = null }: Values): Values {
  added += 1;
  const fixed = { url: 'http://erp/', host: 'erp', state: 'pending', attempts: 0 };
  return { id: `${added}`, merchant_id: merchantId, subject_kind, subject_id, sequence, ...fixed, created_at: null, next_attempt_at: null };
}
