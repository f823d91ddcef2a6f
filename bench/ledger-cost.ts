// Processor time of PostgreSQL and of Node for the commits of a Pay, its CloseDoc, a print with a notice and a refund: by the ledger's
// own statements, and by the new money core as it runs, with its facts and decisions [D300]. One at a time and in batches of sixteen.
// Machines differ by half, and quarters of an hour as well: both are measured in turn with the three statements of a plain service, and the
// median of the rounds counts. The timeline is the same for both, written later and in batches, and is left out.
// Usage: TILLGATE_TEST_POSTGRES_URL=... node bench/ledger-cost.ts [commands] [in flight, separated by commas] [rounds]
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { sql } from 'kysely';
import { claimKey } from '../src/access/idempotency.ts';
import { enqueueCallback } from '../src/callbacks/outbox.ts';
import { checkRefund } from '../src/cards/rules.ts';
import { lockUndisputed, requireOperation } from '../src/cards/store.ts';
import { openDatabase } from '../src/database/open.ts';
import { countNotice } from '../src/fiscal/store.ts';
import { systemClock, systemRandom } from '../src/kernel/system.ts';
import type { Command } from '../src/ledger/command.ts';
import { lockDevice } from '../src/ledger/device-lock.ts';
import { createInsertGroup, type InsertedCommand, insertWithin } from '../src/ledger/insert-batch.ts';
import { createSettleGroup, settleWithin } from '../src/ledger/settle-batch.ts';
import type { Link } from '../src/link/link.ts';
import type { Report } from '../src/money/case.ts';
import type { CallEvent } from '../src/money/event.ts';
import { createMoneyCore } from '../src/money/money.ts';
import { createDatabase } from '../test/support/create-database.ts';

const commands = Number(process.argv[2] ?? 2_000);
const inFlights = (process.argv[3] ?? '1,16').split(',').map(Number);
const rounds = Number(process.argv[4] ?? 5);
const url = await createDatabase(process.env['TILLGATE_TEST_POSTGRES_URL'] ?? '');
const say = () => undefined;
const logger = { debug: say, info: say, warn: say, error: say };
const database = await openDatabase({ url, role: 'gateway', clock: systemClock, logger });
const { queries } = database;
// Another gateway would be notified of each end; the old ledger's statements are measured without that, too.
database.setAlone(true);

await sql`insert into merchants (id, name, callback_secret, created_at) values ('m', 'Shop', 'c2VjcmV0', 1)`.execute(queries);

async function seed(devices: number, kind: 'terminal' | 'register'): Promise<string[]> {
  const ids = Array.from({ length: devices }, () => randomUUID());
  for (const id of ids) {
    await sql`insert into devices (id, merchant_id, kind, name, created_at) values (${id}, 'm', ${kind}, 'T', 1)`.execute(queries);
    await sql`insert into device_locks (device_id) values (${id})`.execute(queries);
  }
  return ids;
}

interface Spent {
  postgres: number;
  node: number;
}

/** In milliseconds, of all backends of this database and of this process. */
async function timed(work: () => Promise<void>): Promise<Spent> {
  const before = await timeOnCpu();
  const own = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(own);
  let sum = 0;
  for (const [pid, spent] of await timeOnCpu()) sum += spent - (before.get(pid) ?? 0);
  return { postgres: sum / 1e6, node: (user + system) / 1e3 };
}

/** Of each backend of this database, in nanoseconds. */
async function timeOnCpu(): Promise<Map<number, number>> {
  const { rows } = await sql<{ pid: number }>`select pid from pg_stat_activity where datname = current_database()
    and backend_type = 'client backend'`.execute(queries);
  return new Map(rows.map(({ pid }) => [pid, Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0])]));
}

const devices = await seed(64, 'terminal');
/** Devices of the new core alone: two cores never write one row. */
const coreDevices = await seed(64, 'terminal');
const registers = await seed(64, 'register');
const registerOf = new Map(coreDevices.map((id, at) => [id, registers[at]]));
const report = JSON.stringify({ authCode: '123456', maskedCard: '411111******1111', time: '2026-11-18T10:00:00Z', terminal: '00001234' });
const request = JSON.stringify({
  method: 'POST',
  path: '/Device/payment/Pay',
  body: { amount: 12.5, documentNr: 'a document of some length' },
});
const callbackUri = 'https://erp.example/notice?oid=#OID#&state=#State#';
const noticeUrl = 'https://erp.example/notice?oid=an-id&state=Completed';
const kinds = ['Pay', 'CloseDoc', 'Refund', 'Print'] as const;
type Kind = (typeof kinds)[number];
/** One command, begun and ended. What follows a payment needs what the payment left. */
type Sale = Record<Kind, () => Promise<void>>;

