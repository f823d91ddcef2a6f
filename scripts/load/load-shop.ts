// A gateway as a separate process with any number of terminals, all registered at once by SQL: pairing ten thousand by HTTP would take
// longer than the load. The terminals are a farm beside it.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { hashSecret } from '../../src/access/secrets.ts';
import { nowMs } from '../../src/database/dialect.ts';
import { openDatabase } from '../../src/database/open.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { createDatabase } from '../../test/support/create-database.ts';
import { freePort } from '../../test/support/free-port.ts';
import { type Settings, serveSettings, startServeProcess, temporaryDirectory } from '../../test/support/gateway-process.ts';
import { cpuMsOf, megabytesOf } from '../../test/support/process-figures.ts';
import { quietLogger } from '../../test/support/quiet-logger.ts';
import { createTill, eventually } from '../../test/support/till.ts';
import type { FarmOptions } from './device-farm.ts';
import { liveMegabytes } from './live-memory.ts';

export interface FarmEnd {
  connected: number;
  lost: number;
  /** At once. */
  mostHeld: number;
  done: number;
  twice: number;
}

export interface LoadShop {
  baseUrl: string;
  apiKey: string;
  deviceIds: string[];
  /** Another merchant, whose device is not connected. */
  other: { apiKey: string; device: FarmOptions['devices'][number] };
  connectedAfterMs: number;
  mqttPort: number;
  mqttsPort: number;
  /** Of the gateway. */
  pid: number;
  /** Megabytes that the gateway holds now. */
  memory(): number;
  /** Megabytes of its JavaScript heap after a full garbage collection. */
  liveMemory(): Promise<number>;
  /** Seconds of CPU that the gateway has used. */
  cpuSeconds(): number;
  /** Ends the terminals and returns what they did. */
  endFarm(): Promise<FarmEnd>;
  stop(): Promise<void>;
}

const scriptOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export function startChild(script: string, args: string[]): ChildProcess {
  const child = spawn(process.execPath, [scriptOf(script), ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

export async function addDevices(
  place: { url?: string; dataDir?: string },
  merchantId: string,
  devices: FarmOptions['devices'],
): Promise<void> {
  const database = await openDatabase({ ...place, role: 'gateway', clock: systemClock, logger: quietLogger });
  const rows = devices.map(({ id, secret }, at) => ({
    id,
    merchant_id: merchantId,
    kind: 'terminal' as const,
    name: `Terminal ${at}`,
    bank: 'maib',
    point_of_sales_code: null,
    secret_hash: hashSecret(secret),
    created_at: nowMs,
  }));
  for (let at = 0; at < rows.length; at += 500)
    await database.queries
      .insertInto('devices')
      .values(rows.slice(at, at + 500))
      .execute();
  await sql`insert into device_locks (device_id) select id from devices where id not in (select device_id from device_locks)`.execute(
    database.queries,
  );
  await database.close();
}

export function startFarm(options: FarmOptions, say: (line: string) => void) {
  const file = join(temporaryDirectory(), 'farm.json');
  writeFileSync(file, JSON.stringify(options));
  const child = startChild('device-farm.ts', [file]);
  let out = '';
  const ready = new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      out += chunk.toString('utf8');
      for (const line of chunk.toString('utf8').match(/connected \d+/g) ?? []) say(line);
      if (/^ready$/m.test(out)) resolve();
    });
    child.once('exit', (code) => reject(new Error(`The farm ended with ${code}.`)));
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  return {
    ready,
    /** Cuts all devices off, and resolves with the milliseconds until the last one is connected again. */
    storm(): Promise<number> {
      const before = out.length;
      const isBack = () => /^back after (\d+) ms$/m.exec(out.slice(before))?.[1];
      child.kill('SIGUSR2');
      return new Promise((resolve, reject) => {
        const look = () => {
          const ms = isBack();
          if (ms === undefined) return;
          child.stdout?.off('data', look);
          resolve(Number(ms));
        };
        child.stdout?.on('data', look);
        child.once('exit', () => reject(new Error('The farm ended in the storm.')));
      });
    },
    async end(): Promise<FarmEnd> {
      child.kill('SIGTERM');
      await ended;
      return JSON.parse(out.trim().split('\n').at(-1) ?? '') as FarmEnd;
    },
    kill: () => child.kill('SIGKILL'),
  };
}

export async function openLoadShop(options: {
  devices: number;
  holdMs: number;
  mqttUrl?: string | undefined;
  postgresUrl?: string | undefined;
  settings?: Settings;
  say(line: string): void;
}): Promise<LoadShop> {
  const { mqttUrl, postgresUrl, say } = options;
  const dataDir = temporaryDirectory();
  const url = postgresUrl === undefined ? undefined : await createDatabase(postgresUrl);
  const settings = await serveSettings({
    TILLGATE_DATA_DIR: dataDir,
    TILLGATE_RATE_LIMIT: '1000000',
    TILLGATE_DEVICE_RATE: '10000',
    // All callers have one address here, and open their connections at one moment.
    TILLGATE_CONNECTIONS_PER_ADDRESS: '2000',
    TILLGATE_CALLBACK_ALLOW: '127.0.0.0/8',
    TILLGATE_MQTT_CONNECTIONS: '20000',
    TILLGATE_DRAIN_S: '0',
    TILLGATE_LOG_LEVEL: 'error',
    ...(url === undefined ? {} : { TILLGATE_DATABASE_URL: url }),
    ...(mqttUrl === undefined ? {} : { TILLGATE_MQTT_URL: mqttUrl, TILLGATE_MQTT_PUBLIC_URL: mqttUrl }),
    ...options.settings,
  });
  const first = await startServeProcess(settings);
  const cabinet = createTill({ baseUrl: first.baseUrl, adminToken: first.adminToken, apiKey: '' });
  const addMerchant = async (name: string) => {
    const { id: merchantId } = await cabinet.admin('/merchants', { name });
    const { key } = await cabinet.admin('/keys', { merchantId, name, modules: ['POS', 'QR', 'Fiscal'] });
    return { merchantId: String(merchantId), apiKey: String(key) };
  };
  const { merchantId, apiKey } = await addMerchant('Load');
  const neighbour = await addMerchant('Other');
  await first.terminate();
  const newDevice = () => ({ id: randomUUID(), secret: randomUUID() });
  const devices = Array.from({ length: options.devices }, newDevice);
  const other = { apiKey: neighbour.apiKey, device: newDevice() };
  await addDevices(url === undefined ? { dataDir } : { url }, merchantId, devices);
  await addDevices(url === undefined ? { dataDir } : { url }, neighbour.merchantId, [other.device]);
  const inspectorPort = await freePort();
  const gateway = await startServeProcess({
    ...settings,
    NODE_OPTIONS: `--inspect=127.0.0.1:${inspectorPort}`,
  });
  const broker = new URL(mqttUrl ?? `mqtt://127.0.0.1:${settings['TILLGATE_MQTT_PORT']}`);
  const startedAt = performance.now();
  const farm = startFarm({ host: broker.hostname, port: Number(broker.port), devices, holdMs: options.holdMs }, say);
  await farm.ready;
  // Their first presence may still be in transit.
  const till = createTill({ baseUrl: gateway.baseUrl, adminToken: '', apiKey });
  const step = Math.ceil(devices.length / 20);
  for (const { id } of devices.filter((_, at) => at % step === 0 || at === devices.length - 1)) {
    const isThere = ({ errorCode }: { errorCode: number }) => errorCode === 0;
    await eventually(`terminal ${id} is there`, () => till.get('/Device/Device/Status', { DeviceID: id }), isThere);
  }
  return {
    baseUrl: gateway.baseUrl,
    apiKey,
    deviceIds: devices.map(({ id }) => id),
    other,
    connectedAfterMs: performance.now() - startedAt,
    mqttPort: Number(broker.port),
    mqttsPort: Number(settings['TILLGATE_MQTTS_PORT']),
    pid: gateway.pid,
    memory: () => megabytesOf(gateway.pid),
    liveMemory: () => liveMegabytes(inspectorPort),
    cpuSeconds: () => cpuMsOf(gateway.pid) / 1000,
    endFarm: farm.end,
    async stop() {
      farm.kill();
      await gateway.kill9();
    },
  };
}
