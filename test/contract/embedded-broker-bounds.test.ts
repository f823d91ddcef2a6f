// What unauthenticated clients and one wild device can do at the embedded broker's port: nothing that the others would notice.
import { connect as connectTcp, type Socket } from 'node:net';
import { connectAsync } from 'mqtt';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/kernel/system.ts';
import type { GateLimits } from '../../src/link/channels/mqtt/connection-gate.ts';
import { EmbeddedBroker } from '../../src/link/channels/mqtt/embedded-broker.ts';
import { mqttTopics } from '../../src/link/protocol.ts';
import { type RecordingLogger, recordingLogger } from '../support/quiet-logger.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { answerTo, checkDevice, command, deviceA, deviceB, gatewayId } from './channel.ts';
import { createRecorder, type Recorder } from './recorder.ts';
import { connectMqttDevice, mqttOptions } from './test-device.ts';

let broker: EmbeddedBroker;
let recorder: Recorder;
let logger: RecordingLogger;
const ends: (() => void)[] = [];

async function open(limits: Partial<GateLimits> = {}, clock = systemClock) {
  broker = new EmbeddedBroker({ host: '127.0.0.1', port: 0, gatewayId, clock, logger, limits, checkDevice });
  await broker.start(recorder);
}
const url = () => `mqtt://127.0.0.1:${broker.port}`;

beforeEach(() => {
  recorder = createRecorder();
  logger = recordingLogger();
});
afterEach(async () => {
  for (const end of ends.splice(0)) end();
  await broker.stop();
});

interface Stranger {
  socket: Socket;
  closed: Promise<void>;
}

function stranger(): Promise<Stranger> {
  const socket = connectTcp(broker.port ?? 0, '127.0.0.1');
  ends.push(() => socket.destroy());
  socket.on('error', () => {});
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return new Promise((resolve) => socket.once('connect', () => resolve({ socket, closed })));
}

/** A device on a bare socket: what it sends is up to the test. */
async function loggedIn({ deviceId, secret } = deviceA, keepaliveS = 60): Promise<Stranger> {
  const connection = await stranger();
  const text = (value: string) => Buffer.concat([Buffer.from([value.length >> 8, value.length & 0xff]), Buffer.from(value)]);
  const body = Buffer.concat([text('MQTT'), Buffer.from([4, 0xc2, 0, keepaliveS]), text(deviceId), text(deviceId), text(secret)]);
  connection.socket.write(Buffer.concat([Buffer.from([0x10, body.length]), body]));
  const [type, , , code] = await new Promise<Buffer>((resolve) => connection.socket.once('data', resolve));
  expect([type, code]).toEqual([0x20, 0]);
  return connection;
}

function publishPacket(topic: string, payload: string): Buffer {
  const body = Buffer.concat([Buffer.from([topic.length >> 8, topic.length & 0xff]), Buffer.from(topic), Buffer.from(payload)]);
  const length = body.length < 128 ? [body.length] : [(body.length % 128) | 0x80, Math.floor(body.length / 128)];
  return Buffer.concat([Buffer.from([0x30, ...length]), body]);
}

async function worksFor(login = deviceB): Promise<void> {
  const device = await connectMqttDevice(url(), login);
  const sent = command();
  await broker.send(login.deviceId, sent, 1_000);
  device.answer(gatewayId, answerTo(await device.nextCommand(), login.deviceId));
  await recorder.until((told) => told.what === 'answer' && told.answer.id === sent.id, 'the answer');
  await device.close();
}

describe('unauthenticated clients', () => {
  it('who hold connections open make room for the next, the oldest first, and keep no device out', async () => {
    await open({ withoutLoginPerAddress: 5 });
    const silent: Stranger[] = [];
    for (let count = 0; count < 8; count += 1) silent.push(await stranger());
    await Promise.all(silent.slice(0, 3).map(({ closed }) => closed));
    expect(silent.slice(3).map(({ socket }) => socket.destroyed)).toEqual([false, false, false, false, false]);
    await worksFor();
  });

  it('have a deadline for the login, also if they send a little of it now and then', async () => {
    const clock = createVirtualClock();
    await open({ loginWithinMs: 10_000 }, clock);
    const { socket, closed } = await stranger();
    socket.write(Buffer.from([0x10, 0x40, 0]));
    await recorder.until(({ what }) => what === 'up', 'up');
    for (let count = 0; count < 10; count += 1) {
      await clock.advance(1_000);
      socket.write(Buffer.from([0]));
    }
    await closed;
  });

  it('cannot fill the log, neither with long names nor with many', async () => {
    await open();
    // A login of more than 16 KiB is cut off, unanswered.
    for (let count = 0; count < 40; count += 1) {
      const login = { ...mqttOptions(deviceA), clientId: `${count}${'x'.repeat(12_000)}` };
      await expect(connectAsync(url(), login)).rejects.toThrow();
    }
    const lines = logger.lines.filter(({ message }) => message === 'the login of a device was refused');
    expect(lines.length).toBeLessThanOrEqual(20);
    expect(lines.length).toBeGreaterThan(0);
    expect(JSON.stringify(logger.lines).length).toBeLessThan(20_000);
  });
});

