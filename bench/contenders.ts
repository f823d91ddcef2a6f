// The contenders of the bench: Tillgate in two forms (PostgreSQL and an external broker, or all embedded) and the NestJS gateway. Each is a
// separate process behind the same HTTP paths, with a process of light devices beside it, so all get the same load.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createDatabase } from '../test/support/create-database.ts';
import { type GatewayProcess, serveSettings, startServeProcess, temporaryDirectory } from '../test/support/gateway-process.ts';
import { postgresTime } from '../test/support/process-figures.ts';
import { createTill } from '../test/support/till.ts';
import type { LightDevices } from './light-devices.ts';

export interface Contender {
  name: string;
  /** One, or several gateways that share everything else: callers are spread over them. */
  baseUrls: string[];
  apiKey: string;
  deviceIds: string[];
  /** Of the gateways' processes; the devices are not counted. */
  pids: number[];
  /** The processor time of its own database's backends. */
  databaseMs?: () => number;
  stop(): Promise<void>;
}

/** The servers of a Tillgate; those not given are embedded. */
export interface Home {
  /** A server, on which a new database is created. */
  postgresUrl?: string;
  /** An existing database, or a directory that contains one. */
  databaseUrl?: string;
  dataDir?: string;
  mqttUrl?: string;
  queueUrl?: string;
  /** Where the devices connect; MQTT by default. */
  devicesOver?: 'queue';
  gateways?: number;
  /** From the sources, on this money core; absent: as everywhere. */
  core?: 'old' | 'new';
  /** Further environment of the gateway's process. */
  settings?: Record<string, string>;
}

export async function homeSettings(home: Home): Promise<Record<string, string>> {
  const { postgresUrl, mqttUrl, queueUrl } = home;
  const databaseUrl = home.databaseUrl ?? (postgresUrl === undefined ? undefined : await createDatabase(postgresUrl));
  return {
    TILLGATE_DATA_DIR: home.dataDir ?? temporaryDirectory(),
    TILLGATE_RATE_LIMIT: '1000000',
    TILLGATE_DEVICE_RATE: '10000',
    TILLGATE_CALLBACK_ALLOW: '127.0.0.0/8',
    ...home.settings,
    ...(databaseUrl === undefined ? {} : { TILLGATE_DATABASE_URL: databaseUrl }),
    ...(mqttUrl === undefined ? {} : { TILLGATE_MQTT_URL: mqttUrl, TILLGATE_MQTT_PUBLIC_URL: mqttUrl }),
    ...(queueUrl === undefined
      ? {}
      : {
          TILLGATE_QUEUE_URL: queueUrl,
          TILLGATE_QUEUE_PUBLIC_URL: withoutLogin(queueUrl),
          // Never used: the light devices use the gateway's own login.
          TILLGATE_BROKER_TOKEN: randomUUID(),
        }),
  };
}

/** With its own light devices. */
export async function startTillgate(name: string, devices: number, home: Home = {}): Promise<Contender> {
  const shared = await homeSettings(home);
  const gateways: GatewayProcess[] = [];
  for (let at = 0; at < (home.gateways ?? 1); at += 1) gateways.push(await startServeProcess(await serveSettings(shared), home.core));
  const [{ baseUrl, adminToken } = { baseUrl: '', adminToken: '' }] = gateways;
  const cabinet = createTill({ baseUrl, adminToken, apiKey: '' });
  const { id: merchantId } = await cabinet.admin('/merchants', { name: 'Bench' });
  const { key } = await cabinet.admin('/keys', { merchantId, name: 'Bench', modules: ['POS', 'QR', 'Fiscal'] });
  const paired = [];
  let brokerUrl = '';
  for (let at = 0; at < devices; at += 1) {
    const { pairingCode } = await cabinet.admin('/devices', { merchantId, kind: 'terminal', name: `Terminal ${at}`, bank: 'maib' });
    const { deviceId, secret, mqtt } = (await cabinet.post('/pairing', { code: pairingCode })) as unknown as Paired;
    paired.push({ id: deviceId, secret });
    brokerUrl = home.devicesOver === 'queue' ? (home.queueUrl ?? '') : mqtt.url;
  }
  const light = devices === 0 ? undefined : await startLightDevices({ speak: 'tillgate', url: brokerUrl, devices: paired });
  return {
    name,
    baseUrls: gateways.map((gateway) => gateway.baseUrl),
    apiKey: String(key),
    deviceIds: paired.map(({ id }) => id),
    pids: gateways.map(({ pid }) => pid),
    ...(shared['TILLGATE_DATABASE_URL']?.startsWith('postgres') && {
      databaseMs: postgresTime(new URL(shared['TILLGATE_DATABASE_URL']).pathname.slice(1)),
    }),
    async stop() {
      light?.kill('SIGKILL');
      for (const gateway of gateways) await gateway.kill9();
    },
  };
}

interface Paired {
  deviceId: string;
  secret: string;
  mqtt: { url: string };
}

function withoutLogin(url: string): string {
  const address = new URL(url);
  address.username = '';
  address.password = '';
  return address.toString();
}

/** The NestJS gateway, from the directory into which the peers were installed. */
export async function startNest(
  peersDirectory: string,
  devices: number,
  on: { postgresUrl: string; brokerUrl: string },
): Promise<Contender> {
  const apiKey = randomUUID();
  const { child, line } = await startNestProcess(peersDirectory, on, apiKey);
  const ids = Array.from({ length: devices }, () => ({ id: randomUUID(), secret: '' }));
  const light = devices === 0 ? undefined : await startLightDevices({ speak: 'nest', url: on.brokerUrl, devices: ids });
  return {
    name: 'NestJS',
    baseUrls: [line[1] ?? ''],
    apiKey,
    deviceIds: ids.map(({ id }) => id),
    pids: [child.pid ?? 0],
    async stop() {
      light?.kill('SIGKILL');
      child.kill('SIGKILL');
    },
  };
}

export async function startNestProcess(
  peersDirectory: string,
  on: { postgresUrl: string; brokerUrl: string },
  apiKey: string = randomUUID(),
) {
  const env = {
    ...process.env,
    BENCH_POSTGRES_URL: await createDatabase(on.postgresUrl),
    BENCH_BROKER_URL: on.brokerUrl,
    BENCH_KEY: apiKey,
    NODE_ENV: 'production',
  };
  return await startScript([join(peersDirectory, 'built/nest-gateway.js')], /listens at (\S+)/, env);
}

export async function startLightDevices(what: LightDevices): Promise<ChildProcess> {
  const script = fileURLToPath(new URL('light-devices.ts', import.meta.url));
  return (await startScript([script, JSON.stringify(what)], /^ready$/m)).child;
}

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** A Node process that says when it is ready; its errors are shown. */
export function startScript(args: string[], ready: RegExp, env = process.env): Promise<{ child: ChildProcess; line: RegExpMatchArray }> {
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  running.add(child);
  return new Promise((resolve, reject) => {
    let out = '';
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString('utf8');
      const line = out.match(ready);
      if (line) resolve({ child, line });
    });
    child.once('exit', (code) => {
      running.delete(child);
      reject(new Error(`${args[0]} ended with ${code} before it was ready:\n${out}`));
    });
  });
}
