// The MQTT channel on a fake client: which sends are unclear, which connection is current, and when it reconnects.
import { EventEmitter } from 'node:events';
import { beforeEach, describe, expect, it } from 'vitest';
import { MqttChannel } from '../../../../src/link/channels/mqtt/mqtt.ts';
import { mqttTopics } from '../../../../src/link/protocol.ts';
import { command, deviceA, gatewayId } from '../../../contract/channel.ts';
import { createRecorder, type Recorder } from '../../../contract/recorder.ts';
import { quietLogger } from '../../../support/quiet-logger.ts';
import { seededRandom } from '../../../support/seeded-random.ts';
import { createVirtualClock, type VirtualClock } from '../../../support/virtual-clock.ts';

const { deviceId } = deviceA;

class FakeSocket extends EventEmitter {
  readonly done: unknown[] = [];
  setNoDelay: ((isOn: boolean) => void) | undefined = (isOn) => this.done.push(`no delay ${isOn}`);
}

class FakeClient extends EventEmitter {
  connected = false;
  readonly stream = new FakeSocket();
  readonly published: { topic: string; text: string; options: unknown; done(error?: Error): void }[] = [];
  subscribed: ((error: Error | null, granted?: { qos: number }[]) => void) | undefined;
  readonly ends: unknown[] = [];

  readonly options: unknown;

  constructor(options: unknown) {
    super();
    this.options = options;
  }

  asked: unknown[] = [];

  subscribe(topics: string[], options: unknown, done: typeof this.subscribed): void {
    this.asked = [topics, options];
    this.subscribed = done;
  }

  publish(topic: string, text: string, options: unknown, done: (error?: Error) => void): void {
    this.published.push({ topic, text, options, done });
  }

  end(isForced: boolean, _options?: unknown, done?: () => void): void {
    this.ends.push(isForced);
    this.connected = false;
    done?.();
  }

  /** The broker accepts the connection and grants the subscriptions. */
  accept(granted = [{ qos: 1 }, { qos: 1 }]): void {
    this.connected = true;
    this.emit('connect');
    this.subscribed?.(null, granted);
  }

  say(text: string): void {
    this.emit('message', mqttTopics.presence(deviceId), Buffer.from(text), { retain: false });
  }
}

let clock: VirtualClock;
let clients: FakeClient[];
let recorder: Recorder;
let channel: MqttChannel;
beforeEach(() => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  clients = [];
  recorder = createRecorder();
  const connect = (_url: string, options: unknown) => {
    const client = new FakeClient(options);
    clients.push(client);
    return client;
  };
  const library = async () => ({ connect: connect as never });
  channel = new MqttChannel({ url: 'mqtt://b', gatewayId, clock, random: seededRandom(1), logger: quietLogger, library });
});

const client = (at = 0) => clients[at] as FakeClient;
const words = () => recorder.told.map(({ what }) => what);
const presence = () => JSON.stringify({ v: 1, device: deviceId, online: true, clock: new Date(clock.now()).toISOString() });
const errorOf = (sent: Promise<void>) => sent.then(() => 'sent').catch(({ name }: Error) => name);

async function up(): Promise<void> {
  const started = channel.start(recorder);
  await clock.settle();
  client().accept();
  await started;
}

