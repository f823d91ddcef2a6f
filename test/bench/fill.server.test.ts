// The quick way into bare tables ends with the same rows, indexes and constraints as the slow one.
import { Client } from 'pg';
import { expect, it } from 'vitest';
import { fill } from '../../scripts/cabinet-load/fill.ts';
import { openDatabase } from '../../src/database/open.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { createDatabase } from '../support/create-database.ts';
import { quietLogger } from '../support/quiet-logger.ts';

const tables = ['commands', 'command_events', 'invoices', 'invoice_events', 'callbacks', 'callback_attempts'];

async function filled(way: 'bare' | 'by the gateway') {
  const url = await createDatabase(process.env['TILLGATE_TEST_POSTGRES_URL'] ?? '');
  const database = await openDatabase({ url, role: 'gateway', clock: systemClock, logger: quietLogger });
  await fill(database, 1_000, Date.UTC(2026, 10, 1), { invoices: 300, callbacks: 200, bareUrl: way === 'bare' ? url : undefined });
  await database.close();
  const client = new Client({ connectionString: url });
  await client.connect();
  const rows: Record<string, unknown> = {};
  for (const table of tables) {
    const text = `select count(*)::int as count, md5(string_agg(t::text, ' ' order by t::text)) as hash from ${table} as t`;
    rows[table] = (await client.query(text)).rows[0];
  }
  const indexes = await client.query(`select indexdef from pg_indexes where schemaname = 'public' order by indexdef`);
  const constraints = await client.query(
    `select conrelid::regclass::text, conname, contype, convalidated, pg_get_constraintdef(oid) as text from pg_constraint
      where connamespace = 'public'::regnamespace order by 1, 2`,
  );
  await client.end();
  return { rows, indexes: indexes.rows, constraints: constraints.rows };
}

it('fills bare tables with what the gateway would write, and leaves them whole', async () => {
  const bare = await filled('bare');
  expect(bare).toEqual(await filled('by the gateway'));
  expect(bare.rows['commands']).toMatchObject({ count: 1_000 });
  expect(bare.rows['callbacks']).toMatchObject({ count: 200 });
}, 60_000);
