// A real RabbitMQ with the configuration that the project ships, asking broker-auth over HTTP: its queue and its MQTT plugin keep the channel's contract.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Channel as AmqpChannel, connect } from 'amqplib';
import { connectAsync } from 'mqtt';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import { type BrokerQuestion, decideResource, decideTopic, decideUser, decideVhost } from '../../src/link/broker-auth.ts';
import { createRabbitmqConnections } from '../../src/link/brokers/rabbitmq-connections.ts';
import { MqttChannel } from '../../src/link/channels/mqtt/mqtt.ts';
import { RabbitmqChannel } from '../../src/link/channels/queue/rabbitmq.ts';
import { maxMessageBytes, mqttTopics, queueNames } from '../../src/link/protocol.ts';
import type { CommandMessage } from '../../src/link/wire-schemas.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { type ShippedRabbitmq, startShippedRabbitmq } from '../support/servers/shipped-rabbitmq.ts';
import { answerTo, channelContract, checkDevice, command, deviceA, deviceB, gatewayId } from './channel.ts';
import { foreignTopics, intrudeOverMqtt } from './mqtt-intruder.ts';
import { createRecorder } from './recorder.ts';
import { connectAmqpDevice, connectMqttDevice, mqttOptions } from './test-device.ts';

const asked: { path: string; question: BrokerQuestion; decision: string }[] = [];
const auth = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  const question = Object.fromEntries(new URLSearchParams(body));
  const path = request.url?.split('/').at(-1) ?? '';
  const decision =
    path === 'user'
      ? await decideUser(question, checkDevice)
      : path === 'vhost'
        ? decideVhost(question)
        : path === 'resource'
          ? decideResource(question)
          : decideTopic(question);
  asked.push({ path, question, decision });
  response.end(decision);
});

let server: ShippedRabbitmq;

beforeAll(async () => {
  await new Promise<void>((resolve) => auth.listen(0, '127.0.0.1', resolve));
  const { port } = auth.address() as AddressInfo;
  server = await startShippedRabbitmq(port);
}, 90_000);

afterAll(async () => {
  await server?.stop();
  auth.close();
});

const shared = { gatewayId, clock: systemClock, random: systemRandom, logger: quietLogger };
const host = () => `127.0.0.1:${server.port}`;

channelContract(
  'queue over RabbitMQ',
  async () => ({
    createChannel: () => new RabbitmqChannel({ url: server.url, ...shared }),
    connectDevice: (login) => connectAmqpDevice(host(), login),
    intrude: intrudeOverAmqp,
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

it('an answer without user-id is dropped: nobody vouches for it', async () => {
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

it('a device that is cut off loses its connections, by AMQP and by MQTT, and nobody else does', async () => {
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

it('a message of more than 2 MiB by MQTT reaches nobody, and everybody else goes on', async () => {
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
        asked.some((entry) => entry.path === path && entry.decision === decision),
        `${path} ${decision}`,
      ).toBe(true);
    }
  }
});

/** Device A over AMQP; each try on a connection of its own, because a denial closes the channel. */
async function intrudeOverAmqp() {
  const overheard: CommandMessage[] = [];
  const forgedAnswer = () => Buffer.from(JSON.stringify(answerTo(command(), deviceB.deviceId)));
  const forgedPresence = () =>
    Buffer.from(JSON.stringify({ v: 1, device: deviceB.deviceId, online: true, clock: new Date().toISOString() }));
  const answerKey = queueNames.answerKey(deviceB.deviceId, gatewayId);
  const hear = (channel: AmqpChannel, queue: string) =>
    channel.consume(queue, (message) => message && overheard.push(JSON.parse(message.content.toString())), { noAck: true });
  const ownQueue = async (channel: AmqpChannel, name = queueNames.commands(deviceA.deviceId)) => {
    await channel.assertQueue(name, { exclusive: true, autoDelete: true, durable: false });
    return name;
  };
  const settled = (channel: AmqpChannel) =>
    channel.assertQueue(`mqtt-subscription-${deviceA.deviceId}qos0`, { exclusive: true, autoDelete: true });
  const denied: [string, (channel: AmqpChannel) => Promise<unknown>][] = [
    [
      'answer under B',
      async (channel) => {
        channel.publish(queueNames.answersExchange, answerKey, forgedAnswer(), { userId: deviceA.deviceId });
        await settled(channel);
      },
    ],
    [
      'answer under B as user B',
      async (channel) => {
        channel.publish(queueNames.answersExchange, answerKey, forgedAnswer(), { userId: deviceB.deviceId });
        await settled(channel);
      },
    ],
    [
      'presence under B',
      async (channel) => {
        channel.publish(queueNames.answersExchange, queueNames.presenceKey(deviceB.deviceId), forgedPresence(), {
          userId: deviceA.deviceId,
        });
        await settled(channel);
      },
    ],
    ...foreignTopics.map(([topic, text]): [string, (channel: AmqpChannel) => Promise<unknown>] => [
      `${topic} by the exchange of MQTT`,
      async (channel) => {
        channel.publish('amq.topic', topic.replaceAll('/', '.'), Buffer.from(text()));
        await settled(channel);
      },
    ]),
    [
      'command into the queue of B',
      async (channel) => {
        channel.publish('', queueNames.commands(deviceB.deviceId), Buffer.from(JSON.stringify(command({ name: 'Pay' }))));
        await settled(channel);
      },
    ],
    ['consume the queue of B', (channel) => hear(channel, queueNames.commands(deviceB.deviceId))],
    ['declare the queue of B', (channel) => ownQueue(channel, queueNames.commands(deviceB.deviceId))],
    ['declare any queue', (channel) => ownQueue(channel, 'elsewhere')],
    ['delete the queue of B', (channel) => channel.deleteQueue(queueNames.commands(deviceB.deviceId))],
    ['overhear all answers', async (channel) => channel.bindQueue(await ownQueue(channel), queueNames.answersExchange, '#')],
    [
      'overhear MQTT',
      async (channel) => channel.bindQueue(await ownQueue(channel, `mqtt-subscription-${deviceA.deviceId}qos0`), 'amq.topic', '#'),
    ],
    ['declare an exchange', (channel) => channel.assertExchange('elsewhere', 'topic')],
    ['delete the exchange', (channel) => channel.deleteExchange(queueNames.answersExchange)],
  ];
  // A name that is added to the protocol needs its tries here.
  const triesOf = {
    commands: ['command into the queue of B', 'consume the queue of B', 'declare the queue of B', 'delete the queue of B'],
    answersExchange: ['overhear all answers', 'delete the exchange'],
    answerKey: ['answer under B', 'answer under B as user B'],
    presenceKey: ['presence under B'],
  } satisfies Record<keyof typeof queueNames, string[]>;
  expect(denied.map(([what]) => what)).toEqual(expect.arrayContaining(Object.values(triesOf).flat()));
  for (const [what, attempt] of denied) {
    const model = await connect(`amqp://${deviceA.deviceId}:${deviceA.secret}@${host()}`);
    model.on('error', () => {});
    const channel = await model.createChannel();
    channel.on('error', () => {});
    await expect(attempt(channel), what).rejects.toThrow();
    await model.close().catch(() => {});
  }
  return { overheard: () => overheard, async end() {} };
}
