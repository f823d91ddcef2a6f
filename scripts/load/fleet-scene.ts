// A mostly idle fleet: the cost of its presence in commits, processor time and memory, and the time of a payment while nothing
// else happens, while the fleet is idle, and while all devices log in again at once. The paying tills keep their connections in the storm.
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { createDatabase } from '../../test/support/create-database.ts';
import { freePort } from '../../test/support/free-port.ts';
import { type GatewayProcess, serveSettings, startServeProcess } from '../../test/support/gateway-process.ts';
import { cpuMsOf, megabytesOf } from '../../test/support/process-figures.ts';
import { createTill, eventually, type Till } from '../../test/support/till.ts';
import { type BrokerName, type FleetBroker, startFleetBroker } from './fleet-brokers.ts';
import { addDevices, startFarm } from './load-shop.ts';
import { pause, type SceneResult } from './measure.ts';

export interface FleetOptions {
  devices: number;
  gateways: number;
  broker: BrokerName;
  postgresUrl: string;
  rabbitmqUrl: string;
  /** Seconds instead of minutes; the bounds allow other load on the machine. */
  isShort: boolean;
  say(line: string): void;
}

const tillCount = 20;
/** One payment and its CloseDoc each, again and again with a pause. */
const lanes = 5;
const betweenSalesMs = 50;
/** PostgreSQL counts the commits of an idle session up to ten seconds late. */
const countedAfterMs = 12_000;

const atShare = (sorted: number[], share: number) => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN);

async function paymentsWhile(till: Till, devices: string[], work: Promise<unknown>, say: FleetOptions['say']) {
  const tookMs: number[] = [];
  let failed = 0;
  let isOver = false;
  const ended = Promise.allSettled([work]).then(() => {
    isOver = true;
  });
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      const own = devices.filter((_device, at) => at % lanes === lane);
      for (let turn = 0; !isOver; turn += 1) {
        const DeviceID = own[turn % own.length] ?? '';
        const sale = { DeviceID, documentNr: randomUUID() };
        const startedMs = performance.now();
        const paid = await till.post('/Device/payment/Pay', { ...sale, amount: 10 });
        tookMs.push(performance.now() - startedMs);
        const { operationId } = JSON.parse(paid.report ?? '{}') as { operationId?: string };
        const closed = paid.errorCode === 0 ? await till.post('/Device/payment/CloseDoc', { ...sale, operationId }) : paid;
        if (closed.errorCode !== 0) {
          failed += 1;
          if (failed === 1) say(`a sale failed: ${closed.errorMessage}`);
        }
        await pause(betweenSalesMs);
      }
    }),
  );
  await ended;
  await work;
  const sorted = tookMs.toSorted((one, other) => one - other);
  return { count: sorted.length, failed, p50: atShare(sorted, 0.5), p99: atShare(sorted, 0.99), max: atShare(sorted, 1) };
}

interface Load {
  commitsPerS: number;
  /** Of one core. */
  gatewayCpuPercent: number;
  brokerCpuPercent: number;
}

async function loadOver(ms: number, admin: pg.Client, gateways: GatewayProcess[], broker: FleetBroker): Promise<Load> {
  const read = async () => {
    const { rows } = await admin.query<{ commits: string }>(
      'select xact_commit as commits from pg_stat_database where datname = current_database()',
    );
    const gatewayMs = gateways.reduce((sum, { pid }) => sum + cpuMsOf(pid), 0);
    return { commits: Number(rows[0]?.commits), gatewayMs, brokerMs: broker.cpuMs(), atMs: performance.now() };
  };
  const before = await read();
  await pause(ms);
  const after = await read();
  const spanMs = after.atMs - before.atMs;
  const round = (value: number) => Math.round(value * 10) / 10;
  return {
    commitsPerS: round(((after.commits - before.commits) * 1000) / spanMs),
    gatewayCpuPercent: round(((after.gatewayMs - before.gatewayMs) * 100) / spanMs / gateways.length),
    brokerCpuPercent: round(((after.brokerMs - before.brokerMs) * 100) / spanMs),
  };
}

interface Shop {
  broker: FleetBroker;
  gateways: GatewayProcess[];
  admin: pg.Client;
  till: Till;
  tillIds: string[];
  tillFarm: ReturnType<typeof startFarm>;
  startFleet(): ReturnType<typeof startFarm>;
}

