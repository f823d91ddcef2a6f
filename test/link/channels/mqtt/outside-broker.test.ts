// The gateway as a client of an outside MQTT broker, played by an aedes in this process. Pauses are in virtual time.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { Aedes, type AedesOptions, type Client, type ConnectPacket, type PublishPacket } from 'aedes';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MqttChannel } from '../../../../src/link/channels/mqtt/mqtt.ts';
import { mqttTopics } from '../../../../src/link/protocol.ts';
import { command, deviceA, gatewayId } from '../../../contract/channel.ts';
import { createRecorder, type Recorder } from '../../../contract/recorder.ts';
import { quietLogger } from '../../../support/quiet-logger.ts';
import { seededRandom } from '../../../support/seeded-random.ts';
import { until } from '../../../support/until.ts';
import { createVirtualClock, type VirtualClock } from '../../../support/virtual-clock.ts';

const { deviceId } = deviceA;
let clock: VirtualClock;
let broker: Aedes;
let server: Server;
let sockets: Set<Socket>;
let logins: ConnectPacket[];
let published: { packet: PublishPacket; client: Client }[];
let recorder: Recorder;
let channel: MqttChannel;

async function open(rules: AedesOptions = {}): Promise<void> {
  broker = await Aedes.createBroker({
    preConnect: (_client, packet, done) => {
      logins.push(packet);
      done(null, true);
    },
    authorizePublish: (client, packet, done) => {
      if (client) published.push({ packet, client });
      done(null);
    },
    ...rules,
  });
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    broker.handle(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  channel = new MqttChannel({ url: `mqtt://127.0.0.1:${port}`, gatewayId, clock, random: seededRandom(1), logger: quietLogger });
}

beforeEach(() => {
  clock = createVirtualClock();
  sockets = new Set();
  logins = [];
  published = [];
  recorder = createRecorder();
});
afterEach(async () => {
  await channel.stop();
  await new Promise<void>((resolve) => broker.close(() => resolve()));
  for (const socket of sockets) socket.destroy();
  await new Promise<void>((resolve) => server.close(() => resolve()));
});

const words = () => recorder.told.map(({ what }) => what);
const cutAll = () => {
  for (const socket of sockets) socket.destroy();
};

describe('the gateway at an outside broker', () => {
  it('is up once it has subscribed to answers and presence, with its own client id and a clean session', async () => {
    const granted: unknown[] = [];
    await open({
      authorizeSubscribe: (_client, subscription, done) => {
        granted.push([subscription.topic, subscription.qos]);
        done(null, subscription);
      },
    });
    expect(channel.isConnected).toBe(false);
    await channel.start(recorder);
    expect([channel.isConnected, words()]).toEqual([true, ['up']]);
    expect(granted).toEqual([
      [mqttTopics.answers('+', gatewayId), 0],
      [mqttTopics.presence('+'), 0],
    ]);
    expect(logins).toMatchObject([{ clientId: `tillgate-${gatewayId}`, clean: true, keepalive: 15, protocolVersion: 4 }]);
    expect(clock.pending).toBe(0);
  });

  it('sends a command once, at QoS 0, and retains nothing', async () => {
    await open();
    await channel.start(recorder);
    const sent = command();
    await channel.send(deviceId, sent, 1_000);
    await until(() => published.length > 0);
    expect(published.map(({ packet }) => [packet.topic, packet.qos, packet.retain, JSON.parse(String(packet.payload))])).toEqual([
      [mqttTopics.commands(deviceId), 0, false, sent],
    ]);
  });

  it('receives messages of its devices until it is stopped, and nothing after that', async () => {
    await open();
    await channel.start(recorder);
    const presence = { v: 1, device: deviceId, online: true, clock: new Date(clock.now()).toISOString() };
    const say = () =>
      new Promise<void>((resolve) => {
        const packet = {
          cmd: 'publish',
          topic: mqttTopics.presence(deviceId),
          payload: JSON.stringify(presence),
          qos: 0,
          dup: false,
        } as const;
        broker.publish({ ...packet, retain: false }, () => resolve());
      });
    await say();
    await recorder.until(({ what }) => what === 'presence', 'the presence');
    await channel.stop();
    await say();
    await clock.advance(60_000);
    expect(words()).toEqual(['up', 'presence']);
    expect([channel.isConnected, clock.pending, logins.length]).toEqual([false, 0, 1]);
    await expect(channel.send(deviceId, command(), 1_000)).rejects.toMatchObject({ name: 'ChannelDown' });
  });

  it('reports down once when the connection breaks, and up again after a back-off that starts over each time', async () => {
    await open();
    await channel.start(recorder);
    for (let round = 1; round <= 3; round += 1) {
      cutAll();
      await until(() => !channel.isConnected);
      await expect(channel.send(deviceId, command(), 1_000)).rejects.toMatchObject({ name: 'ChannelDown' });
      await clock.advance(99);
      expect(logins).toHaveLength(round);
      await clock.advance(101);
      await until(() => channel.isConnected);
    }
    expect(words()).toEqual(['up', 'down', 'up', 'down', 'up', 'down', 'up']);
    expect(clock.pending).toBe(0);
  });

  it('is down without the right to subscribe, and retries with back-off', async () => {
    await open({
      authorizeSubscribe: (_client, subscription, done) => done(null, subscription.topic.endsWith('presence') ? subscription : null),
    });
    await channel.start(recorder);
    expect([channel.isConnected, words()]).toEqual([false, []]);
    await expect(channel.send(deviceId, command(), 1_000)).rejects.toMatchObject({ name: 'ChannelDown' });
    for (const [tries, ms] of [
      [2, 200],
      [3, 400],
      [4, 800],
    ] as const) {
      await until(() => clock.pending === 1);
      await clock.advance(ms);
      await until(() => logins.length === tries);
      await until(() => clock.pending === 1 && sockets.size === 0);
    }
    expect(words()).toEqual([]);
  });

  it('starts even if its login is refused, and retries', async () => {
    let isOpen = false;
    await open({
      authenticate: (_client, _username, _password, done) =>
        isOpen ? done(null, true) : done(Object.assign(new Error('no'), { returnCode: 4 }), null),
    });
    await channel.start(recorder);
    expect([channel.isConnected, words()]).toEqual([false, []]);
    isOpen = true;
    await until(() => clock.pending === 1);
    await clock.advance(200);
    await until(() => channel.isConnected);
    expect(words()).toEqual(['up']);
  });

  it('does not reconnect if stopped during the back-off', async () => {
    await open();
    await channel.start(recorder);
    cutAll();
    await until(() => !channel.isConnected);
    await channel.stop();
    await clock.advance(60_000);
    expect([logins.length, words(), clock.pending]).toEqual([1, ['up', 'down'], 0]);
  });
});
