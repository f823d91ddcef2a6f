// The embedded broker over TLS: the same channel, with the bounds of the port before the handshake as well.
import { connect as connectTcp } from 'node:net';
import { createSecureContext } from 'node:tls';
import { connectAsync } from 'mqtt';
import { afterEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../src/kernel/clock.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { EmbeddedBroker } from '../../src/link/channels/mqtt/embedded-broker.ts';
import { mqttTopics } from '../../src/link/protocol.ts';
import { renewed, selfSigned } from '../http/self-signed.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { answerTo, checkDevice, command, deviceA, deviceB, gatewayId } from './channel.ts';
import { createRecorder, type Recorder } from './recorder.ts';
import { connectMqttDevice, type Login, mqttOptions } from './test-device.ts';

let broker: EmbeddedBroker;
let recorder: Recorder;
let inUse = selfSigned;

async function open(port: number | undefined, clock: Clock = systemClock) {
  inUse = selfSigned;
  recorder = createRecorder();
  broker = new EmbeddedBroker({
    host: '127.0.0.1',
    port,
    secure: { port: 0, context: () => createSecureContext(inUse) },
    gatewayId,
    clock,
    logger: quietLogger,
    checkDevice,
  });
  await broker.start(recorder);
}
afterEach(() => broker.stop());

const secureUrl = () => `mqtts://127.0.0.1:${broker.securePort}`;

async function worksOverTls(login: Login, ca: string): Promise<() => Promise<void>> {
  const client = await connectAsync(secureUrl(), { ...mqttOptions(login), ca });
  client.on('message', (_topic, payload) => {
    const answer = answerTo(JSON.parse(payload.toString()), login.deviceId);
    client.publish(mqttTopics.answers(login.deviceId, gatewayId), JSON.stringify(answer), { qos: 1 });
  });
  await client.subscribeAsync(mqttTopics.commands(login.deviceId));
  const roundTrip = async () => {
    const sent = command();
    await broker.send(login.deviceId, sent, 1_000);
    await recorder.until((told) => told.what === 'answer' && told.answer.id === sent.id, 'the answer');
  };
  await roundTrip();
  return roundTrip;
}

describe('the embedded broker over TLS', () => {
  it('carries commands and answers, on that port alone if no other is wanted', async () => {
    await open(undefined);
    await worksOverTls(deviceA, selfSigned.cert);
    expect(broker.port).toBeUndefined();
  });

  it('may be open beside plain MQTT, and a device that changes over is one device', async () => {
    await open(0);
    const plain = await connectMqttDevice(`mqtt://127.0.0.1:${broker.port}`, deviceA);
    await worksOverTls(deviceA, selfSigned.cert);
    await plain.ended;
  });

  it('shows a renewed certificate to new connections and keeps those that stand', async () => {
    await open(undefined);
    const roundTrip = await worksOverTls(deviceA, selfSigned.cert);
    inUse = renewed;
    await worksOverTls(deviceB, renewed.cert);
    await expect(connectAsync(secureUrl(), { ...mqttOptions(deviceB), ca: selfSigned.cert })).rejects.toThrow();
    await roundTrip();
  });

  it('ends a client that speaks no TLS, and one that never finishes the handshake by the deadline', async () => {
    const clock = createVirtualClock();
    await open(undefined, clock);
    const connection = async (bytes: Buffer) => {
      const socket = connectTcp(broker.securePort ?? 0, '127.0.0.1');
      socket.on('error', () => {});
      const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
      await new Promise<void>((resolve) => socket.write(bytes, () => resolve()));
      return { socket, closed };
    };
    const plain = await connection(Buffer.from([0x10, 0x02, 0, 0]));
    await plain.closed;
    const slow = await connection(Buffer.from([0x16, 0x03, 0x01, 0x02]));
    await worksOverTls(deviceA, selfSigned.cert);
    expect(slow.socket.destroyed).toBe(false);
    await clock.advance(10_000);
    await slow.closed;
  });
});