/** `stopping` ends everything that is opened here, the last first. */
async function openShop(options: FleetOptions, url: string, stopping: (() => Promise<unknown>)[]): Promise<Shop> {
  const firstPort = await freePort();
  const broker = await startFleetBroker(options.broker, options.rabbitmqUrl, firstPort);
  stopping.unshift(() => broker.stop());
  const gateways: GatewayProcess[] = [];
  stopping.unshift(() => Promise.all(gateways.map((gateway) => gateway.kill9())));
  for (let at = 0; at < options.gateways; at += 1) {
    const own = at === 0 ? { TILLGATE_PORT: String(firstPort) } : {};
    const limits = { TILLGATE_CONNECTIONS_PER_ADDRESS: '2000', TILLGATE_RATE_LIMIT: '1000000' };
    gateways.push(await startServeProcess(await serveSettings({ TILLGATE_DATABASE_URL: url, ...broker.settings, ...limits, ...own })));
  }
  // The last one: RabbitMQ asks the first about logins, so this one shows the time of a payment during the storm.
  const paying = gateways.at(-1);
  if (paying === undefined) throw new Error('At least one gateway is needed.');
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  stopping.unshift(() => admin.end());
  const cabinet = createTill({ baseUrl: paying.baseUrl, adminToken: paying.adminToken, apiKey: '' });
  const { id: merchantId } = await cabinet.admin('/merchants', { name: 'Fleet' });
  const { key } = await cabinet.admin('/keys', { merchantId, name: 'Fleet', modules: ['POS'] });
  const till = createTill({ baseUrl: paying.baseUrl, adminToken: '', apiKey: String(key) });

  const all = Array.from({ length: options.devices + tillCount }, () => ({ id: randomUUID(), secret: randomUUID() }));
  await addDevices({ url }, String(merchantId), all);
  const start = (devices: typeof all, say: FleetOptions['say']) => {
    const farm = startFarm({ host: '127.0.0.1', port: broker.port, holdMs: 0, devices, reconnects: true }, say);
    stopping.unshift(async () => farm.kill());
    return farm;
  };
  const tillFarm = start(all.slice(0, tillCount), () => {});
  await tillFarm.ready;
  const tillIds = all.slice(0, tillCount).map(({ id }) => id);
  const isThere = ({ errorCode }: { errorCode: number }) => errorCode === 0;
  for (const DeviceID of tillIds) await eventually('a till is there', () => till.get('/Device/Device/Status', { DeviceID }), isThere);
  return { broker, gateways, admin, till, tillIds, tillFarm, startFleet: () => start(all.slice(tillCount), options.say) };
}

async function measure({ isShort, say }: FleetOptions, shop: Shop) {
  const { broker, gateways, admin, till, tillIds } = shop;
  const memory = () => ({ gateway: Math.max(...gateways.map(({ pid }) => Math.round(megabytesOf(pid)))), broker: broker.memoryMb() });
  const idleMs = isShort ? 8_000 : 62_000;
  const pay = (work = pause(isShort ? 5_000 : 20_000)) => paymentsWhile(till, tillIds, work, say);
  // A background round dominates a few seconds: the quieter of two windows counts.
  const quietLoad = async () => {
    const windows: Load[] = [];
    for (let count = isShort ? 2 : 1; count > 0; count -= 1) windows.push(await loadOver(idleMs, admin, gateways, broker));
    return windows.reduce((one, other) => (other.commitsPerS < one.commitsPerS ? other : one));
  };
  say('without the fleet');
  const alonePay = await pay();
  await pause(countedAfterMs);
  const alone = { ...(await quietLoad()), memory: memory(), pay: alonePay };

  say('the fleet logs in');
  const startedMs = performance.now();
  const farm = shop.startFleet();
  await farm.ready;
  const loggedInMs = performance.now() - startedMs;
  await pause(isShort ? countedAfterMs : 35_000);
  say('the fleet is idle');
  const idle = { ...(await quietLoad()), memory: memory(), pay: await pay() };

  say('the fleet loses its connections');
  const { backMs, pay: stormPay } = await storm(shop, farm, 2_000, say);
  const afterStorm = { backMs, memory: memory(), pay: stormPay };
  const { twice, lost } = await shop.tillFarm.end();
  await farm.end();
  return { alone, idle, storm: afterStorm, loggedInMs, twice, lost };
}

