import { describe, expect, it } from 'vitest';
import { createReconnecting, type Wire, type WireListener } from '../../../src/virtual/client/connector.ts';
import { quietLogger } from '../../support/quiet-logger.ts';
import { seededRandom } from '../../support/seeded-random.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

function bench(connect: (listener: WireListener) => Promise<Wire>, waitAfter?: () => number) {
  const clock = createVirtualClock(undefined, { settle: 'microtasks' });
  const attemptsAtMs: number[] = [];
  const events: string[] = [];
  const connector = createReconnecting({
    clock,
    random: seededRandom(1),
    logger: quietLogger,
    deviceId: 'd',
    channel: 'mqtt',
    connect: (listener) => {
      attemptsAtMs.push(clock.elapsed());
      return connect(listener);
    },
    ...(waitAfter ? { waitAfter } : {}),
  });
  const start = () => connector.start({ connected: () => events.push('up'), disconnected: () => events.push('down'), command() {} });
  return { clock, connector, attemptsAtMs, events, start };
}

function fakeWire(overrides: Partial<Wire> = {}): Wire {
  return { sendAnswer() {}, sendPresence() {}, close: async () => {}, destroy() {}, ...overrides };
}

const refuse = () => Promise.reject(new Error('refused'));

describe('reconnecting', () => {
  it('waits longer each time, up to 15 s', async () => {
    const { clock, attemptsAtMs, start } = bench(refuse);
    start();
    await clock.advance(180_000);
    const waits = attemptsAtMs.slice(1).map((atMs, index) => atMs - (attemptsAtMs[index] ?? 0));
    expect(waits[0]).toBeLessThanOrEqual(250);
    expect(Math.max(...waits)).toBeGreaterThan(7_500);
    expect(Math.max(...waits)).toBeLessThanOrEqual(15_000);
    expect(attemptsAtMs.length).toBeGreaterThan(15);
  });

  it('waits as long as the error asks for', async () => {
    const { clock, attemptsAtMs, start } = bench(refuse, () => 2_000);
    start();
    await clock.advance(6_000);
    expect(attemptsAtMs).toEqual([0, 2_000, 4_000, 6_000]);
  });

  it('tells up and down once each, and is quick again after a success', async () => {
    let lose = () => {};
    const { clock, events, attemptsAtMs, start } = bench(async (listener) => {
      lose = () => listener.lost();
      return fakeWire();
    });
    start();
    await clock.advance(1);
    lose();
    lose();
    await clock.advance(250);
    expect(events).toEqual(['up', 'down', 'up']);
    expect(attemptsAtMs).toHaveLength(2);
  });

  it('destroys a connection that comes up after it was stopped', async () => {
    let isDestroyed = false;
    let connected: (wire: Wire) => void = () => {};
    const { clock, connector, events, start } = bench(() => new Promise((resolve) => (connected = resolve)));
    start();
    await connector.stop();
    connected(fakeWire({ destroy: () => (isDestroyed = true) }));
    await clock.advance(60_000);
    expect(isDestroyed).toBe(true);
    expect(events).toEqual([]);
    expect(connector.isConnected).toBe(false);
  });

  it('does not wait for ever for a goodbye', async () => {
    let isDestroyed = false;
    const { clock, connector, start } = bench(async () =>
      fakeWire({ close: () => new Promise(() => {}), destroy: () => (isDestroyed = true) }),
    );
    start();
    await clock.advance(1);
    await Promise.all([connector.stop(), clock.advance(2_000)]);
    expect(isDestroyed).toBe(true);
  });
});