describe('the MQTT channel', () => {
  it('cannot detect absent devices, uses a clean session, and disables the reconnects of the library', async () => {
    await up();
    expect(channel.tellsAbsence).toBe(false);
    expect(client().options).toEqual({
      ...{ protocolVersion: 4, clientId: `tillgate-${gatewayId}`, clean: true, keepalive: 15, connectTimeout: 10_000 },
      ...{ reconnectPeriod: 0, resubscribe: false, queueQoSZero: false, log: expect.any(Function) },
    });
    expect(client().asked).toEqual([[mqttTopics.answers('+', gatewayId), mqttTopics.presence('+')], { qos: 0 }]);
    expect(client().stream.done).toEqual(['no delay true']);
  });

  it('works over a stream without setNoDelay', async () => {
    const started = channel.start(recorder);
    await clock.settle();
    client().stream.setNoDelay = undefined;
    client().accept();
    await started;
    expect(words()).toEqual(['up']);
  });

  it.each([[[{ qos: 1 }, { qos: 128 }]], [[{ qos: 200 }, { qos: 1 }]]])(
    'is down when a subscription is not granted: %j',
    async (granted) => {
      const started = channel.start(recorder);
      await clock.settle();
      client().accept(granted);
      await started;
      expect([channel.isConnected, words(), client().ends]).toEqual([false, [], [true]]);
      expect(clock.pending).toBe(1);
    },
  );

  it('is down when the subscription fails, and up when the reply has no QoS', async () => {
    const started = channel.start(recorder);
    await clock.settle();
    client().emit('connect');
    client().subscribed?.(new Error('no'));
    await started;
    expect(channel.isConnected).toBe(false);
    await clock.advance(200);
    client(1).connected = true;
    client(1).emit('connect');
    client(1).subscribed?.(null);
    expect([channel.isConnected, words()]).toEqual([true, ['up']]);
  });

  it('times out after ten seconds, and then opens another connection', async () => {
    const started = channel.start(recorder);
    await clock.advance(9_999);
    expect(client().ends).toEqual([]);
    await clock.advance(1);
    await started;
    expect(client().ends).toEqual([true]);
    client().accept();
    expect([channel.isConnected, words()]).toEqual([false, []]);
    await clock.advance(200);
    client(1).accept();
    expect([channel.isConnected, words(), clock.pending]).toEqual([true, ['up'], 0]);
  });

  it('closes a connection at an error before it is up, not at a later one', async () => {
    const started = channel.start(recorder);
    await clock.settle();
    client().emit('error', new Error('Not authorized'));
    await started;
    expect(client().ends).toEqual([true]);
    await clock.advance(200);
    client(1).accept();
    client(1).emit('error', new Error('odd'));
    expect([channel.isConnected, client(1).ends]).toEqual([true, []]);
  });

  it('opens nothing more if stopped before the library is loaded or the broker answers', async () => {
    const early = channel.start(recorder);
    await channel.stop();
    await early;
    expect(clients).toEqual([]);
    const started = channel.start(recorder);
    await clock.settle();
    await channel.stop();
    await started;
    expect(clock.pending).toBe(0);
    client().accept();
    await clock.advance(60_000);
    expect([clients.length, client().ends, words(), clock.pending]).toEqual([1, [true], [], 0]);
  });

  it('is down after a stop, and does not reconnect after a pause', async () => {
    await up();
    await channel.stop();
    expect(channel.isConnected).toBe(false);
    const started = channel.start(recorder);
    await clock.settle();
    client(1).emit('close');
    await started;
    await channel.stop();
    expect(clock.pending).toBe(0);
    await clock.advance(60_000);
    expect(clients).toHaveLength(2);
  });

  it('retries the connection with back-off', async () => {
    const started = channel.start(recorder);
    await clock.settle();
    for (let failures = 1; failures <= 6; failures += 1) {
      client(failures - 1).emit('close');
      if (failures < 6) await clock.advance(200 * 2 ** (failures - 1));
    }
    await started;
    await clock.advance(3_199);
    expect(clients).toHaveLength(6);
    await clock.advance(3_201);
    expect(clients).toHaveLength(7);
  });
});

describe('a send over MQTT', () => {
  it('resolves when the client has written it, at QoS 0 and not retained', async () => {
    await up();
    const sent = command();
    const ended = errorOf(channel.send(deviceId, sent, 1_000));
    expect(client().published).toMatchObject([
      { topic: mqttTopics.commands(deviceId), text: JSON.stringify(sent), options: { qos: 0, retain: false } },
    ]);
    client().published[0]?.done();
    expect(await ended).toBe('sent');
    client().emit('close');
    expect(words()).toEqual(['up', 'down']);
  });

  it('is unclear when the client fails, when the connection breaks, and when the gateway stops', async () => {
    await up();
    const failed = channel.send(deviceId, command(), 1_000);
    const cause = new Error('EPIPE');
    client().published[0]?.done(cause);
    await expect(failed).rejects.toMatchObject({ name: 'SendUnclear', cause });
    const broken = errorOf(channel.send(deviceId, command(), 1_000));
    client().emit('close');
    expect(await broken).toBe('SendUnclear');
    await clock.advance(200);
    client(1).accept();
    const stopped = errorOf(channel.send(deviceId, command(), 1_000));
    await channel.stop();
    expect(await stopped).toBe('SendUnclear');
  });

  it('fails without a connection, or on one that the library has closed', async () => {
    expect(await errorOf(channel.send(deviceId, command(), 1_000))).toBe('ChannelDown');
    await up();
    client().connected = false;
    expect(await errorOf(channel.send(deviceId, command(), 1_000))).toBe('ChannelDown');
    client().emit('close');
    expect(await errorOf(channel.send(deviceId, command(), 1_000))).toBe('ChannelDown');
    await clock.advance(200);
    client(1).connected = true;
    expect(await errorOf(channel.send(deviceId, command(), 1_000))).toBe('ChannelDown');
    expect(clients.flatMap(({ published }) => published)).toEqual([]);
  });
});

describe('a message over MQTT', () => {
  it('is accepted from the current connection only', async () => {
    await up();
    client().say(presence());
    expect(words()).toEqual(['up', 'presence']);
    client().emit('close');
    client().say(presence());
    await clock.advance(200);
    client(1).accept();
    client().say(presence());
    client().emit('close');
    expect(words()).toEqual(['up', 'presence', 'down', 'up']);
    client(1).say(presence());
    await channel.stop();
    client(1).say(presence());
    expect(words()).toEqual(['up', 'presence', 'down', 'up', 'presence']);
    expect(client(1).ends).toEqual([true]);
  });
});