// ------------------------------------------------------------------------------------------------------------- the ledger's statements

const inserts = createInsertGroup(database);
const settles = createSettleGroup(database);
const done = { by: 'answer', outcome: 'done', report, reason: undefined, wasAccepted: true } as const;

function ledgerSale(deviceId: string, number: number): Sale {
  const documentNr = `document ${number}`;
  const operationId = String(number);
  const rrn = `rrn${number}`;
  let paid: Command | undefined;
  const own = () => ({
    id: randomUUID(),
    merchantId: 'm',
    deviceId,
    instanceId: 'i',
    answerWithinMs: 300_000,
    journalId: 'journal',
    origin: { caller: 'key k', request },
    idempotency: { key: randomUUID(), requestHash: 'hash' },
  });
  async function begin(command: InsertedCommand): Promise<Command> {
    const begun = await inserts.add(command);
    if (!begun) throw new Error(`${command.name} was not written.`);
    return begun;
  }
  return {
    async Pay() {
      const args = { amount: 12.5, currency: 'MDL' };
      const claims = { document: documentNr };
      paid = await begin({ ...own(), name: 'Pay', args, amountBani: 1250, documentNr, claims, isOfNoInvoice: true });
      await settles.add({ command: paid, settlement: { state: 'done', ...done, operationId, rrn } });
    },
    async Refund() {
      const payment = await requireOperation(queries, { merchantId: 'm', deviceId, operationId, documentNr, rrn });
      const { idempotency, ...command } = own();
      const refund = await database.transaction(async (within) => {
        await lockDevice('postgres', within, deviceId);
        const { payment: locked, followers } = await lockUndisputed(database, within, payment.id);
        checkRefund(locked, followers, 100);
        const fresh = {
          ...command,
          name: 'Refund' as const,
          args: { documentNr, operationId, rrn, amount: 1, currency: 'MDL' },
          amountBani: 100,
          documentNr,
        };
        const begun = await insertWithin('postgres', within, { ...fresh, operationId, rrn, targetId: payment.id, beside: 'its document' });
        if (!begun) throw new Error('The refund was not written.');
        await claimKey(within, { merchantId: 'm', ...idempotency, subjectKind: 'command', subjectId: begun.id });
        return begun;
      });
      await settles.add({ command: refund, settlement: { state: 'done', ...done, operationId: `${operationId}r`, rrn } });
    },
    async CloseDoc() {
      const close = await begin({ ...own(), name: 'CloseDoc', args: {}, documentNr, operationId, beside: 'the document it names' });
      await settles.add({ command: close, settlement: { state: 'done', ...done } });
    },
    async Print() {
      const receiptUid = `uid ${number}`;
      const print = await begin({ ...own(), name: 'PrintReceipt', args: {}, receiptUid, claims: { receipt: receiptUid }, callbackUri });
      await database.transaction(async (within) => {
        await settleWithin('postgres', within, { command: print, settlement: { state: 'done', ...done, receiptId: `receipt ${number}` } });
        const notice = { merchantId: 'm', subjectKind: 'operation', subjectId: print.id, url: noticeUrl } as const;
        await enqueueCallback(within, { random: systemRandom }, { ...notice, sequence: await countNotice(within, print.id) });
      });
    },
  };
}

// ----------------------------------------------------------------------------------------------------------------------- the new core

const live = { isLiveAnywhere: () => true, journalOf: () => 'journal', of: () => ({ features: ['paid'], liveOn: ['mqtt'] }) };
const core = createMoneyCore({
  ...{ database, logger, clock: systemClock, random: systemRandom, instanceId: 'i', scanGraceS: 0 },
  callbacks: { wake: () => undefined },
  link: { presence: live } as unknown as Link,
});

