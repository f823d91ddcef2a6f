// Device commands and the calls of QR Mode, compared with NestJS and the raw parts.
import { type Bench, lanes } from './bench.ts';
import { compare } from './comparing.ts';
import { startNest, startTillgate } from './contenders.ts';
import { invoiceStatements, queueRoundTrips, sqliteInvoiceStatements, sqliteTwoCommits, twoCommits } from './raw.ts';
import type { Row } from './report.ts';
import { deviceCommands, invoiceCalls } from './works.ts';

const overMqtt = 'commands, PostgreSQL and MQTT';

export async function commandRows(bench: Bench): Promise<Row[]> {
  const { shared, keep, postgresUrl } = bench;
  const { rows, alone } = await compare(bench, {
    work: deviceCommands,
    ours: [
      {
        group: overMqtt,
        contender: await shared.tillgate(),
        raws: ['bare Fastify', 'bare MQTT', 'two commits'],
        goals: { many: 2, one: 1, cpuMs: 0.55 },
      },
      {
        group: 'commands, embedded',
        contender: await shared.embedded(),
        raws: ['bare Fastify', 'bare MQTT', 'two SQLite commits'],
        goals: { many: 2, one: 1.2, cpuMs: 0.8 },
      },
    ],
    nest: await shared.nest(),
    raws: {
      'bare Fastify': await shared.route(),
      'bare MQTT': await shared.mqtt(),
      'two commits': keep(await twoCommits(postgresUrl)),
      'two SQLite commits': keep(await sqliteTwoCommits(bench.newFile('bare-commands.db'))),
    },
  });
  const p50Ms = (name: string) => alone[name]?.p50Ms ?? Number.NaN;
  const share: Row = {
    group: overMqtt,
    what: "the gateway's share of a command, one in flight, p50: without bare MQTT and two commits",
    unit: 'ms',
    ours: p50Ms(overMqtt) - p50Ms('bare MQTT') - p50Ms('two commits'),
    atMost: 2,
  };
  return [...rows, share];
}

/** RabbitMQ is slow to start and to connect to: not in the quick form. */
export async function queueCommandRows(bench: Bench): Promise<Row[]> {
  const { shared, keep, peers, postgresUrl } = bench;
  const { url: queueUrl } = await shared.rabbitmq();
  const contender = keep(await startTillgate('Tillgate', lanes, { postgresUrl, queueUrl, devicesOver: 'queue' }));
  const raws = ['bare Fastify', 'bare AMQP', 'two commits'];
  const { rows } = await compare(bench, {
    work: deviceCommands,
    ours: [{ group: 'commands, PostgreSQL and RabbitMQ', contender, raws, goals: { many: 1.6, one: 1, p99: 1 } }],
    nest: peers === undefined ? undefined : keep(await startNest(peers, lanes, { postgresUrl, brokerUrl: queueUrl })),
    raws: {
      'bare Fastify': await shared.route(),
      'bare AMQP': keep(await queueRoundTrips(queueUrl)),
      'two commits': keep(await twoCommits(postgresUrl)),
    },
  });
  return rows;
}

export async function invoiceRows(bench: Bench): Promise<Row[]> {
  const { shared, keep, postgresUrl } = bench;
  const { rows } = await compare(bench, {
    work: invoiceCalls,
    ours: [
      {
        group: 'invoices, PostgreSQL',
        contender: await shared.tillgate(),
        raws: ['bare Fastify', 'bare statements'],
        goals: { many: 3, one: 1.2 },
      },
      {
        group: 'invoices, embedded',
        contender: await shared.embedded(),
        raws: ['bare Fastify', 'bare SQLite'],
        goals: { many: 3, one: 1.5 },
      },
    ],
    nest: await shared.nest(),
    raws: {
      'bare Fastify': await shared.route(),
      'bare statements': keep(await invoiceStatements(postgresUrl)),
      'bare SQLite': keep(await sqliteInvoiceStatements(bench.newFile('bare.db'))),
    },
  });
  return rows;
}
