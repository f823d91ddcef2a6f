// A device that floods RabbitMQ loses its connections and is refused for a minute; one that only exceeds its share is not.
import { beforeEach, describe, expect, it } from 'vitest';
import { createDeviceFloods, type DeviceFloods } from '../../../src/link/brokers/device-floods.ts';
import { recordingLogger } from '../../support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

const device = '11111111-1111-4111-8111-111111111111';
const other = '22222222-2222-4222-8222-222222222222';
let clock: VirtualClock;
let floods: DeviceFloods;
let ended: string[];
const logger = recordingLogger();

beforeEach(() => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  ended = [];
  floods = createDeviceFloods({ clock, logger, messagesPerS: 20, endConnections: (deviceId) => ended.push(deviceId) });
});

const drop = (count: number, bytes = 100) => {
  for (let n = 0; n < count; n += 1) floods.dropped(device, bytes);
};

describe('a device whose messages are dropped', () => {
  it('keeps its connections up to a burst of 1000 and 100 a second', async () => {
    drop(1_000);
    for (let second = 0; second < 60; second += 1) {
      await clock.advance(1_000);
      drop(100);
    }
    expect([ended, floods.isRefused(device)]).toEqual([[], false]);
  });

  it('loses them above that, once, and is refused for a minute', async () => {
    floods.dropped(other, 100);
    drop(1_001);
    expect(ended).toEqual([device]);
    expect(logger.lines.at(-1)).toMatchObject({ level: 'warn', fields: { deviceId: device } });
    expect([floods.isRefused(device), floods.isRefused(other)]).toEqual([true, false]);
    // The rest of the flood, which RabbitMQ had accepted.
    drop(1_000);
    expect(ended).toEqual([device]);
    await clock.advance(59_999);
    expect(floods.isRefused(device)).toBe(true);
    await clock.advance(1);
    expect(floods.isRefused(device)).toBe(false);
  });

  it('is judged by the bytes as well', () => {
    drop(15, 1024 * 1024);
    expect(ended).toEqual([]);
    drop(1, 1024 * 1024);
    expect(ended).toEqual([device]);
  });
});
