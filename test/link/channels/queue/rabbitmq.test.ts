// The RabbitMQ channel on a fake connection: when it is up, which sends a lost connection leaves unclear, and how long a stop waits.
import { EventEmitter } from 'node:events';
import type { ConsumeMessage } from 'amqplib';
import { beforeEach, describe, expect, it } from 'vitest';
import { RabbitmqChannel } from '../../../../src/link/channels/queue/rabbitmq.ts';
import { command, deviceA, gatewayId } from '../../../contract/channel.ts';
import { createRecorder, type Recorder } from '../../../contract/recorder.ts';
import { type RecordingLogger, recordingLogger } from '../../../support/quiet-logger.ts';
import { seededRandom } from '../../../support/seeded-random.ts';
import { createVirtualClock, type VirtualClock } from '../../../support/virtual-clock.ts';

const { deviceId } = deviceA;

class FakeChannel extends EventEmitter {
  readonly confirms: (() => void)[] = [];
  readonly consumers: ((message: ConsumeMessage | null) => void)[] = [];
  async assertExchange(): Promise<void> {}
  async assertQueue(): Promise<{ queue: string }> {
    return { queue: 'q' };
  }
  async bindQueue(): Promise<void> {}
  async consume(_queue: string, take: (message: ConsumeMessage | null) => void): Promise<void> {
    this.consumers.push(take);
  }
  publish(_exchange: string, _queue: string, _bytes: Buffer, _options: unknown, confirm: () => void): void {
    this.confirms.push(confirm);
  }
}

class FakeModel extends EventEmitter {
  readonly inbox = new FakeChannel();
  readonly outbox = new FakeChannel();
  closes = 0;
  createChannel = async () => this.inbox;
  createConfirmChannel = async () => this.outbox;
  close = async () => {
    this.closes += 1;
    throw new Error('It is closing already.');
  };
}

class FakeConnection extends EventEmitter {
  closes = 0;
  onClose: () => Promise<void> = async () => {};
  close(): Promise<void> {
    this.closes += 1;
    return this.onClose();
  }
}

interface Asked {
  url: URL;
  options: {
    timeout: number;
    noDelay: boolean;
    clientProperties: object;
    recovery: { waitForConnect: boolean; setup(model: unknown): Promise<void>; calculateDelay(attempt: number): number };
  };
}

let clock: VirtualClock;
let connection: FakeConnection;
let asked: Asked[];
let recorder: Recorder;
let logger: RecordingLogger;
beforeEach(() => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  connection = new FakeConnection();
  asked = [];
  recorder = createRecorder();
  logger = recordingLogger();
});

function create(url = 'amqp://user:pw@broker:5672/shop'): RabbitmqChannel {
  const connect = async (href: string, options: Asked['options']) => {
    asked.push({ url: new URL(href), options });
    return connection;
  };
  const library = async () => ({ connect: connect as never });
  return new RabbitmqChannel({ url, gatewayId, clock, random: seededRandom(1), logger, library });
}

/** Like the library: sets up the channels, then emits connect. */
async function connected(): Promise<FakeModel> {
  const model = new FakeModel();
  await asked[0]?.options.recovery.setup(model);
  connection.emit('connect');
  return model;
}

async function up(): Promise<{ channel: RabbitmqChannel; model: FakeModel }> {
  const channel = create();
  const started = channel.start(recorder);
  await clock.settle();
  const model = await connected();
  await started;
  return { channel, model };
}

const words = () => recorder.told.map(({ what }) => what);
const errorOf = (sent: Promise<void>) => sent.then(() => 'sent').catch(({ name }: Error) => name);

