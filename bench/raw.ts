// The raw parts: the components below a gateway, measured alone and without our code. Every call uses them, but not
// always alone: a gateway that commits calls in groups may be faster than the bare statements.
import { randomUUID } from 'node:crypto';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { connect as connectAmqp } from 'amqplib';
import { connectAsync as connectMqtt } from 'mqtt';
import { Pool } from 'pg';
import { createDatabase } from '../test/support/create-database.ts';
import { cpuMsOf } from '../test/support/process-figures.ts';
import { startLightDevices, startScript } from './contenders.ts';
import { openConnection } from './http-client.ts';
import { type Measured, runLoad, type Timed } from './load.ts';
import type { Round } from './turns.ts';

export interface RawLimit {
  run(round: Round): Promise<Measured>;
  stop(): Promise<void>;
}

/** Request and answer through a broker to the light devices, without a database. */
export async function mqttRoundTrips(mqttUrl: string): Promise<RawLimit> {
  const devices = Array.from({ length: 64 }, () => ({ id: randomUUID(), secret: '' }));
  const light = await startLightDevices({ speak: 'nest', url: mqttUrl, devices });
  const client = await connectMqtt(mqttUrl, { protocolVersion: 4 });
  const waiting = new Map<string, () => void>();
  client.on('message', (_topic, payload) => settle(waiting, payload));
  await client.subscribeAsync(devices.map(({ id }) => `device.${id}/reply`));
  return {
    run: (round) =>
      runLoad({
        ...round,
        step: async (lane, timed) => {
          await timed(() => ask(waiting, (text) => client.publish(`device.${devices[lane % 64]?.id}`, text)));
        },
      }),
    async stop() {
      light.kill('SIGKILL');
      await client.endAsync(true);
    },
  };
}

export async function queueRoundTrips(rabbitmqUrl: string): Promise<RawLimit> {
  const light = await startLightDevices({ speak: 'nest', url: rabbitmqUrl, devices: [] });
  const connection = await connectAmqp(rabbitmqUrl, { noDelay: true });
  const channel = await connection.createChannel();
  const waiting = new Map<string, () => void>();
  const replyTo = 'amq.rabbitmq.reply-to';
  await channel.consume(replyTo, (message) => message && settle(waiting, message.content), { noAck: true });
  return {
    run: (round) =>
      runLoad({
        ...round,
        step: async (_lane, timed) => {
          await timed(() => ask(waiting, (text) => channel.sendToQueue('bench.devices', Buffer.from(text), { replyTo })));
        },
      }),
    async stop() {
      light.kill('SIGKILL');
      await connection.close();
    },
  };
}

function ask(waiting: Map<string, () => void>, send: (text: string) => void): Promise<void> {
  const id = randomUUID();
  return new Promise((resolve) => {
    waiting.set(id, resolve);
    send(JSON.stringify({ id, data: { name: 'Pay', args: { amount: 150.5 } } }));
  });
}

function settle(waiting: Map<string, () => void>, payload: Buffer): void {
  const { id } = JSON.parse(payload.toString('utf8')) as { id: string };
  waiting.get(id)?.();
  waiting.delete(id);
}

/** Statements, each its own commit, on ten connections, in the order of an invoice's or a command's life. */
async function bareStatements(postgresUrl: string, table: string, life: Life, isWholeTimed: boolean): Promise<RawLimit> {
  const pool = new Pool({ connectionString: await createDatabase(postgresUrl), max: 10 });
  await pool.query(table);
  const ask: Ask = async (text, values) => void (await pool.query({ name: nameOf(text), text, values }));
  return {
    run: (round) => runLoad({ ...round, step: (_lane, timed) => live(life, ask, timed, isWholeTimed) }),
    stop: () => pool.end(),
  };
}

/** One sequence, timed as a whole or statement by statement. */
function live(life: Life, ask: Ask, timed: Timed, isWholeTimed: boolean): Promise<void> {
  const id = randomUUID();
  return isWholeTimed ? timed(() => life(id, ask)) : life(id, (text, values) => timed(() => ask(text, values)));
}

