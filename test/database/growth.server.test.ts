// What is stored already must not make a call dearer: with ten thousand commands and invoices in PostgreSQL, no call, sweep or poll of a
// running gateway reads through a table that grows. PostgreSQL itself counts the rows that it had to pass over.
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Contender, createDatabase, startTillgate } from '../../bench/contenders.ts';
import { deviceCommands, invoiceCalls } from '../../bench/works.ts';
import { fill } from '../../scripts/cabinet-load/fill.ts';
import { openDatabase } from '../../src/database/open.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { eventually } from '../support/till.ts';

const stored = 10_000;
/** Those that a shop fills with every sale. */
const growing = ['commands', 'command_events', 'invoices', 'invoice_events', 'callbacks', 'callback_attempts', 'idempotency_keys'];

let client: Client;
let gateway: Contender;

beforeAll(async () => {
  const url = await createDatabase(process.env['TILLGATE_TEST_POSTGRES_URL'] ?? '');
  const database = await openDatabase({ url, role: 'gateway', clock: systemClock, logger: quietLogger });
  await fill(database, stored, systemClock.now(), { invoices: stored });
  await database.close();
  client = new Client({ connectionString: url });
  await client.connect();
  gateway = await startTillgate('grown', 4, { databaseUrl: url, mqttUrl: process.env['TILLGATE_TEST_MOSQUITTO_URL'] ?? '' });
}, 180_000);

afterAll(async () => {
  await gateway?.stop();
  await client?.end();
});

interface Reads {
  name: string;
  /** Rows that were read one after the other, because no index led to them. */
  passed: number;
  lookups: number;
}

async function reads(): Promise<Reads[]> {
  const text = `select relname as name, seq_tup_read::int as passed, coalesce(idx_scan, 0)::int as lookups
    from pg_stat_user_tables where relname = any($1)`;
  return (await client.query<Reads>(text, [growing])).rows;
}

const lookupsIn = (name: string, all: Reads[]) => all.find((table) => table.name === name)?.lookups ?? 0;

it('leads every call and every sweep to its rows by an index', async () => {
  await client.query('select pg_stat_reset()');
  const some = { inFlight: 4, forMs: 0, warmUpMs: 0, atLeastCalls: 40 };
  await deviceCommands(gateway, some);
  await invoiceCalls(gateway, some);
  // PostgreSQL tells what it counted with a delay of about a second.
  const counted = await eventually(
    'the calls are counted',
    reads,
    (all) => lookupsIn('commands', all) > 40 && lookupsIn('invoices', all) > 40,
  );
  expect(counted.filter(({ passed }) => passed >= stored)).toEqual([]);
}, 120_000);
