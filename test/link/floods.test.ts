// One device that floods the gateway: the link stays responsive, the device's own payment completes, and the operator can identify it.
import { describe, expect, it } from 'vitest';
import { restrainLogger } from '../../src/kernel/restrained-logger.ts';
import { createDropCounts } from '../../src/link/drop-counts.ts';
import { readAnswer, readPresence } from '../../src/link/messages.ts';
import { recordingLogger } from '../support/quiet-logger.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { createLinkBench, deviceId, journalId, otherDeviceId } from './link-bench.ts';

const uuid = (count: number) => `77777777-7777-4777-8777-${String(count).padStart(12, '0')}`;

async function flooded() {
  const bench = await createLinkBench();
  const { clock, mqtt } = bench;
  const iso = () => new Date(clock.now()).toISOString();
  let seen = 0;
  let late = 0;
  bench.link.onSeen(() => {
    seen += 1;
  });
  bench.link.onLateAnswer(() => {
    late += 1;
  });
  function presence(count: number): void {
    const text = JSON.stringify({ v: 1, device: deviceId, online: true, clock: iso(), bootId: uuid(count), journalId: uuid(count) });
    mqtt.offers(deviceId, 'presence', text, (listener) => {
      const { message } = readPresence(text, deviceId);
      if (message) listener.presence('mqtt', deviceId, message);
    });
  }
  function answer(id: string): void {
    const text = JSON.stringify({ v: 1, id, device: deviceId, clock: iso(), journalId, outcome: 'done', report: { amount: 10 } });
    mqtt.offers(deviceId, 'answer', text, (listener) => {
      const { message } = readAnswer(text, deviceId);
      if (message) listener.answer('mqtt', deviceId, message);
    });
  }
  return { ...bench, presence, answer, counts: () => ({ seen, late }) };
}

describe('a flood', () => {
  it('of new boots and journals calls the listeners a few times, and the newest journal is recorded', async () => {
    const { clock, link, presence, counts } = await flooded();
    for (let count = 0; count < 5_000; count += 1) presence(count);
    expect(counts().seen).toBe(20);
    await clock.advance(2_000);
    expect(counts().seen).toBe(21);
    expect(link.presence.of(deviceId)?.journalId).toBe(uuid(4_999));
    expect(link.droppedOf(deviceId)).toEqual({ 'over-budget': { count: 4_979, lastAtMs: clock.now() - 2_000 } });
    expect(link.droppedOf(otherDeviceId)).toEqual({});
    expect(link.stats().dropped).toEqual({ 'over-budget': 4_979 });
    await link.stop();
    expect(clock.pending).toBe(0);
  });

  it('of boots during a payment leaves few Recalls waiting', async () => {
    const bench = await flooded();
    const { clock, link } = bench;
    bench.presence(0);
    const result = link.carry(bench.delivery({ journalId: uuid(0) }));
    for (let count = 1; count < 200; count += 1) {
      bench.presence(count);
      await clock.advance(1_000);
    }
    expect(link.stats().waitingCalls).toBeLessThanOrEqual(11);
    await link.stop();
    expect(await result).toMatchObject({ kind: 'silent' });
  });

  it('of answers to unknown commands causes few look-ups, and the payment in flight still completes', async () => {
    const bench = await flooded();
    const { link, answer, counts } = bench;
    bench.presence(0);
    const result = link.carry(bench.delivery({ journalId: uuid(0) }));
    for (let count = 0; count < 5_000; count += 1) answer(uuid(count));
    expect(counts().late).toBe(100);
    answer(bench.delivery().id);
    expect(await result).toMatchObject({ kind: 'ended', outcome: 'done' });
    await link.stop();
  });
});

describe('what a flood exceeds', () => {
  it('is reported with its device and bytes, and so are messages whose sender is not proven', async () => {
    const excess: [string, number][] = [];
    const { clock, queue, link } = await createLinkBench({ onExcess: (device, bytes) => excess.push([device, bytes]) });
    for (let count = 0; count < 103; count += 1) queue.offers(deviceId, 'answer', `{"an":${count}`, () => {});
    expect(excess).toHaveLength(3);
    expect(excess[0]).toEqual([deviceId, '{"an":100'.length]);
    for (let count = 0; count < 22; count += 1) queue.offers(deviceId, 'presence', 'presence', () => {});
    expect(excess.slice(3)).toEqual([[deviceId, 'presence'.length]]);
    queue.offers(otherDeviceId, 'answer', '', (listener) => listener.dropped('queue', 'unknown-sender', otherDeviceId));
    queue.offers(otherDeviceId, 'answer', '', (listener) => listener.dropped('queue', 'field', otherDeviceId));
    expect(excess.slice(4)).toEqual([[otherDeviceId, 64 * 1024]]);
    await link.stop();
    expect(clock.pending).toBe(0);
  });
});

describe('the record of a flood', () => {
  it('is bounded in devices; the totals are kept', () => {
    let nowMs = 0;
    const drops = createDropCounts({ now: () => nowMs }, 2);
    for (const device of ['a', 'b', 'a', 'c']) {
      nowMs += 1_000;
      drops.add('mqtt', 'field', device);
    }
    drops.add('mqtt', 'version', undefined);
    expect([drops.of('a'), drops.of('b'), drops.of('c')]).toEqual([
      { field: { count: 2, lastAtMs: 3_000 } },
      {},
      { field: { count: 1, lastAtMs: 4_000 } },
    ]);
    expect(drops.inAll()).toEqual({ field: 4, version: 1 });
  });

  it('is limited to a number of log lines a minute, and later logs how many were left out', async () => {
    const clock = createVirtualClock();
    const logger = recordingLogger();
    const restrained = restrainLogger(logger, clock, 3);
    for (let count = 0; count < 1_000; count += 1) restrained.warn({ count }, 'again');
    expect(logger.lines).toHaveLength(3);
    await clock.advance(60_000);
    restrained.warn({ count: 0 }, 'again');
    expect(logger.lines.at(-1)).toEqual({ level: 'warn', fields: { count: 0, linesLeftOut: 997 }, message: 'again' });
  });
});
