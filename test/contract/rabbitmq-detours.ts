// What RabbitMQ does not ask about: where a message goes beside its routing key (CC, BCC, dead letters, bindings of exchanges). Device A tries
// each of these ways towards device B, on a real RabbitMQ with the shipped configuration: B gets no command, nobody hears A under B's name.
import { connect } from 'amqplib';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { systemClock, systemRandom } from '../../src/kernel/system.ts';
import { MqttChannel } from '../../src/link/channels/mqtt/mqtt.ts';
import { RabbitmqChannel } from '../../src/link/channels/queue/rabbitmq.ts';
import { mqttTopics, queueNames } from '../../src/link/protocol.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { type Attempt, expectRefusal, ownQueue, tryAsDeviceA } from './amqp-intruder.ts';
import type { AskedRabbitmq } from './asked-rabbitmq.ts';
import { answerTo, command, deviceA, deviceB, gatewayId } from './channel.ts';
import { foreignTopics } from './mqtt-intruder.ts';
import { createRecorder, type Recorder } from './recorder.ts';
import { connectAmqpDevice, connectMqttDevice, type TestDevice } from './test-device.ts';

const { answersExchange, answerKey, presenceKey } = queueNames;
const otherGatewayId = 'gateway-2';
const dotted = (topic: string) => topic.replaceAll('/', '.');
const ownKey = dotted(mqttTopics.presence(deviceA.deviceId));
const isOfB = (told: object) => 'deviceId' in told && told.deviceId === deviceB.deviceId;

let server: AskedRabbitmq;
const host = () => `127.0.0.1:${server.port}`;
const mqttUrl = () => `mqtt://127.0.0.1:${server.mqttPort}`;

interface Stage {
  queue: RabbitmqChannel;
  mqtt: MqttChannel;
  heard: { queue: Recorder; mqtt: Recorder; otherQueue: Recorder };
  victims: { queue: TestDevice; mqtt: TestDevice };
}
let stage: Stage;
let close: () => Promise<void>;

async function openStage(): Promise<void> {
  const shared = { gatewayId, clock: systemClock, random: systemRandom, logger: quietLogger };
  const channels = {
    queue: new RabbitmqChannel({ url: server.url, ...shared }),
    mqtt: new MqttChannel({ url: server.mqttUrl, ...shared }),
    otherQueue: new RabbitmqChannel({ url: server.url, ...shared, gatewayId: otherGatewayId }),
  };
  const heard = { queue: createRecorder(), mqtt: createRecorder(), otherQueue: createRecorder() };
  for (const name of ['queue', 'mqtt', 'otherQueue'] as const) {
    await channels[name].start(heard[name]);
    await heard[name].until(({ what }) => what === 'up', 'up');
  }
  const victims = { queue: await connectAmqpDevice(host(), deviceB), mqtt: await connectMqttDevice(mqttUrl(), deviceB) };
  stage = { queue: channels.queue, mqtt: channels.mqtt, heard, victims };
  close = async () => {
    for (const victim of Object.values(victims)) await victim.close();
    for (const channel of Object.values(channels)) await channel.stop();
  };
}

/** After a command and an answer of B's own on either channel: whatever was sent before would have come before them. */
async function expectNothingForgedForB(): Promise<void> {
  for (const name of ['queue', 'mqtt'] as const) {
    const [victim, recorder] = [stage.victims[name], stage.heard[name]];
    const sent = command();
    await stage[name].send(deviceB.deviceId, sent, 5_000);
    await expect.poll(() => victim.commands.some(({ id }) => id === sent.id)).toBe(true);
    victim.answer(gatewayId, answerTo(sent, deviceB.deviceId));
    await recorder.until((told) => told.what === 'answer' && told.answer.id === sent.id, 'the answer of B');
    expect(victim.commands).toEqual([sent]);
    expect(recorder.told.filter(isOfB)).toMatchObject([{ what: 'answer', answer: { id: sent.id } }]);
  }
  expect(stage.heard.otherQueue.told.filter(isOfB)).toEqual([]);
}

/** Own queue, whose messages die at once and are to go on to somebody else. */
const deadLetters =
  (exchange: string, key: string): Attempt =>
  (channel) =>
    ownQueue(channel, { arguments: { 'x-message-ttl': 0, 'x-dead-letter-exchange': exchange, 'x-dead-letter-routing-key': key } });