describe('one wild device', () => {
  function flood(socket: Socket, messages: number): void {
    const text = JSON.stringify({ v: 1, device: deviceA.deviceId, online: true, clock: new Date().toISOString() });
    const one = publishPacket(mqttTopics.presence(deviceA.deviceId), text);
    const batch = Buffer.concat(Array.from({ length: 1_000 }, () => one));
    let written = 0;
    const pump = () => {
      while (!socket.destroyed && written < messages) {
        written += 1_000;
        if (!socket.write(batch)) return void socket.once('drain', pump);
      }
    };
    pump();
  }
  const heard = () => recorder.told.filter(({ what }) => what === 'presence').length;

  it('that floods presence is read slowly, and its neighbour waits for nothing', async () => {
    const clock = createVirtualClock();
    await open({}, clock);
    const { socket } = await loggedIn();
    flood(socket, 10_000);
    await expect.poll(heard).toBeGreaterThan(500);
    await worksFor();
    const early = heard();
    expect(early).toBeLessThan(3_000);
    await worksFor();
    expect(heard()).toBe(early);
    await clock.advance(250);
    await expect.poll(heard).toBeGreaterThan(early);
    for (let count = 0; heard() < 10_000 && count < 200; count += 1) {
      await clock.advance(250);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await expect.poll(heard).toBe(10_000);
  });

  it('is not cut off for being read slowly, however short its keep-alive', async () => {
    await open();
    const { socket } = await loggedIn(deviceA, 1);
    flood(socket, 60_000);
    const startedAt = performance.now();
    await expect.poll(() => performance.now() - startedAt > 2_500 && heard() < 60_000, { timeout: 5_000 }).toBe(true);
    expect(socket.destroyed).toBe(false);
    expect(recorder.told.filter(({ what }) => what === 'gone')).toEqual([]);
  });

  it('is cut off over pings without end', async () => {
    await open();
    const { socket, closed } = await loggedIn();
    socket.write(Buffer.alloc(20_000).fill(Buffer.from([0xc0, 0])));
    await closed;
    expect(recorder.told).toContainEqual({ what: 'dropped', reason: 'over-budget' });
    await worksFor(deviceA);
  });

  it('is cut off over a subscription to thousands of topics', async () => {
    await open();
    const { socket, closed } = await loggedIn();
    const filters = Buffer.alloc(8_000).fill(Buffer.from([0, 1, 0x61, 0]));
    socket.write(Buffer.concat([Buffer.from([0x82, 0xc2, 0x3e, 0, 1]), filters]));
    await closed;
    expect(recorder.told).toContainEqual({ what: 'dropped', reason: 'too-large' });
  });

  it('that logs in without end is asked to wait, and let in again later', async () => {
    const clock = createVirtualClock();
    await open({}, clock);
    let refused = 0;
    for (let count = 0; count < 70; count += 1) {
      await connectAsync(url(), mqttOptions(deviceA)).then(
        (client) => client.end(true),
        (error: { code?: number }) => {
          expect(error.code).toBe(3);
          refused += 1;
        },
      );
    }
    expect(refused).toBe(10);
    await worksFor(deviceB);
    await clock.advance(5_000);
    await worksFor(deviceA);
  });

  it('may answer only to addresses that a gateway can have', async () => {
    await open();
    for (const replyTo of ['a/b', 'x'.repeat(65), 'presence', 'a b']) {
      const { socket, closed } = await loggedIn();
      socket.write(publishPacket(mqttTopics.answers(deviceA.deviceId, replyTo), '{}'));
      await closed;
    }
    // Told of the device that tried, and nothing of it was read.
    const dropped = { what: 'dropped', reason: 'unknown-address' };
    expect(recorder.told.filter(({ what }) => what === 'dropped' || what === 'answer')).toEqual([dropped, dropped, dropped, dropped]);
  });
});
