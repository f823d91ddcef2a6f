// What is stored already must not make a call dearer: with ten thousand commands, invoices and keys in PostgreSQL, no call and no poll of a
// running gateway reads through a table that grows, and no sweep does. PostgreSQL itself counts the rows that it had to pass over.
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Contender, startTillgate } from '../../bench/contenders.ts';
import { deviceCommands, invoiceCalls } from '../../bench/works.ts';
import { deviceCount, fill, growing, merchantId } from '../../scripts/cabinet-load/fill.ts';
import { sweepKeys } from '../../src/access/idempotency.ts';
import { hourMs } from '../../src/cabinet/views/figures/hour-figures.ts';
import { sumHour } from '../../src/cabinet/views/figures/hour-sums.ts';
import { clearDelivered } from '../../src/callbacks/retention.ts';
import { openDatabase } from '../../src/database/open.ts';
import { holdOverdueInvoices } from '../../src/invoices/store.ts';
import { systemClock } from '../../src/kernel/system.ts';
import type { Command } from '../../src/ledger/command.ts';
import { createSettleGroup } from '../../src/ledger/settle-batch.ts';
import { removableCommands } from '../../src/removal/commands.ts';
import { removableInvoices } from '../../src/removal/invoices.ts';
import { createDatabase } from '../support/create-database.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { eventually } from '../support/till.ts';

const stored = 10_000;
/** Those that a shop fills with every sale. */
const tables = [...growing, 'idempotency_keys'];

let client: Client;
let url: string;
let gateway: Contender | undefined;

const open = () => openDatabase({ url, role: 'gateway', clock: systemClock, logger: quietLogger });

beforeAll(async () => {
  url = await createDatabase(process.env['TILLGATE_TEST_POSTGRES_URL'] ?? '');
  const database = await open();
  await fill(database, stored, systemClock.now(), { invoices: stored });
  await database.close();
  client = new Client({ connectionString: url });
  await client.connect();
  await client.query(
    `insert into idempotency_keys (merchant_id, key, request_hash, subject_kind, subject_id, created_at)
      select $1, 'key ' || n, 'hash', 'command', 'subject ' || n, now_ms() from generate_series(1, ${stored}) as n`,
    [merchantId(0)],
  );
  await client.query('analyze idempotency_keys');
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
  /** By an index. */
  fetched: number;
}

/** What is read in the tables that grow while `work` is done, which ends all connections that it opens: only then all is counted. */
async function readsOf(work: () => Promise<void>): Promise<Reads[]> {
  const others = 'select count(*)::int as count from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()';
  const areGone = async () => (await client.query<{ count: number }>(others)).rows[0]?.count === 0;
  await eventually('nobody else is connected', areGone, Boolean);
  await client.query('select pg_stat_reset()');
  await work();
  await eventually('whoever worked is gone', areGone, Boolean);
  const text = `select relname as name, seq_tup_read::int as passed, coalesce(idx_scan, 0)::int as lookups,
      coalesce(idx_tup_fetch, 0)::int as fetched
    from pg_stat_user_tables where relname = any($1)`;
  return (await client.query<Reads>(text, [tables])).rows;
}

const lookupsIn = (name: string, all: Reads[]) => all.find((table) => table.name === name)?.lookups ?? 0;
const readThrough = (all: Reads[]) => all.filter(({ passed }) => passed >= stored);

it('uses an index for every call, and for every periodic query of a gateway', async () => {
  const reads = await readsOf(async () => {
    gateway = await startTillgate('grown', 4, { databaseUrl: url, mqttUrl: process.env['TILLGATE_TEST_MOSQUITTO_URL'] ?? '' });
    const some = { inFlight: 4, forMs: 0, warmUpMs: 0, atLeastCalls: 40 };
    await deviceCommands(gateway, some);
    await invoiceCalls(gateway, some);
    await gateway.stop();
  });
  expect(lookupsIn('commands', reads)).toBeGreaterThan(40);
  expect(lookupsIn('invoices', reads)).toBeGreaterThan(40);
  expect(readThrough(reads)).toEqual([]);
}, 120_000);

it('uses an index for every sweep', async () => {
  const reads = await readsOf(async () => {
    const database = await open();
    const { queries } = database;
    expect(await sweepKeys(queries)).toBe(0);
    await database.transaction((within) => holdOverdueInvoices(within, 'postgres', 0, 100));
    // The few of the first hour: for hundreds at once PostgreSQL rightly reads through a table that is as small as here.
    expect(await clearDelivered(database, 30 - 1 / 32)).toBeGreaterThan(0);
    for (const kind of [removableCommands, removableInvoices]) {
      const [oldest, next] = await kind.page(queries, 29, undefined, 50);
      expect(await kind.page(queries, 29, oldest, 1)).toEqual([next]);
      for (const id of await kind.filter(queries, [oldest?.id ?? '', next?.id ?? ''])) expect(await kind.remove(database, id)).toBe(true);
    }
    expect((await sumHour(database, Math.floor(systemClock.now() / hourMs - 3) * hourMs)).size).toBeGreaterThan(0);
    await database.close();
  });
  for (const name of ['commands', 'invoices', 'callbacks', 'idempotency_keys']) expect(lookupsIn(name, reads)).toBeGreaterThan(0);
  expect(readThrough(reads)).toEqual([]);
}, 120_000);

it('settles a command without reading other open ones', async () => {
  // One for each device, after PostgreSQL has counted that none is open.
  const { rows } = await client.query<{ id: string; device_id: string }>(
    `insert into commands (id, merchant_id, device_id, instance_id, name, mode, is_payment, closes_day, args, state, issued_at, answer_by, recalls)
      select 'open ' || id, merchant_id, id, 'gone', 'CloseDay', 'POS', 0, 1, '{}', 'sent', now_ms(), now_ms() + 60000, 0 from devices returning id, device_id`,
  );
  await client.query("update device_locks set command_id = 'open ' || device_id");
  const reads = await readsOf(async () => {
    const database = await open();
    const settles = createSettleGroup(database);
    const settled = rows.slice(0, 4).map(({ id, device_id: deviceId }) => {
      const command = { id, deviceId, merchantId: 'm', name: 'CloseDay', targetId: null, documentNr: null, receiptUid: null } as Command;
      return settles.add({
        command,
        settlement: { state: 'done', by: 'answer', outcome: 'done', report: undefined, reason: undefined },
      });
    });
    expect((await Promise.all(settled)).map((command) => command?.state)).toEqual(['done', 'done', 'done', 'done']);
    await database.close();
  });
  expect(rows.length).toBeGreaterThanOrEqual(deviceCount);
  const fetched = reads.find(({ name }) => name === 'commands')?.fetched;
  expect(fetched).toBeGreaterThanOrEqual(4);
  expect(fetched).toBeLessThan(deviceCount / 2);
}, 120_000);