const refused: [string, Attempt][] = [
  ...foreignTopics.flatMap(([topic, text]): [string, Attempt][] => [
    [`dead letters to ${topic}`, deadLetters('amq.topic', dotted(topic))],
    ...['CC', 'BCC'].map((header): [string, Attempt] => [
      `${header} to ${topic}`,
      async (channel) => channel.publish('amq.topic', ownKey, Buffer.from(text()), { [header]: [dotted(topic)] }),
    ]),
  ]),
  ['dead letters into the queue of B', deadLetters('', queueNames.commands(deviceB.deviceId))],
  ['its own topic of MQTT', async (channel) => channel.publish('amq.topic', ownKey, Buffer.from('{}'))],
  ...['qos0', 'qos1'].map((level): [string, Attempt] => [
    `its own queue of MQTT, ${level}`,
    (channel) => ownQueue(channel, { name: `mqtt-subscription-${deviceA.deviceId}${level}` }),
  ]),
  ...['amq.topic', answersExchange].map((source): [string, Attempt] => [
    `all of ${source} into the answers`,
    (channel) => channel.bindExchange(answersExchange, source, dotted(mqttTopics.commands(deviceA.deviceId))),
  ]),
  ['the answers into MQTT', (channel) => channel.bindExchange('amq.topic', answersExchange, '#')],
  [
    'an exchange that passes on what nobody takes',
    (channel) => channel.assertExchange(answersExchange, 'topic', { alternateExchange: 'amq.topic' }),
  ],
];

export function detoursContract(running: () => AskedRabbitmq): void {
  beforeAll(() => {
    server = running();
  });
  beforeEach(openStage);
  afterEach(() => close());

  it('refuses every way over the exchanges and queues of others and of MQTT', async () => {
    for (const [what, attempt] of refused) await expectRefusal(host(), what, attempt);
    await expectNothingForgedForB();
  });

  it('takes no AMQP client for an MQTT client because it says so, nor because the same device is connected by MQTT', async () => {
    const byMqtt = await connectMqttDevice(mqttUrl(), deviceA);
    // RabbitMQ remembers each yes that this connection gets.
    byMqtt.presence({ v: 1, device: deviceA.deviceId, online: true, clock: new Date().toISOString() });
    await stage.heard.mqtt.until(({ what }) => what === 'presence', 'the presence of A');
    const properties = { client_id: deviceA.deviceId, variable_map: { client_id: deviceA.deviceId }, product: 'MQTT client' };
    for (const [what, attempt] of refused) await expectRefusal(host(), what, attempt, properties);
    const about = (path: string) => server.asked.filter((entry) => entry.path === path && entry.question['username'] === deviceA.deviceId);
    expect(about('resource').some(({ question }) => question['client_id'] === deviceA.deviceId)).toBe(true);
    expect(about('topic').some(({ question }) => question['variable_map.client_id'] === deviceA.deviceId)).toBe(true);
    await byMqtt.close();
    await expectNothingForgedForB();
  });

  it.each(['CC', 'BCC'])('an answer with a %s to the addresses of another is received under its own name alone', async (header) => {
    const addresses = [answerKey(deviceB.deviceId, gatewayId), answerKey(deviceB.deviceId, otherGatewayId), presenceKey(deviceB.deviceId)];
    const honest = answerTo(command(), deviceA.deviceId);
    const { queue, otherQueue } = stage.heard;
    await tryAsDeviceA(host(), async (channel) => {
      for (const content of [answerTo(command(), deviceB.deviceId), honest]) {
        channel.publish(answersExchange, answerKey(deviceA.deviceId, gatewayId), Buffer.from(JSON.stringify(content)), {
          userId: deviceA.deviceId,
          [header]: addresses,
        });
      }
    });
    await queue.until((told) => told.what === 'answer' && told.answer.id === honest.id, 'its own answer');
    // The other gateway has two copies of each: as an answer and as a presence, and neither is one.
    await expect.poll(() => otherQueue.told.filter(({ what }) => what === 'dropped')).toHaveLength(4);
    expect(otherQueue.told.filter(({ what }) => what === 'answer' || what === 'presence')).toEqual([]);
    await expectNothingForgedForB();
  });

  it('what was sent to a device and dies in its queue is no device’s answer, whatever address it goes on to', async () => {
    const { queue } = stage.heard;
    for (const key of [answerKey(deviceB.deviceId, gatewayId), presenceKey(deviceB.deviceId)]) {
      const since = queue.told.length;
      await tryAsDeviceA(host(), async (channel) => {
        await deadLetters(answersExchange, key)(channel);
        await stage.queue.send(deviceA.deviceId, command({ name: 'Report' }), 5_000);
        expect(await queue.until(({ what }) => what === 'dropped', 'dropped', since)).toMatchObject({ reason: 'unknown-sender' });
      });
    }
    await expectNothingForgedForB();
  });

  it('is no user of the management API, with which it could make policies', async () => {
    const { origin } = new URL(server.apiUrl);
    const authorization = `Basic ${Buffer.from(`${deviceA.deviceId}:${deviceA.secret}`).toString('base64')}`;
    for (const path of ['whoami', 'queues', 'policies']) {
      expect((await fetch(`${origin}/api/${path}`, { headers: { authorization } })).status, path).toBe(401);
    }
    await expect(connect(`amqp://${deviceA.deviceId}:${deviceA.secret}@${host()}/elsewhere`)).rejects.toThrow();
  });
}
