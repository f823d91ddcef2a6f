// A device's share: what is over the budget costs nothing, the newest presence counts, and the ending of a command in flight always comes through.
import { describe, expect, it } from 'vitest';
import type { ChannelName } from '../../src/link/channel.ts';
import { createIntake } from '../../src/link/intake.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const noisy = '11111111-1111-4111-8111-111111111111';
const calm = '22222222-2222-4222-8222-222222222222';
const awaitedId = '55555555-5555-4555-8555-555555555555';

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
  it('reads everything of a device that keeps to its share', async () => {
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

  it('keeps the newest of each channel, and forgets it when the connection it came by has ended', async () => {
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

  it('drops a flood of answers, but never the one that somebody waits for', () => {
    const { read, offer, dropped } = setUp();
    for (let count = 0; count < 10_000; count += 1) offer('answer', `{"id":"66666666-6666-4666-8666-${String(count).padStart(12, '0')}"}`);
    expect(read).toHaveLength(100);
    offer('answer', `{"v":1, "id" : "${awaitedId.toUpperCase()}","outcome":"done"}`);
    expect(read).toHaveLength(101);
    offer('answer', `{"id":"${awaitedId}"}`, { channel: 'queue' });
    expect(read).toHaveLength(102);
    expect(dropped()).toBe(9_900);
  });

  it('does not let a device hide behind the command of another', () => {
    const { read, offer } = setUp();
    for (let count = 0; count < 101; count += 1) offer('answer', `{"id":"${awaitedId}"}`, { deviceId: calm });
    expect(read).toHaveLength(100);
  });

  it('takes nothing of one device’s share for another’s noise', () => {
    const { read, offer } = setUp();
    for (let count = 0; count < 10_000; count += 1) offer(count % 2 === 0 ? 'answer' : 'presence', 'noise');
    const before = read.length;
    offer('presence', 'mine', { deviceId: calm });
    offer('answer', 'mine', { deviceId: calm });
    expect(read.slice(before)).toEqual(['mine', 'mine']);
  });

  it('counts large messages as several', () => {
    const { read, offer } = setUp();
    for (let count = 0; count < 100; count += 1) offer('answer', 'x'.repeat(1024 * 1024));
    expect(read).toHaveLength(5);
  });

  it('costs little for what is dropped, whatever it holds', () => {
    const { offer } = setUp();
    const nasty = `{"a":"${'"id" '.repeat(100_000)}${'"id":"'.repeat(50_000)}"}`;
    for (let count = 0; count < 100; count += 1) offer('answer', 'x'.repeat(100_000));
    const startedAt = performance.now();
    for (let count = 0; count < 20; count += 1) offer('answer', nasty);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });
});
