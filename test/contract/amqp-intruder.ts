// Device A trying, over AMQP, to speak for device B and to hear B's commands. Each try has a connection of its own, because a denial closes the channel.
import { type Channel as AmqpChannel, connect } from 'amqplib';
import { expect } from 'vitest';
import { queueNames } from '../../src/link/protocol.ts';
import type { CommandMessage } from '../../src/link/wire-schemas.ts';
import { answerTo, command, deviceA, deviceB, gatewayId } from './channel.ts';
import { foreignTopics } from './mqtt-intruder.ts';

export type Attempt = (channel: AmqpChannel) => Promise<unknown>;

/** A try as device A, on a connection of its own; resolves when the broker has dealt with it. */
export async function tryAsDeviceA(host: string, attempt: Attempt, clientProperties: Record<string, unknown> = {}): Promise<void> {
  const model = await connect(`amqp://${deviceA.deviceId}:${deviceA.secret}@${host}`, { clientProperties });
  model.on('error', () => {});
  const channel = await model.createChannel();
  channel.on('error', () => {});
  try {
    await attempt(channel);
    // The broker answers in order, and lets whoever may publish here ask for this exchange.
    await channel.checkExchange(queueNames.answersExchange);
  } finally {
    await model.close().catch(() => {});
  }
}

export async function expectRefusal(
  host: string,
  what: string,
  attempt: Attempt,
  clientProperties?: Record<string, unknown>,
): Promise<void> {
  await expect(tryAsDeviceA(host, attempt, clientProperties), what).rejects.toThrow('403 (ACCESS-REFUSED)');
}

export async function ownQueue(channel: AmqpChannel, options: { name?: string; arguments?: object } = {}): Promise<string> {
  const { name = queueNames.commands(deviceA.deviceId) } = options;
  await channel.assertQueue(name, { exclusive: true, autoDelete: true, durable: false, arguments: options.arguments });
  return name;
}

export async function intrudeOverAmqp(host: string): Promise<{ overheard: () => CommandMessage[]; end(): Promise<void> }> {
  const overheard: CommandMessage[] = [];
  const forgedAnswer = () => Buffer.from(JSON.stringify(answerTo(command(), deviceB.deviceId)));
  const forgedPresence = () =>
    Buffer.from(JSON.stringify({ v: 1, device: deviceB.deviceId, online: true, clock: new Date().toISOString() }));
  const answerKey = queueNames.answerKey(deviceB.deviceId, gatewayId);
  const queueOfB = queueNames.commands(deviceB.deviceId);
  const { answersExchange } = queueNames;
  const publish =
    (exchange: string, key: string, content: () => Buffer, userId?: string): Attempt =>
    async (channel) =>
      channel.publish(exchange, key, content(), userId === undefined ? {} : { userId });
  const hear = (message: { content: Buffer } | false | null) => message && overheard.push(JSON.parse(message.content.toString()));
  const denied: [string, Attempt][] = [
    ['answer under B', publish(answersExchange, answerKey, forgedAnswer, deviceA.deviceId)],
    ['answer under B as user B', publish(answersExchange, answerKey, forgedAnswer, deviceB.deviceId)],
    ['presence under B', publish(answersExchange, queueNames.presenceKey(deviceB.deviceId), forgedPresence, deviceA.deviceId)],
    ...foreignTopics.map(([topic, text]): [string, Attempt] => [
      `${topic} by the exchange of MQTT`,
      publish('amq.topic', topic.replaceAll('/', '.'), () => Buffer.from(text())),
    ]),
    ['command into the queue of B', publish('', queueOfB, () => Buffer.from(JSON.stringify(command({ name: 'Pay' }))))],
    ['consume the queue of B', (channel) => channel.consume(queueOfB, hear, { noAck: true })],
    ['take from the queue of B', async (channel) => hear(await channel.get(queueOfB, { noAck: true }))],
    ['declare the queue of B', (channel) => ownQueue(channel, { name: queueOfB })],
    ['declare any queue', (channel) => ownQueue(channel, { name: 'elsewhere' })],
    ['empty the queue of B', (channel) => channel.purgeQueue(queueOfB)],
    ['delete the queue of B', (channel) => channel.deleteQueue(queueOfB)],
    ['overhear all answers', async (channel) => channel.bindQueue(await ownQueue(channel), answersExchange, '#')],
    ['overhear MQTT', async (channel) => channel.bindQueue(await ownQueue(channel), 'amq.topic', '#')],
    ['declare an exchange', (channel) => channel.assertExchange('elsewhere', 'topic')],
    ['delete the exchange', (channel) => channel.deleteExchange(answersExchange)],
  ];
  // A name that is added to the protocol needs its tries here.
  const triesOf = {
    commands: ['command into the queue of B', 'consume the queue of B', 'declare the queue of B', 'delete the queue of B'],
    answersExchange: ['overhear all answers', 'delete the exchange'],
    answerKey: ['answer under B', 'answer under B as user B'],
    presenceKey: ['presence under B'],
  } satisfies Record<keyof typeof queueNames, string[]>;
  expect(denied.map(([what]) => what)).toEqual(expect.arrayContaining(Object.values(triesOf).flat()));
  for (const [what, attempt] of denied) await expectRefusal(host, what, attempt);
  return { overheard: () => overheard, async end() {} };
}
