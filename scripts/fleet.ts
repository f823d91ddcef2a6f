// What a fleet costs that does nothing: `npm run fleet -- --devices 5000 --gateways 2`. Gateways as processes on a database of their own,
// devices that only say that they are there. It prints commits per second without and with the devices, the memory of the gateways, and how
// long a committed write takes while nothing happens and while all devices come back at once. `--short` takes half a minute.
// Needs TILLGATE_TEST_POSTGRES_URL, TILLGATE_TEST_MOSQUITTO_URL and TILLGATE_TEST_RABBITMQ_URL (`npm run servers`).
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { connectAsync } from 'mqtt';
import pg from 'pg';
import { megabytesOf } from '../bench/process-figures.ts';
import { mqttTopics } from '../src/link/protocol.ts';
import { freePort } from '../test/support/free-port.ts';
import { type GatewayProcess, startServeProcess } from '../test/support/gateway-process.ts';

const { values } = parseArgs({
  options: {
    devices: { type: 'string', default: '5000' },
    gateways: { type: 'string', default: '2' },
    short: { type: 'boolean', default: false },
  },
});
const count = Number(values.devices);
const presenceEveryMs = values.short ? 5_000 : 30_000;
const measureMs = values.short ? 10_000 : 62_000;
const stormMs = 10_000;

function server(name: string): string {
  const url = process.env[name];
  if (url === undefined) throw new Error(`${name} is not set: npm run servers prints it.`);
  return url;
}

const mqttUrl = server('TILLGATE_TEST_MOSQUITTO_URL');
const admin = new pg.Client({ connectionString: server('TILLGATE_TEST_POSTGRES_URL') });
const database = `tillgate_fleet_${randomUUID().replaceAll('-', '')}`;

async function startGateway(databaseUrl: string): Promise<GatewayProcess> {
  return startServeProcess({
    TILLGATE_DATABASE_URL: databaseUrl,
    TILLGATE_HOST: '127.0.0.1',
    TILLGATE_PORT: String(await freePort()),
    TILLGATE_ADMIN_TOKEN: randomUUID() + randomUUID(),
    TILLGATE_MQTT_URL: mqttUrl,
    TILLGATE_QUEUE_URL: server('TILLGATE_TEST_RABBITMQ_URL'),
    TILLGATE_BROKER_TOKEN: randomUUID(),
    TILLGATE_LOG_LEVEL: 'warn',
  });
}

async function commitsPerS(): Promise<string> {
  const read = async () => {
    const { rows } = await admin.query<{ commits: string }>('select xact_commit as commits from pg_stat_database where datname = $1', [
      database,
    ]);
    return Number(rows[0]?.commits);
  };
  const before = await read();
  await pause(measureMs);
  return (((await read()) - before) / (measureMs / 1000)).toFixed(2);
}

/** `health/ready` commits a row through the pool that payments use. */
async function writesMs({ baseUrl }: GatewayProcess): Promise<string> {
  const took: number[] = [];
  for (const untilMs = performance.now() + stormMs; performance.now() < untilMs; ) {
    const startedMs = performance.now();
    const { status } = await fetch(`${baseUrl}/health/ready`);
    if (status !== 200) throw new Error(`ready answered ${status}.`);
    took.push(performance.now() - startedMs);
    await pause(20);
  }
  took.sort((one, other) => one - other);
  const at = (part: number) => (took[Math.floor((took.length - 1) * part)] ?? 0).toFixed(0);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`;
}

const memoryMb = ({ pid }: GatewayProcess) => Math.round(megabytesOf(pid));

async function seedDevices(url: string, ids: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("insert into merchants (id, name, callback_secret, created_at) values ('fleet', 'fleet', 'none', 1)");
  const rows = "select id, 'fleet', 'terminal', 'device', 1 from unnest($1::text[]) as id";
  await client.query(`insert into devices (id, merchant_id, kind, name, created_at) ${rows}`, [ids]);
  await client.end();
}

async function measure(url: string): Promise<void> {
  const gateways = await Promise.all(Array.from({ length: Number(values.gateways) }, () => startGateway(url)));
  const [first] = gateways;
  if (first === undefined) throw new Error('At least one gateway is needed.');
  const ids = Array.from({ length: count }, () => randomUUID());
  await seedDevices(url, ids);
  console.log(
    `no device: ${await commitsPerS()} commits/s, memory ${gateways.map(memoryMb).join(' and ')} MB, a write ${await writesMs(first)}`,
  );

  let bootId = randomUUID();
  const journalId = randomUUID();
  const client = await connectAsync(mqttUrl, { protocolVersion: 4 });
  const say = (device: string) => {
    const presence = { v: 1, device, online: true, clock: new Date().toISOString(), bootId, journalId, kind: 'terminal', battery: 80 };
    client.publish(mqttTopics.presence(device), JSON.stringify(presence), { qos: 1 });
  };
  const timers = ids.map((id, at) =>
    setTimeout(() => timers.push(setInterval(() => say(id), presenceEveryMs)), (at / count) * presenceEveryMs),
  );
  await pause(2 * presenceEveryMs);
  console.log(`${count} devices: ${await commitsPerS()} commits/s, memory ${gateways.map(memoryMb).join(' and ')} MB`);

  bootId = randomUUID();
  for (const id of ids) say(id);
  console.log(`all of them back at once: a write ${await writesMs(first)}`);
  for (const timer of timers) clearInterval(timer);
  await client.endAsync(true);
  await Promise.all(gateways.map((gateway) => gateway.terminate()));
}

await admin.connect();
await admin.query(`create database ${database}`);
try {
  const url = new URL(server('TILLGATE_TEST_POSTGRES_URL'));
  url.pathname = `/${database}`;
  await measure(url.href);
} finally {
  await admin.query(`drop database ${database} with (force)`);
  await admin.end();
}
