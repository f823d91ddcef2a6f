// The bounds on connections are settings [D62]: each of them reaches the port that it is about.
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { ensureDemoDevices } from '../src/cli/demo-devices.ts';
import { ensureDemo } from '../src/cli/demo-merchant.ts';
import { readConfig } from '../src/config.ts';
import { type Gateway, startGateway } from '../src/gateway.ts';
import { systemRandom } from '../src/kernel/system.ts';
import { quietLogger } from './support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from './support/virtual-clock.ts';

let dataDir: string;
let gateway: Gateway;
let clock: VirtualClock;
const sockets: { destroy(): void }[] = [];

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'tillgate-bounds-'));
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await gateway.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

async function start(settings: Record<string, string>): Promise<void> {
  clock = createVirtualClock();
  const config = readConfig('sandbox', {
    TILLGATE_DATA_DIR: dataDir,
    TILLGATE_PORT: '0',
    TILLGATE_MQTT_PORT: '0',
    TILLGATE_STOP_GRACE_S: '0',
    ...settings,
  });
  gateway = await startGateway(config, { clock, random: systemRandom, logger: quietLogger });
}

interface Stranger {
  socket: Socket;
  closed: Promise<void>;
}

function stranger(url: string | undefined): Promise<Stranger> {
  const socket = connect(Number(new URL(url ?? '').port), '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => {});
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return new Promise((resolve) => socket.once('connect', () => resolve({ socket, closed })));
}

async function device(): Promise<{ id: string; secret: string }> {
  const { merchantId } = await ensureDemo(gateway, undefined);
  const [first] = await ensureDemoDevices(gateway.devices, merchantId, [{ kind: 'terminal', name: 'Terminal', bank: 'maib' }], undefined);
  if (first === undefined) throw new Error('There is no device.');
  return first;
}

/** The broker's answer to a login: 0 is welcome, 3 is "not now". */
async function login({ id, secret }: { id: string; secret: string }): Promise<number | undefined> {
  const { socket } = await stranger(gateway.addresses().mqttUrl);
  const text = (value: string) => Buffer.concat([Buffer.from([value.length >> 8, value.length & 0xff]), Buffer.from(value)]);
  const body = Buffer.concat([text('MQTT'), Buffer.from([4, 0xc2, 0, 60]), text(id), text(id), text(secret)]);
  // Its length in seven bits a byte, the lowest first.
  socket.write(Buffer.concat([Buffer.from([0x10, 0x80 | (body.length & 0x7f), body.length >> 7]), body]));
  const answer = await new Promise<Buffer>((resolve) => {
    socket.once('data', resolve);
    socket.once('close', () => resolve(Buffer.alloc(0)));
  });
  return answer[3];
}

it('lets so many without a login hold a connection to the broker, in all and from one address', async () => {
  for (const setting of ['TILLGATE_MQTT_NEWCOMERS', 'TILLGATE_MQTT_NEWCOMERS_PER_ADDRESS']) {
    if (setting !== 'TILLGATE_MQTT_NEWCOMERS') await gateway.stop();
    await start({ [setting]: '1' });
    const first = await stranger(gateway.addresses().mqttUrl);
    await stranger(gateway.addresses().mqttUrl);
    await first.closed;
  }
});

it('gives a connection to the broker so long for its login', async () => {
  await start({ TILLGATE_MQTT_LOGIN_S: '3' });
  const { socket, closed } = await stranger(gateway.addresses().mqttUrl);
  // Not before the broker knows of it: an answer to a second connection says that the first was accepted.
  await login(await device());
  await clock.advance(2_900);
  expect(socket.closed).toBe(false);
  await clock.advance(200);
  await closed;
});

it('holds the broker to so many connections in all', async () => {
  await start({ TILLGATE_MQTT_CONNECTIONS: '2' });
  const first = await stranger(gateway.addresses().mqttUrl);
  await stranger(gateway.addresses().mqttUrl);
  await stranger(gateway.addresses().mqttUrl);
  await first.closed;
});

it('lets a device log in so often at once, at the broker and at the queue', async () => {
  await start({ TILLGATE_DEVICE_LOGINS: '1' });
  const known = await device();
  expect(await login(known)).toBe(0);
  expect(await login(known)).toBe(3);

  const { id, secret } = known;
  const open = () =>
    new Promise<number>((resolve) => {
      const socket = new WebSocket(gateway.addresses().queueUrl ?? '', { auth: `${id}:${secret}` });
      sockets.push({ destroy: () => socket.terminate() });
      socket.on('error', () => {});
      socket.once('open', () => resolve(101));
      socket.once('unexpected-response', (_request, response) => resolve(response.statusCode ?? 0));
    });
  expect(await open()).toBe(101);
  expect(await open()).toBe(429);
});

it('holds HTTP to so many connections in all', async () => {
  await start({ TILLGATE_CONNECTIONS: '10' });
  const held: Stranger[] = [];
  for (let index = 0; index < 11; index += 1) held.push(await stranger(gateway.addresses().baseUrl));
  await Promise.race(held.map(({ closed }) => closed));
});
