// A real RabbitMQ with the configuration that the project ships, asking broker-auth over HTTP: its queue and its MQTT plugin keep the channel's contract.
import { connect } from 'amqplib';
import { connectAsync } from 'mqtt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import { createRabbitmqConnections } from '../../src/link/brokers/rabbitmq-connections.ts';
import { MqttChannel } from '../../src/link/channels/mqtt/mqtt.ts';
import { RabbitmqChannel } from '../../src/link/channels/queue/rabbitmq.ts';
import { maxMessageBytes, mqttTopics, queueNames } from '../../src/link/protocol.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { intrudeOverAmqp } from './amqp-intruder.ts';
import { type AskedRabbitmq, startAskedRabbitmq } from './asked-rabbitmq.ts';
import { answerTo, channelContract, command, deviceA, deviceB, gatewayId } from './channel.ts';
import { intrudeOverMqtt } from './mqtt-intruder.ts';
import { detoursContract } from './rabbitmq-detours.ts';
import { loginsContract } from './rabbitmq-logins.ts';
import { createRecorder } from './recorder.ts';
import { connectAmqpDevice, connectMqttDevice, mqttOptions } from './test-device.ts';

let server: AskedRabbitmq;

beforeAll(async () => {
  server = await startAskedRabbitmq();
}, 90_000);

afterAll(() => server?.stop());

// First, before the broker remembers any answer.
describe('a login', () => loginsContract(() => server));
describe('a device that tries detours', () => detoursContract(() => server));

const shared = { gatewayId, clock: systemClock, random: systemRandom, logger: quietLogger };
const host = () => `127.0.0.1:${server.port}`;

channelContract(
  'queue over RabbitMQ',
  async () => ({
    createChannel: () => new RabbitmqChannel({ url: server.url, ...shared }),
    connectDevice: (login) => connectAmqpDevice(host(), login),
    intrude: () => intrudeOverAmqp(host()),
    secondConnection: 'is-refused',
    hearsOfDeath: false,
    broker: server,
    async stop() {},
  }),
  'outside',
);

channelContract(
  'MQTT over RabbitMQ',
  async () => ({
    createChannel: () => new MqttChannel({ url: server.mqttUrl, ...shared }),
    connectDevice: (login) => connectMqttDevice(`mqtt://127.0.0.1:${server.mqttPort}`, login),
    intrude: () => intrudeOverMqtt(`mqtt://127.0.0.1:${server.mqttPort}`),
    secondConnection: 'replaces-unannounced',
    hearsOfDeath: true,
    broker: server,
    async stop() {},
  }),
  'outside',
);

it('an answer without user-id is dropped: no device vouches for it', async () => {
  const channel = new RabbitmqChannel({ url: server.url, ...shared });
  const recorder = createRecorder();
  await channel.start(recorder);
  await recorder.until(({ what }) => what === 'up', 'up');
  const model = await connect(`amqp://${deviceA.deviceId}:${deviceA.secret}@${host()}`);
  const anonymous = await model.createChannel();
  anonymous.publish(
    queueNames.answersExchange,
    queueNames.answerKey(deviceA.deviceId, gatewayId),
    Buffer.from(JSON.stringify(answerTo(command(), deviceA.deviceId))),
  );
  expect(await recorder.until(({ what }) => what === 'dropped', 'dropped')).toMatchObject({ reason: 'unknown-sender' });
  await model.close();
  await channel.stop();
});

it('a device that is cut off loses its connections, by AMQP and by MQTT, and no other device does', async () => {
  const connections = createRabbitmqConnections({ ...shared, apiUrl: server.apiUrl });
  const cutOff = [await connectAmqpDevice(host(), deviceA), await connectMqttDevice(`mqtt://127.0.0.1:${server.mqttPort}`, deviceA)];
  const other = await connectMqttDevice(`mqtt://127.0.0.1:${server.mqttPort}`, deviceB);
  let isOtherEnded = false;
  void other.ended.then(() => {
    isOtherEnded = true;
  });
  connections.end(deviceA.deviceId);
  await Promise.all(cutOff.map(({ ended }) => ended));
  expect(isOtherEnded).toBe(false);
  connections.stop();
  await other.close();
});

