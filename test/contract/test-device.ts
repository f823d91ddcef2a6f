// Bare devices for the contract suite, one per wire. They know nothing of journals or commands: they send and receive what the test says.
import type { Socket } from 'node:net';
import { connect as connectAmqp } from 'amqplib';
import { connectAsync, type IClientOptions } from 'mqtt';
import { WebSocket } from 'ws';
import { mqttTopics, queueNames } from '../../src/link/protocol.ts';
import type { AnswerMessage, CommandMessage, PresenceMessage } from '../../src/link/wire-schemas.ts';

export interface TestDevice {
  readonly commands: CommandMessage[];
  nextCommand(): Promise<CommandMessage>;
  answer(replyTo: string, answer: AnswerMessage): void;
  presence(presence: PresenceMessage): void;
  /** Any bytes where an answer belongs. */
  rawAnswer(replyTo: string, bytes: Buffer): void;
  /** Ends without a goodbye, as a power cut would. */
  die(): void;
  close(): Promise<void>;
  /** Resolves when the connection has ended, whoever ended it. */
  readonly ended: Promise<void>;
}

export interface Login {
  deviceId: string;
  secret: string;
}

function inbox() {
  const commands: CommandMessage[] = [];
  const waiting: ((command: CommandMessage) => void)[] = [];
  const unread: CommandMessage[] = [];
  return {
    commands,
    arrived(command: CommandMessage) {
      commands.push(command);
      const next = waiting.shift();
      if (next) next(command);
      else unread.push(command);
    },
    nextCommand: () =>
      new Promise<CommandMessage>((resolve) => {
        const ready = unread.shift();
        if (ready) resolve(ready);
        else waiting.push(resolve);
      }),
  };
}

export function mqttOptions({ deviceId, secret }: Login): IClientOptions {
  return {
    protocolVersion: 4,
    clientId: deviceId,
    username: deviceId,
    password: secret,
    clean: true,
    reconnectPeriod: 0,
    will: { topic: mqttTopics.presence(deviceId), payload: Buffer.from('{"online":false}'), qos: 1, retain: false },
  };
}

export async function connectMqttDevice(url: string, login: Login): Promise<TestDevice> {
  const { deviceId } = login;
  const client = await connectAsync(url, mqttOptions(login));
  (client.stream as Socket).setNoDelay(true);
  client.on('error', () => {});
  const { commands, arrived, nextCommand } = inbox();
  client.on('message', (_topic, payload) => arrived(JSON.parse(payload.toString())));
  const [granted] = await client.subscribeAsync(mqttTopics.commands(deviceId), { qos: 0 });
  if (granted?.qos !== 0) throw new Error('The device may not read its own commands.');
  const ended = new Promise<void>((resolve) => client.once('close', () => resolve()));
  return {
    commands,
    nextCommand,
    ended,
    answer: (replyTo, answer) => void client.publish(mqttTopics.answers(deviceId, replyTo), JSON.stringify(answer), { qos: 1 }),
    presence: (presence) => void client.publish(mqttTopics.presence(deviceId), JSON.stringify(presence), { qos: 1 }),
    rawAnswer: (replyTo, bytes) => void client.publish(mqttTopics.answers(deviceId, replyTo), bytes, { qos: 1 }),
    die: () => void client.stream.destroy(),
    close: () => client.endAsync(),
  };
}

export async function connectAmqpDevice(host: string, { deviceId, secret }: Login): Promise<TestDevice> {
  const model = await connectAmqp(`amqp://${deviceId}:${secret}@${host}?heartbeat=10`, { noDelay: true });
  model.on('error', () => {});
  // amqplib's own `close` stays away when the socket is destroyed from this side.
  const { stream } = model.connection as unknown as { stream: Socket };
  const ended = new Promise<void>((resolve) => stream.once('close', () => resolve()));
  const channel = await model.createChannel();
  channel.on('error', () => {});
  const { commands, arrived, nextCommand } = inbox();
  await channel.assertQueue(queueNames.commands(deviceId), { exclusive: true, autoDelete: true, durable: false });
  await channel.consume(queueNames.commands(deviceId), (message) => message && arrived(JSON.parse(message.content.toString())), {
    noAck: true,
  });
  const publish = (key: string, bytes: Buffer) => void channel.publish(queueNames.answersExchange, key, bytes, { userId: deviceId });
  return {
    commands,
    nextCommand,
    ended,
    answer: (replyTo, answer) => publish(queueNames.answerKey(deviceId, replyTo), Buffer.from(JSON.stringify(answer))),
    presence: (presence) => publish(queueNames.presenceKey(deviceId), Buffer.from(JSON.stringify(presence))),
    rawAnswer: (replyTo, bytes) => publish(queueNames.answerKey(deviceId, replyTo), bytes),
    die: () => void stream.destroy(),
    close: () => model.close(),
  };
}

export async function connectSocketDevice(url: string, { deviceId, secret }: Login): Promise<TestDevice> {
  const socket = new WebSocket(url, { auth: `${deviceId}:${secret}` });
  const { commands, arrived, nextCommand } = inbox();
  socket.on('message', (data) => arrived(JSON.parse((data as Buffer).toString()).command));
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  socket.on('error', () => {});
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return {
    commands,
    nextCommand,
    ended,
    answer: (_replyTo, answer) => socket.send(JSON.stringify({ answer })),
    presence: (presence) => socket.send(JSON.stringify({ presence })),
    rawAnswer: (_replyTo, bytes) => socket.send(`{"answer":${bytes.toString()}}`),
    die: () => socket.terminate(),
    close: () =>
      new Promise((resolve) => {
        socket.once('close', () => resolve());
        socket.close();
      }),
  };
}
