// Processor time of PostgreSQL for one Pay and its CloseDoc, by the ledger's own statements: one at a time and in batches of sixteen.
// Also the share of HOT updates, and the disk space per command. Machines differ by half: the three statements of a plain service, measured
// in turn with it, are the yardstick.
// Usage: TILLGATE_TEST_POSTGRES_URL=... node bench/ledger-cost.ts [commands] [in flight, separated by commas]
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { sql } from 'kysely';
import { openDatabase } from '../src/database/open.ts';
import { systemClock } from '../src/kernel/system.ts';
import { createInsertGroup, type InsertedCommand } from '../src/ledger/insert-batch.ts';
import { createSettleGroup } from '../src/ledger/settle-batch.ts';
import { createDatabase } from '../test/support/create-database.ts';

const commands = Number(process.argv[2] ?? 4_000);
const url = await createDatabase(process.env['TILLGATE_TEST_POSTGRES_URL'] ?? '');
const say = () => undefined;
const logger = { debug: say, info: say, warn: say, error: say };
const database = await openDatabase({ url, role: 'gateway', clock: systemClock, logger });
const { queries } = database;

async function seed(devices: number): Promise<string[]> {
  await sql`insert into merchants (id, name, callback_secret, created_at) values ('m', 'Shop', 'c2VjcmV0', 1)`.execute(queries);
  const ids = Array.from({ length: devices }, () => randomUUID());
  for (const id of ids) {
    await sql`insert into devices (id, merchant_id, kind, name, created_at) values (${id}, 'm', 'terminal', 'T', 1)`.execute(queries);
    await sql`insert into device_locks (device_id) values (${id})`.execute(queries);
  }
  return ids;
}

/** Of each backend of this database, in nanoseconds. */
async function timeOnCpu(): Promise<Map<number, number>> {
  const { rows } = await sql<{ pid: number }>`select pid from pg_stat_activity where datname = current_database()
    and backend_type = 'client backend'`.execute(queries);
  return new Map(rows.map(({ pid }) => [pid, Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0])]));
}

const inserts = createInsertGroup(database);
const settles = createSettleGroup(database);
const devices = await seed(64);
const report = JSON.stringify({ authCode: '123456', maskedCard: '411111******1111', time: '2026-11-18T10:00:00Z', terminal: '00001234' });
const request = JSON.stringify({
  method: 'POST',
  path: '/Device/payment/Pay',
  body: { amount: 12.5, documentNr: 'a document of some length' },
});

async function sell(deviceId: string, number: number): Promise<void> {
  const documentNr = `document ${number}`;
  const operationId = String(number);
  const own = {
    merchantId: 'm',
    deviceId,
    instanceId: 'i',
    answerWithinMs: 300_000,
    journalId: 'journal',
    documentNr,
    origin: { caller: 'key k', request },
  };
  const pay: InsertedCommand = {
    ...own,
    id: randomUUID(),
    name: 'Pay',
    args: { amount: 12.5, currency: 'MDL' },
    amountBani: 1250,
    claims: { document: documentNr },
    isOfNoInvoice: true,
  };
  const paid = await inserts.add(pay);
  if (!paid) throw new Error('The payment was not written.');
  const done = { by: 'answer', outcome: 'done', report, reason: undefined, wasAccepted: true } as const;
  await settles.add({ command: paid, settlement: { state: 'done', ...done, operationId, rrn: `rrn${number}` } });
  const close = await inserts.add({ ...own, id: randomUUID(), name: 'CloseDoc', args: {}, operationId, beside: 'the document it names' });
  if (!close) throw new Error('The close was not written.');
  await settles.add({ command: close, settlement: { state: 'done', ...done } });
}

async function preparePlain(): Promise<void> {
  await sql`create table plain_keys (key text primary key, merchant_id text not null)`.execute(queries);
  await sql`create table plain_commands (id text primary key, device_id text not null, state text not null, amount int8 not null, document_nr text,
    report text)`.execute(queries);
  await sql`create index on plain_commands (device_id)`.execute(queries);
  await sql`insert into plain_keys values ('key', 'm')`.execute(queries);
}

/** A command of a service without guarantees: a lookup, an insert and an update, each in its own commit. */
async function commandPlainly(deviceId: string): Promise<void> {
  const id = randomUUID();
  await sql`select * from plain_keys where key = ${'key'}`.execute(queries);
  await sql`insert into plain_commands (id, device_id, state, amount, document_nr) values (${id}, ${deviceId}, 'sent', 1250, ${randomUUID()})`.execute(
    queries,
  );
  await sql`update plain_commands set state = 'done', report = ${report} where id = ${id}`.execute(queries);
}

/** In milliseconds of PostgreSQL's processor. */
async function timed(work: () => Promise<void>): Promise<number> {
  const before = await timeOnCpu();
  await work();
  let sum = 0;
  for (const [pid, spent] of await timeOnCpu()) sum += spent - (before.get(pid) ?? 0);
  return sum / 1e6;
}

let number = 0;
function run(inFlight: number, count: number): Promise<number> {
  return timed(async () => {
    for (let sold = 0; sold < count / 2; sold += inFlight)
      await Promise.all(devices.slice(0, inFlight).map((deviceId) => sell(deviceId, (number += 1))));
  });
}

function runPlainly(count: number): Promise<number> {
  return timed(async () => {
    for (let done = 0; done < count; done += 1) await commandPlainly(devices[done % devices.length] ?? '');
  });
}

await preparePlain();
await run(16, commands / 4);
await run(1, commands / 8);
await runPlainly(commands / 8);
await sql`analyze`.execute(queries);
for (const inFlight of (process.argv[3] ?? '1,16,1,16').split(',').map(Number)) {
  const count = inFlight === 1 ? commands / 2 : commands;
  const milliseconds = await run(inFlight, count);
  process.stdout.write(`${inFlight} in flight: ${(milliseconds / count).toFixed(3)} ms of PostgreSQL's processor per command\n`);
  const plain = await runPlainly(count / 4);
  process.stdout.write(`the statements of a plain service, one in flight: ${(plain / (count / 4)).toFixed(3)} ms\n`);
}
await queries.executeQuery(sql`select pg_stat_force_next_flush()`.compile(queries));
await new Promise((resolve) => setTimeout(resolve, 1_500));
const { rows } = await sql<{ updates: number; hot: number; bytes: number; indexes: number; rows: number }>`
  select n_tup_upd as updates, n_tup_hot_upd as hot, pg_table_size(relid) as bytes, pg_indexes_size(relid) as indexes, n_live_tup as rows
  from pg_stat_user_tables where relname = 'commands'`.execute(queries);
process.stdout.write(`${JSON.stringify(rows[0])}\n`);
await database.close();