/** The whole fleet logs in again at once while the tills keep selling, until a moment after the last is back. */
async function storm({ till, tillIds }: Shop, farm: ReturnType<typeof startFarm>, afterMs: number, say: FleetOptions['say']) {
  const back = farm.storm();
  const pay = await paymentsWhile(
    till,
    tillIds,
    back.then(() => pause(afterMs)),
    say,
  );
  return { backMs: await back, pay };
}

async function inShop<Result>(options: FleetOptions, work: (shop: Shop) => Promise<Result>): Promise<Result> {
  const url = await createDatabase(options.postgresUrl);
  const stopping: (() => Promise<unknown>)[] = [() => dropDatabase(options.postgresUrl, url)];
  try {
    return await work(await openShop(options, url, stopping));
  } finally {
    for (const stop of stopping) await stop();
  }
}

/** The storm alone, in seconds and without figures. */
export function runStorm(options: FleetOptions) {
  return inShop(options, async (shop) => {
    const farm = shop.startFleet();
    await farm.ready;
    const { pay } = await storm(shop, farm, 500, options.say);
    const { connected } = await farm.end();
    return { sales: pay.count, failed: pay.failed, connected, twice: (await shop.tillFarm.end()).twice };
  });
}

export function runFleet(options: FleetOptions): Promise<SceneResult> {
  const startedAtMs = performance.now();
  const { isShort } = options;
  return inShop(options, async (shop) => {
    const { alone, idle, storm, loggedInMs, twice, lost } = await measure(options, shop);
    return {
      scene: `${options.devices} devices, ${options.gateways} gateways, ${options.broker}`,
      seconds: (performance.now() - startedAtMs) / 1000,
      figures: {
        'commits/s without the fleet': alone.commitsPerS,
        'commits/s with it': idle.commitsPerS,
        'gateway CPU % of a core, without': alone.gatewayCpuPercent,
        'gateway CPU % of a core, with': idle.gatewayCpuPercent,
        'broker CPU % of a core, without': alone.brokerCpuPercent,
        'broker CPU % of a core, with': idle.brokerCpuPercent,
        'memory of the largest gateway, without, MB': alone.memory.gateway,
        'memory of the largest gateway, with, MB': idle.memory.gateway,
        'memory of the largest gateway, after the storm, MB': storm.memory.gateway,
        'memory of the broker, without, MB': alone.memory.broker,
        'memory of the broker, with, MB': idle.memory.broker,
        'memory of the broker, after the storm, MB': storm.memory.broker,
        'all logged in after s': Math.round(loggedInMs / 100) / 10,
        'all back after s': Math.round(storm.backMs / 100) / 10,
        'payment without the fleet p50 ms': alone.pay.p50,
        'payment without the fleet p99 ms': alone.pay.p99,
        'payment beside the idle fleet p50 ms': idle.pay.p50,
        'payment beside the idle fleet p99 ms': idle.pay.p99,
        'payment in the storm p50 ms': storm.pay.p50,
        'payment in the storm p99 ms': storm.pay.p99,
        'payment in the storm max ms': storm.pay.max,
        'payments in the storm': storm.pay.count,
        'connections that the tills lost': lost,
      },
      checks: [
        { what: 'payments that failed', value: alone.pay.failed + idle.pay.failed + storm.pay.failed, exactly: 0 },
        { what: 'charged twice', value: twice, exactly: 0 },
        {
          what: 'commits/s that the fleet adds',
          value: idle.commitsPerS - alone.commitsPerS,
          atMost: !isShort && options.devices <= 1_000 ? 3 : 5,
        },
        { what: 'payment in the storm p99 ms', value: storm.pay.p99, atMost: isShort ? 10_000 : 5_000 },
      ],
    };
  });
}

async function dropDatabase(postgresUrl: string, url: string): Promise<void> {
  const client = new pg.Client({ connectionString: postgresUrl });
  await client.connect();
  await client.query(`drop database ${new URL(url).pathname.slice(1)} with (force)`);
  await client.end();
}