/** A prepared statement has a short name. */
const names = new Map<string, string>();
function nameOf(text: string): string {
  const name = names.get(text) ?? `s${names.size}`;
  names.set(text, name);
  return name;
}

type Ask = (text: string, values: unknown[]) => Promise<void>;
type Life = (id: string, ask: Ask) => Promise<void>;

const commandTable = 'create table commands (id text primary key, state text not null, args text not null, report text)';

/** One insert and one update, each its own commit: the minimum of a command. Both together are one call. */
async function commandLife(id: string, ask: Ask): Promise<void> {
  const args = JSON.stringify({ amount: 150.5, documentNr: id });
  await ask('insert into commands (id, state, args) values ($1, $2, $3)', [id, 'sent', args]);
  await ask('update commands set state = $2, report = $3 where id = $1', [id, 'done', args]);
}

export function twoCommits(postgresUrl: string): Promise<RawLimit> {
  return bareStatements(postgresUrl, commandTable, commandLife, true);
}

export function sqliteTwoCommits(file: string): Promise<RawLimit> {
  return sqliteStatements(file, commandTable, commandLife, true);
}

const invoiceTable = 'create table invoices (id text primary key, state int not null, receipt text not null, receipt_id text)';

/** The same four calls as statements: Create, Status, Get, Payd. */
export function invoiceStatements(postgresUrl: string): Promise<RawLimit> {
  return bareStatements(postgresUrl, invoiceTable, invoiceLife, false);
}

export function sqliteInvoiceStatements(file: string): Promise<RawLimit> {
  return sqliteStatements(file, invoiceTable, invoiceLife, false);
}

const receipt = JSON.stringify({ Number: '4127', Items: Array.from({ length: 3 }, () => ({ Name: 'Bread', Quantity: 1, Price: 24.5 })) });

async function invoiceLife(id: string, ask: Ask): Promise<void> {
  await ask('insert into invoices (id, state, receipt) values ($1, 0, $2)', [id, receipt]);
  await ask('select state, receipt_id from invoices where id = $1', [id]);
  await ask('update invoices set state = 1 where id = $1 and state = 0 returning receipt', [id]);
  await ask('update invoices set state = 2, receipt_id = $2 where id = $1 and state = 1 returning state', [id, 'R-1']);
}

/** On SQLite: one thread, a sync at each commit, no other user. */
async function sqliteStatements(file: string, table: string, life: Life, isWholeTimed: boolean): Promise<RawLimit> {
  const database = new DatabaseSync(file);
  database.exec('pragma journal_mode = wal; pragma synchronous = full;');
  database.exec(`${table} strict`);
  const prepared = new Map<string, StatementSync>();
  const ask: Ask = async (text, values) => {
    const statement = prepared.get(text) ?? database.prepare(text.replaceAll(/\$(\d)/g, '?$1'));
    prepared.set(text, statement);
    statement.all(...(values as string[]));
  };
  return {
    run: (round) => runLoad({ ...round, step: (_lane, timed) => live(life, ask, timed, isWholeTimed) }),
    stop: async () => database.close(),
  };
}

/** A Fastify route that parses a body and answers a small object. */
export async function bareRoute(): Promise<RawLimit> {
  const { child, line } = await startScript([fileURLToPath(new URL('bare-route.ts', import.meta.url))], /listens at (\S+)/);
  return {
    async run(round) {
      const clients = await Promise.all(Array.from({ length: round.inFlight }, () => openConnection(line[1] ?? '')));
      const body = { APIKey: randomUUID(), amount: 150.5, documentNr: randomUUID() };
      const measured = await runLoad({
        ...round,
        cpuMs: () => cpuMsOf(child.pid ?? 0),
        step: async (lane, timed) => {
          await timed(async () => await clients[lane]?.post('/Pay', body));
        },
      });
      for (const client of clients) client.close();
      return measured;
    },
    async stop() {
      child.kill('SIGKILL');
    },
  };
}