it('keeps no retained message of a device: no presence, no answer to an address that it made up, no will', async () => {
  const { deviceId } = deviceA;
  const left = [mqttTopics.presence(deviceId), mqttTopics.answers(deviceId, 'made-up')];
  const leftByWill = mqttTopics.answers(deviceId, 'made-up-for-the-will');
  const witness = await connectAsync(server.mqttUrl, { protocolVersion: 4, reconnectPeriod: 0 });
  const willCame = new Promise((resolve) => witness.once('message', resolve));
  await witness.subscribeAsync(leftByWill, { qos: 1 });

  const will = { topic: leftByWill, payload: Buffer.from('left behind'), qos: 1, retain: true } as const;
  const device = await connectAsync(`mqtt://127.0.0.1:${server.mqttPort}`, { ...mqttOptions(deviceA), will });
  // The confirmation comes after RabbitMQ has kept the message, where it keeps any.
  for (const topic of left) await device.publishAsync(topic, 'left behind', { qos: 1, retain: true });
  device.stream.destroy();
  await willCame;
  await witness.endAsync();

  const later = await connectAsync(server.mqttUrl, { protocolVersion: 4, reconnectPeriod: 0 });
  const found: string[] = [];
  const end = 'tillgate/test/end';
  const allHeard = new Promise<void>((resolve) => {
    later.on('message', (topic) => (topic === end ? resolve() : void found.push(topic)));
  });
  // RabbitMQ hands out what it keeps only to a subscription of exactly its topic.
  await later.subscribeAsync([...left, leftByWill, end], { qos: 1 });
  await later.publishAsync(end, '', { qos: 1 });
  await allHeard;
  expect(found).toEqual([]);
  await later.endAsync();
});

it('a message of more than 2 MiB by MQTT reaches no gateway, and all other devices go on', async () => {
  const channel = new MqttChannel({ url: server.mqttUrl, ...shared });
  const recorder = createRecorder();
  await channel.start(recorder);
  await recorder.until(({ what }) => what === 'up', 'up');
  const boundless = await connectAsync(`mqtt://127.0.0.1:${server.mqttPort}`, mqttOptions(deviceA));
  boundless.on('error', () => {});
  const closed = new Promise<void>((resolve) => boundless.once('close', () => resolve()));
  const large = Buffer.alloc(2 * maxMessageBytes + 1, ' ');
  boundless.publish(mqttTopics.answers(deviceA.deviceId, gatewayId), large, { qos: 1 }, () => {});
  // Some versions of RabbitMQ end the connection, others ignore the message: after this round trip either is done.
  await Promise.race([boundless.subscribeAsync(mqttTopics.commands(deviceA.deviceId)).catch(() => {}), closed]);
  const other = await connectMqttDevice(`mqtt://127.0.0.1:${server.mqttPort}`, deviceB);
  other.answer(gatewayId, answerTo(command(), deviceB.deviceId));
  await recorder.until(({ what }) => what === 'answer', 'the answer of the other');
  expect(recorder.told.filter(({ what }) => what === 'dropped')).toEqual([]);
  boundless.end(true);
  await other.close();
  await channel.stop();
});

it('RabbitMQ asked about logins, vhosts, resources and topics, by POST', () => {
  for (const path of ['user', 'vhost', 'resource', 'topic']) {
    for (const decision of path === 'vhost' ? ['allow'] : ['allow', 'deny']) {
      expect(
        server.asked.some((entry) => entry.path === path && entry.decision === decision),
        `${path} ${decision}`,
      ).toBe(true);
    }
  }
});