describe('the RabbitMQ channel', () => {
  it('uses a heartbeat of ten seconds unless the URL sets one, and a connection name', async () => {
    const { channel } = await up();
    expect([channel.tellsAbsence, channel.isConnected, words()]).toEqual([true, true, ['up']]);
    expect(asked[0]?.url.searchParams.get('heartbeat')).toBe('10');
    expect(asked[0]?.options).toMatchObject({
      ...{ noDelay: true, timeout: 10_000, clientProperties: { connection_name: `tillgate-${gatewayId}` } },
      recovery: { waitForConnect: false },
    });
    expect(asked[0]?.options.recovery.calculateDelay(1)).toBeLessThanOrEqual(200);
    const other = create('amqp://broker?heartbeat=3').start(recorder);
    await clock.settle();
    connection.emit('connect-failed', new Error('refused'));
    await other;
    expect(asked[1]?.url.searchParams.get('heartbeat')).toBe('3');
  });

  it('starts without its broker, and is up when the broker is reachable', async () => {
    const channel = create();
    const started = channel.start(recorder);
    await clock.settle();
    connection.emit('connect-failed', new Error('refused'));
    await started;
    expect([channel.isConnected, words()]).toEqual([false, []]);
    expect(await errorOf(channel.send(deviceId, command(), 1_000))).toBe('ChannelDown');
    await connected();
    expect([channel.isConnected, words()]).toEqual([true, ['up']]);
  });

  it('is down while the broker is disconnected or blocked, and reports each change once', async () => {
    const { channel } = await up();
    connection.emit('blocked');
    connection.emit('blocked');
    expect([channel.isConnected, words()]).toEqual([false, ['up', 'down']]);
    expect(await errorOf(channel.send(deviceId, command(), 1_000))).toBe('ChannelDown');
    connection.emit('unblocked');
    connection.emit('disconnect');
    connection.emit('disconnect');
    expect([channel.isConnected, words()]).toEqual([false, ['up', 'down', 'up', 'down']]);
    connection.emit('blocked');
    await connected();
    expect([channel.isConnected, words()]).toEqual([true, ['up', 'down', 'up', 'down', 'up']]);
    for (const trouble of ['error', 'handler-error']) connection.emit(trouble, new Error('odd'));
    expect(channel.isConnected).toBe(true);
  });

  it('reconnects when the broker closes a channel or cancels a consumer', async () => {
    const { model } = await up();
    model.inbox.emit('close');
    model.outbox.emit('close');
    model.inbox.consumers[1]?.(null);
    for (const each of [model, model.inbox, model.outbox]) each.emit('error', new Error('odd'));
    await clock.settle();
    expect(model.closes).toBe(3);
  });

  it('logs each failure for the operator', async () => {
    const channel = create();
    const started = channel.start(recorder);
    await clock.settle();
    connection.emit('connect-failed', new Error('refused'));
    await started;
    const model = await connected();
    for (const each of [connection, model, model.inbox, model.outbox]) each.emit('error', new Error('odd'));
    connection.emit('handler-error', new Error('odd'));
    const told = logger.lines.map(({ level, message }) => `${level} ${message}`);
    expect(told.filter((line) => !line.startsWith('debug'))).toEqual([
      'warn RabbitMQ cannot be reached; the gateway keeps trying',
      'warn the RabbitMQ connection failed',
      'error a message from RabbitMQ could not be handled',
    ]);
    expect(told.filter((line) => line.startsWith('debug'))).toEqual([
      'debug RabbitMQ cannot be reached; the gateway keeps trying',
      'debug the RabbitMQ connection failed',
      'debug the RabbitMQ connection failed',
      'debug the RabbitMQ inbox failed',
      'debug the RabbitMQ outbox failed',
    ]);
  });

  it('logs once a minute that the broker is still unreachable', async () => {
    const channel = create();
    const started = channel.start(recorder);
    await clock.settle();
    for (let second = 0; second < 125; second += 5) {
      connection.emit('connect-failed', new Error('refused'));
      await clock.advance(5_000);
    }
    await started;
    expect(logger.lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields)).toEqual([
      { channel: 'queue', reason: 'refused' },
      { channel: 'queue', reason: 'refused', awayMs: 60_000, linesLeftOut: 11 },
      { channel: 'queue', reason: 'refused', awayMs: 120_000, linesLeftOut: 11 },
    ]);
  });

  it('receives messages of its devices until it is stopped', async () => {
    const { channel, model } = await up();
    const clockText = new Date(clock.now()).toISOString();
    const message = {
      fields: { routingKey: `${deviceId}.presence` },
      properties: { userId: deviceId },
      content: Buffer.from(JSON.stringify({ v: 1, device: deviceId, online: true, clock: clockText })),
    } as unknown as ConsumeMessage;
    model.inbox.consumers[0]?.(message);
    expect(words()).toEqual(['up', 'presence']);
    await channel.stop();
    model.inbox.consumers[0]?.(message);
    connection.emit('disconnect');
    connection.emit('connect');
    expect(words()).toEqual(['up', 'presence']);
  });
});

describe('a send over RabbitMQ', () => {
  it('resolves when the broker confirms, and reports a device that is not connected', async () => {
    const { channel, model } = await up();
    const sent = errorOf(channel.send(deviceId, command(), 1_000));
    model.outbox.confirms[0]?.();
    expect(await sent).toBe('sent');
    const absent = errorOf(channel.send(deviceId, command(), 1_000));
    model.outbox.emit('return', { properties: { messageId: '2' } });
    model.outbox.confirms[1]?.();
    expect(await absent).toBe('DeviceNotOnChannel');
    expect(recorder.told.at(-1)).toEqual({ what: 'gone', deviceId });
  });

  it.each(['disconnect', 'blocked'])('is unclear when the connection is lost before the confirm: %s', async (how) => {
    const { channel } = await up();
    const sent = errorOf(channel.send(deviceId, command(), 1_000));
    connection.emit(how);
    expect(await sent).toBe('SendUnclear');
  });

  it('fails on channels of a closed connection', async () => {
    const { channel, model } = await up();
    connection.emit('disconnect');
    connection.emit('connect');
    expect(await errorOf(channel.send(deviceId, command(), 1_000))).toBe('ChannelDown');
    expect(model.outbox.confirms).toEqual([]);
  });
});

describe('stopping', () => {
  it('leaves sends in progress unclear, closes the connection once, and is down', async () => {
    const { channel, model } = await up();
    const sent = errorOf(channel.send(deviceId, command(), 1_000));
    const returned = errorOf(channel.send(deviceId, command(), 1_000));
    model.outbox.emit('return', { properties: { messageId: '2' } });
    await channel.stop();
    expect(await returned).toBe('SendUnclear');
    expect(() => model.outbox.confirms[1]?.()).not.toThrow();
    await channel.stop();
    expect(await sent).toBe('SendUnclear');
    expect([channel.isConnected, connection.closes, clock.pending]).toEqual([false, 1, 0]);
    expect(await errorOf(channel.send(deviceId, command(), 1_000))).toBe('ChannelDown');
  });

  it('waits two seconds for a broker that hangs, and not for one that fails', async () => {
    const { channel } = await up();
    connection.onClose = () => new Promise(() => {});
    let isStopped = false;
    void channel.stop().then(() => {
      isStopped = true;
    });
    await clock.advance(1_999);
    expect(isStopped).toBe(false);
    await clock.advance(1);
    expect(isStopped).toBe(true);
    connection = new FakeConnection();
    asked = [];
    const { channel: failing } = await up();
    connection.onClose = () => Promise.reject(new Error('broken'));
    await failing.stop();
    expect(clock.pending).toBe(0);
  });
});
