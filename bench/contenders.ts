// Who runs in the bench: Tillgate on its two homes (PostgreSQL and an outside broker, or all embedded) and the NestJS gateway. Each is a
// process of its own behind the same HTTP paths, with a process of light devices beside it, so the same load drives all of them.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { serveSettings, startServeProcess, temporaryDirectory } from '../test/support/gateway-process.ts';
import { createTill } from '../test/support/till.ts';
import type { LightDevices } from './light-devices.ts';

export interface Contender {
  name: string;
  baseUrl: string;
  apiKey: string;
  deviceIds: string[];
  /** From the start of the process to its first answer. */
  readyAfterMs: number;
  /** Of the gateway's process; its devices are not counted. */
  pid: number;
  stop(): Promise<void>;
}

/** Tillgate on PostgreSQL and a broker, or with everything embedded when neither is given. */
export async function startTillgate(
  name: string,
  devices: number,
  on: { postgresUrl?: string; mqttUrl?: string; queueUrl?: string; extra?: Record<string, string> } = {},
): Promise<Contender> {
  const settings = await serveSettings({
    TILLGATE_DATA_DIR: temporaryDirectory(),
    TILLGATE_RATE_LIMIT: '1000000',
    TILLGATE_DEVICE_RATE: '10000',
    TILLGATE_CALLBACK_ALLOW: '127.0.0.0/8',
    ...(on.postgresUrl === undefined ? {} : { TILLGATE_DATABASE_URL: await createDatabase(on.postgresUrl) }),
    ...(on.mqttUrl === undefined ? {} : { TILLGATE_MQTT_URL: on.mqttUrl, TILLGATE_MQTT_PUBLIC_URL: on.mqttUrl }),
    ...(on.queueUrl === undefined ? {} : { TILLGATE_QUEUE_URL: on.queueUrl, TILLGATE_QUEUE_PUBLIC_URL: withoutLogin(on.queueUrl) }),
    ...on.extra,
  });
  const startedAt = performance.now();
  const gateway = await startServeProcess(settings);
  const readyAfterMs = performance.now() - startedAt;
  const { baseUrl, adminToken } = gateway;
  const cabinet = createTill({ baseUrl, adminToken, apiKey: '' });
  const { id: merchantId } = await cabinet.admin('/merchants', { name: 'Bench' });
  const { key } = await cabinet.admin('/keys', { merchantId, name: 'Bench', modules: ['POS', 'QR', 'Fiscal'] });
  const paired = [];
  let brokerUrl = '';
  for (let at = 0; at < devices; at += 1) {
    const { pairingCode } = await cabinet.admin('/devices', { merchantId, kind: 'terminal', name: `Terminal ${at}`, bank: 'maib' });
    const { deviceId, secret, mqtt } = (await cabinet.post('/pairing', { code: pairingCode })) as unknown as Paired;
    paired.push({ id: deviceId, secret });
    brokerUrl = on.queueUrl ?? mqtt.url;
  }
  const light = devices === 0 ? undefined : await startLightDevices({ speak: 'tillgate', url: brokerUrl, devices: paired });
  return {
    name,
    baseUrl,
    apiKey: String(key),
    deviceIds: paired.map(({ id }) => id),
    readyAfterMs,
    pid: gateway.pid,
    async stop() {
      light?.kill('SIGKILL');
      await gateway.kill9();
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
export async function startNest(name: string, peersDirectory: string, devices: number, on: { postgresUrl: string; brokerUrl: string }) {
  const apiKey = randomUUID();
  const postgresUrl = await createDatabase(on.postgresUrl);
  const env = {
    ...process.env,
    BENCH_POSTGRES_URL: postgresUrl,
    BENCH_BROKER_URL: on.brokerUrl,
    BENCH_KEY: apiKey,
    NODE_ENV: 'production',
  };
  const startedAt = performance.now();
  const { child, line } = await startScript([join(peersDirectory, 'built/nest-gateway.js')], /listens at (\S+)/, env);
  const readyAfterMs = performance.now() - startedAt;
  const ids = Array.from({ length: devices }, () => ({ id: randomUUID(), secret: '' }));
  const light = devices === 0 ? undefined : await startLightDevices({ speak: 'nest', url: on.brokerUrl, devices: ids });
  const contender: Contender = {
    name,
    baseUrl: line[1] ?? '',
    apiKey,
    deviceIds: ids.map(({ id }) => id),
    readyAfterMs,
    pid: child.pid ?? 0,
    async stop() {
      light?.kill('SIGKILL');
      child.kill('SIGKILL');
    },
  };
  return contender;
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

/** An empty database beside the one that the address names. */
export async function createDatabase(postgresUrl: string): Promise<string> {
  const name = `bench_${randomUUID().replaceAll('-', '')}`;
  const client = new Client({ connectionString: postgresUrl });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  const address = new URL(postgresUrl);
  address.pathname = `/${name}`;
  return address.toString();
}
