// The link as other rooms use it: start and stop, listeners, and no memory kept after a command has ended.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { type Channel, SendUnclear } from '../../src/link/channel.ts';
import { createLink } from '../../src/link/link.ts';
import { quietLogger, recordingLogger } from '../support/quiet-logger.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { until } from '../support/until.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { createFakeChannel } from './fake-channel.ts';
import { createLinkBench, deviceId, gatewayId, type LinkBench, otherDeviceId } from './link-bench.ts';

describe('the link', () => {
  it('carries commands again after a restart', async () => {
    const bench = await createLinkBench();
    await bench.link.stop();
    await bench.link.start();
    bench.presence(bench.mqtt);
    const result = bench.link.carry(bench.delivery());
    bench.answer(bench.mqtt, 'done');
    expect(await result).toMatchObject({ outcome: 'done' });
  });

  it('disconnects a device on every channel', async () => {
    const bench = await createLinkBench();
    bench.link.disconnectDevice(deviceId);
    expect([bench.mqtt.disconnected, bench.queue.disconnected]).toEqual([[deviceId], [deviceId]]);
    // Devices on an outside broker are disconnected through the broker's own API.
    Reflect.deleteProperty(bench.mqtt, 'disconnectDevice');
    bench.link.disconnectDevice(otherDeviceId);
    expect(bench.queue.disconnected).toEqual([deviceId, otherDeviceId]);
  });

  it('logs when a channel is lost, and for how long', async () => {
    const logger = recordingLogger();
    const clock = createVirtualClock();
    const mqtt = createFakeChannel('mqtt');
    const link = createLink({ clock, random: seededRandom(1), logger, gatewayId, channels: [mqtt] });
    await link.start();
    mqtt.break();
    await clock.advance(78_000);
    mqtt.mend();
    expect(logger.lines.map(({ level, message, fields }) => [level, message, fields])).toEqual([
      ['info', 'the channel is up', { channel: 'mqtt' }],
      ['error', 'the channel is down; devices on it cannot be reached', { channel: 'mqtt' }],
      ['info', 'the channel is up', { channel: 'mqtt', awayMs: 78_000 }],
    ]);
    await link.stop();
  });

  it('reports which channels are up', async () => {
    const bench = await createLinkBench();
    bench.queue.break();
    expect(bench.link.stats().connected).toEqual({ mqtt: true, queue: false });
    bench.mqtt.break();
    bench.queue.mend();
    expect(bench.link.stats().connected).toEqual({ mqtt: false, queue: true });
  });

  it('passes late answers to every listener, even if another one throws, until the listener is removed', async () => {
    const bench = await createLinkBench();
    const heard: string[] = [];
    bench.link.onLateAnswer(() => {
      throw new Error('not now');
    });
    const stopLate = bench.link.onLateAnswer((_device, answer) => heard.push(answer.outcome));
    const stopSeen = bench.link.onSeen((device) => heard.push(`seen ${device === deviceId}`));
    bench.answer(bench.mqtt, 'done');
    expect(heard).toEqual(['done', 'seen true']);
    stopLate();
    stopSeen();
    bench.answer(bench.queue, 'refused');
    expect(heard).toHaveLength(2);
  });

  it('starts all of its channels or none', async () => {
    const clock = createVirtualClock(undefined, { settle: 'microtasks' });
    const queue = createFakeChannel('queue');
    const taken: Channel = { ...createFakeChannel('mqtt'), start: () => Promise.reject(new Error('The port is taken.')) };
    const link = createLink({ clock, random: seededRandom(1), logger: quietLogger, gatewayId, channels: [taken, queue] });
    await expect(link.start()).rejects.toThrow('The port is taken.');
    expect(queue.isConnected).toBe(false);
  });

  it('keeps no reference to a command or query that has ended', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const bench = await createLinkBench();
    bench.presence(bench.mqtt);
    const kept: WeakRef<object>[] = [];
    await (async () => {
      const delivery = bench.delivery();
      const question = { name: 'Status', args: {}, timeoutMs: 1_000, preferredChannel: 'mqtt' } as const;
      kept.push(new WeakRef(delivery), new WeakRef(question));
      const ended = Promise.all([bench.link.carry(delivery), bench.link.ask(deviceId, question)]);
      bench.answer(bench.mqtt, 'done');
      await bench.clock.advance(1_000);
      await ended;
    })();
    bench.mqtt.sends.length = 0;
    bench.queue.sends.length = 0;
    // A compilation in the background may hold an object for a moment; a leak holds it for good.
    await until(() => {
      collectGarbage();
      return kept.every((reference) => reference.deref() === undefined);
    });
  });
});

describe('a presence held back by the budget', () => {
  const over = 21;
  const flood = async () => {
    const bench = await createLinkBench();
    let read = 0;
    for (let count = 0; count < over; count += 1) {
      bench.mqtt.offers(deviceId, 'presence', '{}', () => {
        read += 1;
      });
    }
    expect(read).toBe(over - 1);
    return { ...bench, read: () => read };
  };

  it('is read a second later', async () => {
    const { clock, read } = await flood();
    await clock.advance(1_000);
    expect(read()).toBe(over);
  });

  it.each([
    ['the device has gone', ({ mqtt }: LinkBench) => mqtt.says.gone(deviceId)],
    ['the channel is down', ({ mqtt }: LinkBench) => mqtt.break()],
    ['the link has stopped', ({ link }: LinkBench) => void link.stop()],
  ])('is not read after %s', async (_why, end) => {
    const bench = await flood();
    end(bench);
    await bench.clock.advance(5_000);
    expect(bench.read()).toBe(over - 1);
    expect(bench.clock.pending).toBe(0);
  });
});

describe('an unclear send', () => {
  it('has its cause, if it is known', () => {
    const cause = new Error('The socket broke.');
    expect(new SendUnclear('queue', cause).cause).toBe(cause);
    expect(new SendUnclear('queue')).not.toHaveProperty('cause');
  });
});
