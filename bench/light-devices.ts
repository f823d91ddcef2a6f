// Card terminals with minimal cost: each command is approved at once, from memory, on one connection per device. They run in a process of
// their own, so that their cost is the same for every contender. They use Tillgate's protocol, or that of NestJS's ClientProxy.
// Started by the bench with one JSON argument; prints `ready` when all are connected and have sent their presence.
import { randomUUID } from 'node:crypto';
import { connect as connectAmqp } from 'amqplib';
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt';
import { mqttTopics, queueNames } from '../src/link/protocol.ts';

export interface LightDevices {
  speak: 'tillgate' | 'nest';
  /** mqtt:// or amqp:// */
  url: string;
  devices: { id: string; secret: string }[];
}

interface Command {
  id: string;
  name: string;
  replyTo: string;
  args: Record<string, unknown>;
}

type Send = (replyTo: string, message: object) => void;

const bootId = randomUUID();
let lastNumber = 0;

function reportOf({ name, args }: Pick<Command, 'name' | 'args'>): object {
  lastNumber += 1;
  const operationId = String(lastNumber).padStart(9, '0');
  return name === 'Pay' ? { rrn: `4${operationId}00`, authCode: '283749', operationId, amount: args['amount'] } : {};
}

/** The device side of Tillgate's protocol, without the journal: these devices never lose power. */
function answerTillgate(device: string, text: string, send: Send): void {
  const command = JSON.parse(text) as Command;
  const base = { v: 1, id: command.id, device, journalId: bootId };
  const clock = () => new Date().toISOString();
  if (command.name !== 'Status') send(command.replyTo, { ...base, clock: clock(), outcome: 'accepted' });
  send(command.replyTo, { ...base, clock: clock(), outcome: 'done', report: reportOf(command) });
}

function presenceOf(device: string): object {
  return {
    v: 1,
    device,
    online: true,
    clock: new Date().toISOString(),
    bootId,
    journalId: bootId,
    kind: 'terminal',
    battery: 80,
    paper: 'OK',
  };
}

/** Two answers follow each other closely: without no-delay the second would wait for the first one's acknowledgement. */
async function connectMqtt(url: string, options: IClientOptions): Promise<MqttClient> {
  const client = await connectAsync(url, { protocolVersion: 4, keepalive: 15, ...options });
  (client.stream as { setNoDelay?(isOn: boolean): void }).setNoDelay?.(true);
  return client;
}

async function onMqttForTillgate(url: string, { id, secret }: LightDevices['devices'][number]): Promise<void> {
  const client = await connectMqtt(url, { clientId: id, username: id, password: secret });
  const publish = (topic: string, message: object) => client.publish(topic, JSON.stringify(message), { qos: 1 });
  client.on('message', (_topic, payload) => {
    answerTillgate(id, payload.toString('utf8'), (replyTo, message) => publish(mqttTopics.answers(id, replyTo), message));
  });
  await client.subscribeAsync(mqttTopics.commands(id), { qos: 0 });
  const present = () => publish(mqttTopics.presence(id), presenceOf(id));
  present();
  setInterval(present, 30_000);
}

async function onQueueForTillgate(url: string, { id }: LightDevices['devices'][number]): Promise<void> {
  const connection = await connectAmqp(url, { noDelay: true });
  const channel = await connection.createChannel();
  const publish = (key: string, message: object) =>
    channel.publish(queueNames.answersExchange, key, Buffer.from(JSON.stringify(message)), { userId: id });
  await channel.assertQueue(queueNames.commands(id), { exclusive: true, autoDelete: true, durable: false });
  await channel.consume(
    queueNames.commands(id),
    (message) => {
      if (message) answerTillgate(id, message.content.toString('utf8'), (to, answer) => publish(queueNames.answerKey(id, to), answer));
    },
    { noAck: true },
  );
  const present = () => publish(queueNames.presenceKey(id), presenceOf(id));
  present();
  setInterval(present, 30_000);
}

interface NestCommand {
  id: string;
  data: Pick<Command, 'name' | 'args'>;
}

const nestAnswer = ({ id, data }: NestCommand) => JSON.stringify({ id, response: reportOf(data), isDisposed: true });

async function onMqttForNest(url: string, { id }: LightDevices['devices'][number]): Promise<void> {
  const client = await connectMqtt(url, {});
  const pattern = `device.${id}`;
  client.on('message', (_topic, payload) => {
    client.publish(`${pattern}/reply`, nestAnswer(JSON.parse(payload.toString('utf8')) as NestCommand));
  });
  await client.subscribeAsync(pattern, { qos: 0 });
}

/** NestJS has one queue for all messages of a client; one consumer serves all devices. */
async function onQueueForNest(url: string): Promise<void> {
  const connection = await connectAmqp(url, { noDelay: true });
  const channel = await connection.createChannel();
  await channel.assertQueue('bench.devices', { durable: false });
  await channel.consume(
    'bench.devices',
    (message) => {
      if (!message) return;
      const command = JSON.parse(message.content.toString('utf8')) as NestCommand;
      const { replyTo, correlationId } = message.properties as { replyTo: string; correlationId: string };
      channel.sendToQueue(replyTo, Buffer.from(nestAnswer(command)), { correlationId });
    },
    { noAck: true },
  );
}

const { speak, url, devices } = JSON.parse(process.argv[2] ?? '') as LightDevices;
const isMqtt = url.startsWith('mqtt');
if (speak === 'nest' && !isMqtt) await onQueueForNest(url);
else {
  const connectOne = speak === 'nest' ? onMqttForNest : isMqtt ? onMqttForTillgate : onQueueForTillgate;
  // A few at a time, because brokers limit unauthenticated connections.
  for (let at = 0; at < devices.length; at += 20) await Promise.all(devices.slice(at, at + 20).map((device) => connectOne(url, device)));
}
console.log('ready');