/** Facts, decision and commit: what the old ledger does for the same beside its statements is not measured. */
function coreSale(deviceId: string, number: number): Sale {
  const named = { documentNr: `document ${number}`, operationId: String(number) };
  const rrn = `rrn${number}`;
  async function sold(event: Omit<CallEvent, 'merchantId' | 'newId'>, report: Report): Promise<void> {
    const id = randomUUID();
    const key = { key: randomUUID(), requestHash: 'hash' };
    const { answer } = await core.run({ ...event, merchantId: 'm', newId: id, key } as CallEvent, { origin: { caller: 'key k', request } });
    const ended = await core.run({
      type: 'Report',
      id,
      outcome: 'done',
      source: 'answer',
      report,
      journalId: 'journal',
      wasAccepted: true,
    });
    if (ended.answer?.code !== 'NoError') throw new Error(`${event.type}: ${JSON.stringify([answer, ended.answer])}`);
  }
  const said = { ...JSON.parse(report), operationId: named.operationId, rrn } as Report;
  return {
    Pay: () => sold({ type: 'Pay', deviceId, amountBani: 1250, documentNr: named.documentNr } as CallEvent, { ...said, amount: 12.5 }),
    Refund: () =>
      sold({ type: 'Refund', deviceId, ...named, rrn, amountBani: 100 } as CallEvent, { ...said, operationId: `${number}r`, amount: 1 }),
    CloseDoc: () => sold({ type: 'CloseDoc', deviceId, ...named }, JSON.parse(report)),
    Print: () =>
      sold(
        {
          type: 'Print',
          deviceId: registerOf.get(deviceId) ?? '',
          callbackUri,
          contentHashes: ['hash'],
          receipt: receiptOf(number),
        } as unknown as CallEvent,
        { ...said, receiptId: `receipt ${number}` },
      ),
  };
}

const receiptOf = (number: number) => ({
  Uid: `uid ${number}`,
  Items: [{ Name: 'Coffee', Price: 12.5, Quantity: 1 }],
  Payments: [{ PaymentCode: 0, Amount: 12.5 }],
});

// ------------------------------------------------------------------------------------------------------------------------ the yardstick

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

// ------------------------------------------------------------------------------------------------------------------------- the rounds

/** Per command, kind by kind. */
type Figures = Record<Kind, Spent>;

let number = 0;
async function run(saleOf: typeof ledgerSale, inFlight: number, count: number): Promise<Figures> {
  const figures = Object.fromEntries(kinds.map((kind) => [kind, { postgres: 0, node: 0 }])) as Figures;
  for (let made = 0; made < count; made += 64) {
    const sales = (saleOf === coreSale ? coreDevices : devices).map((deviceId) => saleOf(deviceId, (number += 1)));
    for (const kind of kinds) {
      const { postgres, node } = await timed(async () => {
        for (let at = 0; at < sales.length; at += inFlight) await Promise.all(sales.slice(at, at + inFlight).map((sale) => sale[kind]()));
      });
      figures[kind].postgres += postgres / count;
      figures[kind].node += node / count;
    }
  }
  return figures;
}

async function runPlainly(count: number): Promise<Spent> {
  const { postgres, node } = await timed(async () => {
    for (let made = 0; made < count; made += 1) await commandPlainly(devices[made % devices.length] ?? '');
  });
  return { postgres: postgres / count, node: node / count };
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
const text = (value: number) => value.toFixed(3);
const perKind = Math.ceil(commands / kinds.length / 64) * 64;

await preparePlain();
for (const saleOf of [ledgerSale, coreSale]) await run(saleOf, 16, perKind);
await runPlainly(perKind);
await sql`analyze`.execute(queries);
for (const inFlight of inFlights) {
  const plain: Spent[] = [];
  const ledger: Figures[] = [];
  const core: Figures[] = [];
  for (let round = 0; round < rounds; round += 1) {
    plain.push(await runPlainly(perKind));
    ledger.push(await run(ledgerSale, inFlight, perKind));
    core.push(await run(coreSale, inFlight, perKind));
  }
  process.stdout.write(`${inFlight} in flight, milliseconds of processor time per command, median of ${rounds} rounds\n`);
  for (const side of ['postgres', 'node'] as const) {
    process.stdout.write(`  ${side}: a plain service's statements, alone ${text(median(plain.map((one) => one[side])))}\n`);
    for (const kind of [...kinds, 'all'] as const) {
      const costOf = (figures: Figures) =>
        kind === 'all' ? kinds.reduce((sum, one) => sum + figures[one][side], 0) / kinds.length : figures[kind][side];
      const [was, is] = [median(ledger.map(costOf)), median(core.map(costOf))];
      process.stdout.write(
        `  ${side}: ${kind.padEnd(8)} the ledger ${text(was)}, the new core ${text(is)} (${Math.round((is / was - 1) * 100)} %)\n`,
      );
    }
  }
}
await queries.executeQuery(sql`select pg_stat_force_next_flush()`.compile(queries));
await new Promise((resolve) => setTimeout(resolve, 1_500));
const { rows } = await sql`
  select relname as name, n_tup_upd as updates, n_tup_hot_upd as hot, pg_table_size(relid) as bytes, pg_indexes_size(relid) as indexes,
    n_live_tup as rows from pg_stat_user_tables where relname in ('commands', 'names', 'device_locks')`.execute(queries);
for (const row of rows) process.stdout.write(`${JSON.stringify(row)}\n`);
await database.close();
