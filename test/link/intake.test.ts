// The message budget of a device: excess messages are dropped, but not the newest presence nor the answer to a command in flight.
import { describe, expect, it } from 'vitest';
import type { ChannelName } from '../../src/link/channel.ts';
import { createIntake } from '../../src/link/intake.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const noisy = '11111111-1111-4111-8111-111111111111';
const calm = '22222222-2222-4222-8222-222222222222';
const awaitedId = 'abcdefab-5555-4555-8555-555555555555';

function setUp(messagesPerS = 20) {
  const clock = createVirtualClock(undefined, { settle: 'microtasks' });
  const read: string[] = [];
  let dropped = 0;
  const intake = createIntake({
    clock,
    messagesPerS,
    isAwaited: (id, deviceId) => id === awaitedId && deviceId === noisy,
    onDropped: () => {
      dropped += 1;
    },
  });
  const offer = (kind: 'answer' | 'presence', text: string, by: { channel?: ChannelName; deviceId?: string } = {}) =>
    intake.offer(by.channel ?? 'mqtt', by.deviceId ?? noisy, { kind, bytes: Buffer.from(text), read: () => read.push(text) });
  return { clock, intake, read, offer, dropped: () => dropped };
}

describe('the intake', () => {
  it('reads every message of a device within its budget', async () => {
    const { clock, read, offer, dropped } = setUp();
    for (let count = 0; count < 200; count += 1) {
      offer('presence', `presence ${count}`);
      offer('answer', `answer ${count}`);
      await clock.advance(1_000);
    }
    expect(read).toHaveLength(400);
    expect(dropped()).toBe(0);
  });

  it('of a flood of presence reads the first few, then the newest once a second, and counts the rest', async () => {
    const { clock, read, offer, dropped } = setUp();
    for (let count = 0; count < 10_000; count += 1) offer('presence', `presence ${count}`);
    expect(read).toHaveLength(20);
    expect(dropped()).toBe(10_000 - 20 - 1);
    await clock.advance(1_000);
    expect(read.slice(20)).toEqual(['presence 9999']);
    await clock.advance(60_000);
    expect(read).toHaveLength(21);
    expect(clock.pending).toBe(0);
  });

  it('holds the newest presence of each channel, and drops it when its connection has ended', async () => {
    const { clock, intake, read, offer } = setUp();
    for (let count = 0; count < 20; count += 1) offer('presence', 'early');
    offer('presence', 'old', { channel: 'mqtt' });
    offer('presence', 'by mqtt', { channel: 'mqtt' });
    offer('presence', 'by queue', { channel: 'queue' });
    intake.gone('mqtt', noisy);
    await clock.advance(5_000);
    expect(read.slice(20)).toEqual(['by queue']);
    for (let count = 0; count < 30; count += 1) offer('presence', 'late');
    const before = read.length;
    intake.down('mqtt');
    await clock.advance(5_000);
    expect(read).toHaveLength(before);
    expect(clock.pending).toBe(0);
  });

  it('drops a flood of answers, but never the one that a caller waits for', () => {
    const { read, offer, dropped } = setUp();
    for (let count = 0; count < 10_000; count += 1) offer('answer', `{"id":"66666666-6666-4666-8666-${String(count).padStart(12, '0')}"}`);
    expect(read).toHaveLength(100);
    offer('answer', `{"v":1, "id" : "${awaitedId.toUpperCase()}","outcome":"done"}`);
    expect(read).toHaveLength(101);
    offer('answer', `{"id":"${awaitedId}"}`, { channel: 'queue' });
    expect(read).toHaveLength(102);
    expect(dropped()).toBe(9_900);
  });

  it('applies the budget to a device that answers a command of another', () => {
    const { read, offer } = setUp();
    for (let count = 0; count < 101; count += 1) offer('answer', `{"id":"${awaitedId}"}`, { deviceId: calm });
    expect(read).toHaveLength(100);
  });

  it('does not charge one device for the flood of another', () => {
    const { read, offer } = setUp();
    for (let count = 0; count < 10_000; count += 1) offer(count % 2 === 0 ? 'answer' : 'presence', 'noise');
    const before = read.length;
    offer('presence', 'mine', { deviceId: calm });
    offer('answer', 'mine', { deviceId: calm });
    expect(read.slice(before)).toEqual(['mine', 'mine']);
  });

  it('charges a large message as several', () => {
    const { read, offer } = setUp();
    for (let count = 0; count < 100; count += 1) offer('answer', 'x'.repeat(1024 * 1024));
    expect(read).toHaveLength(5);
  });

  it('charges a message one more for every 64 KiB', () => {
    const readOf = (bytes: number) => {
      const { read, offer } = setUp();
      for (let count = 0; count < 101; count += 1) offer('answer', 'x'.repeat(bytes));
      return read.length;
    };
    expect([readOf(64 * 1024 - 1), readOf(64 * 1024), readOf(128 * 1024)]).toEqual([100, 50, 33]);
  });

  it('charges a message one more for every 500 values, and nothing for values inside strings', () => {
    const readOf = (text: string) => {
      const { read, offer } = setUp();
      for (let count = 0; count < 101; count += 1) offer('answer', text);
      return read.length;
    };
    const list = (values: number) =>
      `[${Array(values - 1)
        .fill('1e9')
        .join(',')}]`;
    expect([readOf(list(499)), readOf(list(500)), readOf(list(1_000))]).toEqual([100, 50, 33]);
    expect(readOf(`"${'1e9,'.repeat(1_000)}"`)).toBe(100);
    // Counting stops at the maximum number of values.
    expect([readOf(list(20_000)), readOf(list(200_000))]).toEqual([2, 1]);
  });

  it('charges a presence by its values as well', async () => {
    const { clock, read, offer } = setUp();
    offer('presence', `[${'1e9,'.repeat(9_500)}1]`);
    offer('presence', 'next');
    expect(read).toHaveLength(1);
    await clock.advance(1_000);
    expect(read).toHaveLength(2);
  });

  it('reads awaited answers over the budget from a second budget of the same size, and no more', () => {
    const { read, offer, dropped } = setUp();
    for (let count = 0; count < 10_000; count += 1) offer('answer', `{"id":"${awaitedId}","outcome":"accepted"}`);
    expect(read).toHaveLength(200);
    expect(dropped()).toBe(9_800);
  });

  it('reads held presences one by one as tokens arrive, the oldest first', async () => {
    const { clock, read, offer, dropped } = setUp();
    for (let count = 0; count < 20; count += 1) offer('presence', 'early');
    offer('presence', 'by queue', { channel: 'queue' });
    await clock.advance(500);
    offer('presence', 'by mqtt', { channel: 'mqtt' });
    await clock.advance(499);
    expect(read).toHaveLength(20);
    await clock.advance(1);
    expect(read.slice(20)).toEqual(['by queue']);
    // There is no token for it yet, and it does not take the one that the held presence waits for.
    await clock.advance(999);
    offer('presence', 'newer by mqtt', { channel: 'mqtt' });
    expect([read.length, dropped()]).toEqual([21, 1]);
    await clock.advance(1);
    expect(read.slice(20)).toEqual(['by queue', 'newer by mqtt']);
    expect(clock.pending).toBe(0);
  });

  it('never reads an older presence after a newer one, even if there are tokens only for the newer', async () => {
    const { clock, read, offer, dropped } = setUp();
    for (let count = 0; count < 20; count += 1) offer('presence', 'early');
    offer('presence', 'large and old'.padEnd(64 * 1024));
    await clock.advance(1_000);
    offer('presence', 'small and new');
    expect(read).toHaveLength(20);
    await clock.advance(60_000);
    expect(read.slice(20)).toEqual(['small and new']);
    expect(dropped()).toBe(1);
  });

  it('counts a held presence as dropped when its connection ends, and nothing else', async () => {
    const { clock, intake, read, offer, dropped } = setUp();
    intake.gone('mqtt', noisy);
    for (let count = 0; count < 21; count += 1) offer('presence', 'x');
    for (let count = 0; count < 21; count += 1) offer('presence', 'calm', { deviceId: calm, channel: 'queue' });
    intake.gone('queue', noisy);
    expect([dropped(), clock.pending]).toEqual([0, 2]);
    intake.down('mqtt');
    expect([dropped(), clock.pending]).toEqual([1, 1]);
    intake.gone('mqtt', noisy);
    expect(dropped()).toBe(1);
    await clock.advance(1_000);
    expect(read.slice(40)).toEqual(['calm']);
  });

  it('leaves no timer when it stops', async () => {
    const { clock, intake, read, offer } = setUp();
    for (let count = 0; count < 21; count += 1) offer('presence', 'x');
    intake.stop();
    expect(clock.pending).toBe(0);
    await clock.advance(60_000);
    expect(read).toHaveLength(20);
  });

  it('tracks twenty thousand devices; an evicted one starts over, without its held presence', async () => {
    const { clock, read, offer } = setUp();
    for (let count = 0; count < 21; count += 1) offer('presence', 'held');
    for (let count = 1; count < 20_000; count += 1) offer('answer', 'x', { deviceId: `device ${count}` });
    expect(clock.pending).toBe(1);
    // It sent a message lately, so another device is evicted first.
    offer('answer', 'x');
    offer('answer', 'x', { deviceId: 'one more' });
    expect(clock.pending).toBe(1);
    for (let count = 1; count < 20_000; count += 1) offer('answer', 'x', { deviceId: `later device ${count}` });
    expect(clock.pending).toBe(0);
    const before = read.length;
    offer('presence', 'anew');
    expect(read.slice(before)).toEqual(['anew']);
  });

  it('drops messages at little cost, whatever they contain', () => {
    const { offer } = setUp();
    const nasty = `{"a":"${'"id" '.repeat(100_000)}${'"id":"'.repeat(50_000)}"}`;
    for (let count = 0; count < 100; count += 1) offer('answer', 'x'.repeat(100_000));
    const startedAt = performance.now();
    for (let count = 0; count < 20; count += 1) offer('answer', nasty);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });
});
