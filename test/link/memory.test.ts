// The state that the link keeps of its devices: clock offset, presence, waiting calls and dropped messages. All of it is bounded,
// and an old message does not overwrite a newer one.
import { describe, expect, it } from 'vitest';
import { createClockOffset } from '../../src/link/clock-offset.ts';
import { createDropCounts } from '../../src/link/drop-counts.ts';
import { createPresenceBook } from '../../src/link/presence.ts';
import { createWaitingRoom } from '../../src/link/waiting.ts';
import type { AnswerMessage, PresenceMessage } from '../../src/link/wire-schemas.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { deviceId, journalId, otherDeviceId } from './link-bench.ts';

describe('the offset of a device’s clock', () => {
  const after = (...samples: number[]) => {
    const offset = createClockOffset();
    for (const sample of samples) offset.add(sample);
    return offset.read();
  };

  it('is the greatest of the last five samples, because a message can be late but never early', () => {
    expect(after()).toBeUndefined();
    expect(after(-300)).toBe(-300);
    expect(after(100, 900, 500)).toBe(900);
    expect(after(900, 1, 2, 3, 4)).toBe(900);
    expect(after(900, 1, 2, 3, 4, 5)).toBe(5);
  });

  it('starts over when the clock was set back by more than a message can be delayed', () => {
    expect(after(30_000, 10_000)).toBe(30_000);
    expect(after(30_000, 9_999)).toBe(9_999);
    expect(after(30_000, 9_999, 9_000)).toBe(9_999);
  });

  it('ignores a sample that is not a number, and has none after a reset', () => {
    expect(after(Number.NaN, Number.POSITIVE_INFINITY)).toBeUndefined();
    expect(after(7, Number.NaN)).toBe(7);
    const offset = createClockOffset();
    offset.add(7);
    offset.reset();
    expect(offset.read()).toBeUndefined();
    offset.add(-5);
    expect(offset.read()).toBe(-5);
  });
});

/** Some fields of a message; undefined removes one. */
type Without<Message> = { [Field in keyof Message]?: Message[Field] | undefined };

describe('the presence book', () => {
  const bootId = '77777777-7777-4777-8777-777777777777';
  const setUp = () => {
    const clock = createVirtualClock(1_000_000, { settle: 'microtasks' });
    const book = createPresenceBook({ clock, channels: ['mqtt', 'queue'] });
    const reading = (offsetMs = 0) => new Date(clock.now() + offsetMs).toISOString();
    const presence = (more: Without<PresenceMessage> = {}, channel: 'mqtt' | 'queue' = 'mqtt') => {
      const whole = { v: 1, device: deviceId, online: true, clock: reading(), bootId, journalId, ...more };
      return book.notePresence(channel, deviceId, whole as PresenceMessage);
    };
    const answer = (isPrompt: boolean, more: Partial<AnswerMessage> = {}) =>
      book.noteAnswer('mqtt', deviceId, { v: 1, id: bootId, device: deviceId, clock: reading(), outcome: 'done', ...more }, isPrompt);
    return { clock, book, reading, presence, answer };
  };

  it('has no entry for a device that never sent a message', () => {
    const { book } = setUp();
    expect([book.of(deviceId), book.isLive(deviceId, 'mqtt'), book.clockOffsetMs(deviceId), book.liveCount()]).toEqual([
      undefined,
      false,
      0,
      0,
    ]);
    expect(book.isLiveAnywhere(deviceId)).toBe(false);
    book.noteGone('mqtt', deviceId);
    expect([...book.all()]).toEqual([]);
  });

  it('counts a device as live for 75 seconds after a message, on the channel of that message', async () => {
    const { clock, book, presence } = setUp();
    expect(presence()).toEqual({ isReconnect: true, isReboot: false });
    await clock.advance(75_000);
    expect([book.isLive(deviceId, 'mqtt'), book.isLive(deviceId, 'queue'), book.liveCount()]).toEqual([true, false, 1]);
    expect(presence()).toEqual({ isReconnect: false, isReboot: false });
    expect(book.of(deviceId)).toMatchObject({ liveOn: ['mqtt'], liveSinceMs: { mqtt: 1_000_000 }, lastSeenAtMs: 1_075_000 });
    expect(book.isLiveAnywhere(deviceId)).toBe(true);
    await clock.advance(75_001);
    expect(book.isLiveAnywhere(deviceId)).toBe(false);
    expect([book.isLive(deviceId, 'mqtt'), book.liveCount()]).toEqual([false, 0]);
    expect(book.of(deviceId)).toMatchObject({ liveOn: [], lastSeenAtMs: 1_075_000 });
    expect(presence()).toEqual({ isReconnect: true, isReboot: false });
    expect(book.of(deviceId)?.liveSinceMs).toEqual({ mqtt: clock.now() });
    presence({}, 'queue');
    expect([[...book.all()].map(([id]) => id), book.of(deviceId)?.liveOn]).toEqual([[deviceId], ['mqtt', 'queue']]);
  });

  it('does not count a device as live on a channel that is down or that it has left', () => {
    const { book, presence } = setUp();
    presence();
    presence({}, 'queue');
    book.notePresence('mqtt', otherDeviceId, { v: 1, device: otherDeviceId, online: true });
    book.noteGone('queue', deviceId);
    expect([book.of(deviceId)?.liveOn, book.of(otherDeviceId)?.liveOn]).toEqual([['mqtt'], ['mqtt']]);
    presence({}, 'queue');
    book.noteDown('mqtt');
    expect([book.of(deviceId)?.liveOn, book.of(otherDeviceId)?.liveOn, book.liveCount()]).toEqual([['queue'], [], 1]);
  });

  it('detects a reboot by a new bootId, not by the first one or a missing one', () => {
    const { presence } = setUp();
    expect(presence().isReboot).toBe(false);
    expect(presence().isReboot).toBe(false);
    expect(presence({ bootId: journalId }).isReboot).toBe(true);
    expect(presence({ bootId: undefined }).isReboot).toBe(false);
    expect(presence().isReboot).toBe(false);
  });

  it('measures the clock by presence and by awaited answers, and anew after a boot', () => {
    const { book, reading, presence, answer } = setUp();
    presence({ clock: reading(5_000) });
    expect(book.clockOffsetMs(deviceId)).toBe(5_000);
    answer(false, { clock: reading(9_000) });
    expect(book.clockOffsetMs(deviceId)).toBe(5_000);
    answer(true, { clock: reading(8_000) });
    expect(book.of(deviceId)?.clockOffsetMs).toBe(8_000);
    presence({ clock: reading(2_000) });
    expect(book.clockOffsetMs(deviceId)).toBe(8_000);
    presence({ clock: reading(2_000), bootId: journalId });
    expect(book.clockOffsetMs(deviceId)).toBe(2_000);
    presence({ clock: undefined, bootId: journalId });
    expect(book.clockOffsetMs(deviceId)).toBe(2_000);
  });

  it('measures the clock by an old answer if there is nothing else: too early is safe, the gateway’s own clock is not', () => {
    const { book, reading, presence, answer } = setUp();
    answer(false, { clock: reading(-250_000) });
    expect(book.clockOffsetMs(deviceId)).toBe(-250_000);
    answer(false, { clock: reading(-200_000) });
    expect(book.clockOffsetMs(deviceId)).toBe(-250_000);
    presence({ clock: reading(-240_000) });
    expect(book.clockOffsetMs(deviceId)).toBe(-240_000);
  });

  it('keeps a device live and its clock offset when the gateway’s wall clock is set', async () => {
    const { clock, book, reading, presence } = setUp();
    presence({ clock: reading(5_000) });
    const deviceNowMs = () => clock.now() + book.clockOffsetMs(deviceId);
    const beforeMs = deviceNowMs();
    for (const stepMs of [3_600_000, -7_200_000]) {
      clock.setWallClock(clock.now() + stepMs);
      expect([book.isLive(deviceId, 'mqtt'), deviceNowMs()]).toEqual([true, beforeMs]);
    }
    await clock.advance(75_001);
    expect([book.isLive(deviceId, 'mqtt'), deviceNowMs()]).toEqual([false, beforeMs + 75_001]);
    // Setting the wall clock back after that does not make it live again.
    clock.setWallClock(clock.now() - 86_400_000);
    expect(book.isLive(deviceId, 'mqtt')).toBe(false);
  });

  it('keeps the journal of the last message that has one; a presence without one clears it', () => {
    const { book, presence, answer } = setUp();
    const journal = () => book.of(deviceId)?.journalId;
    presence();
    expect(answer(true)).toEqual({ isReconnect: false, isReboot: false });
    expect(journal()).toBe(journalId);
    answer(false, { journalId: bootId });
    expect(journal()).toBe(bootId);
    presence({ journalId: undefined });
    expect([journal(), book.of(deviceId)?.bootId]).toEqual([undefined, bootId]);
  });

  it('keeps the last report of up to 16 KiB, without the envelope fields', () => {
    const { book, reading, presence } = setUp();
    presence({ battery: 80 });
    const told = { online: true, clock: reading(), bootId, journalId, battery: 80 };
    expect(book.of(deviceId)?.report).toEqual(told);
    const long = (length: number) => ({ a: 'x'.repeat(length - '{"a":""}'.length) });
    book.noteReport(deviceId, long(16 * 1024 + 1));
    expect(book.of(deviceId)?.report).toEqual(told);
    book.noteReport(deviceId, long(16 * 1024));
    expect(book.of(deviceId)?.report).toEqual(long(16 * 1024));
  });
});

describe('the waiting room', () => {
  const answerTo = (id: string): AnswerMessage => ({ v: 1, id, device: deviceId, clock: '2026-01-15T09:00:00Z', outcome: 'done' });

  it('passes an answer to its waiting call, if it comes from the device that was asked', () => {
    const room = createWaitingRoom(2);
    const heard: string[] = [];
    room.enter('a', deviceId, (channel, { id }) => heard.push(`${channel} ${id}`));
    expect([room.isWaiting('a'), room.isWaiting('b')]).toEqual([true, false]);
    expect([room.isWaitingFor('a', deviceId), room.isWaitingFor('a', otherDeviceId), room.isWaitingFor('b', deviceId)]).toEqual([
      true,
      false,
      false,
    ]);
    expect(room.deliver('mqtt', otherDeviceId, answerTo('a'))).toBe('foreign');
    expect(heard).toEqual([]);
    expect(room.deliver('queue', deviceId, answerTo('a'))).toBe('taken');
    expect(room.deliver('mqtt', deviceId, answerTo('a'))).toBe('taken');
    expect(heard).toEqual(['queue a', 'mqtt a']);
    room.leave('a');
    expect(room.deliver('queue', deviceId, answerTo('a'))).toBe('unknown');
  });

  it('is full at its limit', () => {
    const room = createWaitingRoom(2);
    room.enter('a', deviceId, () => {});
    expect([room.size, room.isFull]).toEqual([1, false]);
    room.enter('b', deviceId, () => {});
    expect([room.size, room.isFull]).toEqual([2, true]);
    room.forget('a');
    expect([room.size, room.isFull, room.isWaiting('a')]).toEqual([1, false, false]);
  });

  it('remembers the last ten thousand abandoned calls', () => {
    const room = createWaitingRoom(2);
    for (let count = 0; count < 10_000; count += 1) room.forget(`q${count}`);
    expect(room.deliver('mqtt', deviceId, answerTo('q0'))).toBe('forgotten');
    room.forget('one more');
    const [oldest, next, last] = ['q0', 'q1', 'one more'].map((id) => room.deliver('mqtt', deviceId, answerTo(id)));
    expect([oldest, next, last]).toEqual(['unknown', 'forgotten', 'forgotten']);
  });
});

describe('the notes of dropped messages', () => {
  it('are limited to thirty per device, newest first; the totals continue', async () => {
    const clock = createVirtualClock(5_000, { settle: 'microtasks' });
    const drops = createDropCounts(clock);
    for (let count = 0; count < 30; count += 1) drops.add('mqtt', 'field', deviceId, { field: `f${count}`, why: 'odd' });
    await clock.advance(1_000);
    expect(drops.add('mqtt', 'field', deviceId, { field: 'f0', why: 'odd' })).toEqual({
      ...{ channel: 'mqtt', reason: 'field', field: 'f0', why: 'odd', count: 2, firstAtMs: 5_000, lastAtMs: 6_000 },
    });
    expect(drops.notesOf(deviceId)).toHaveLength(30);
    drops.add('queue', 'field', deviceId, { field: 'f0', why: 'odd' });
    const fields = drops.notesOf(deviceId).map(({ channel, field }) => `${channel} ${field}`);
    expect([fields.length, fields[0], fields[1], fields.at(-1)]).toEqual([30, 'queue f0', 'mqtt f0', 'mqtt f2']);
    expect(drops.of(deviceId)).toEqual({ field: { count: 32, lastAtMs: 6_000 } });
    expect([drops.of(otherDeviceId), drops.notesOf(otherDeviceId)]).toEqual([{}, []]);
  });

  it('are kept for a limited number of devices; the one silent for longest is removed first', () => {
    const drops = createDropCounts({ now: () => 1 }, 2);
    for (const id of ['a', 'b', 'a', 'c']) drops.add('mqtt', 'too-large', id);
    expect(['a', 'b', 'c'].map((id) => drops.notesOf(id).length)).toEqual([1, 0, 1]);
    expect(drops.of('a')).toEqual({ 'too-large': { count: 2, lastAtMs: 1 } });
    expect(drops.add('mqtt', 'retained', undefined)).toBeUndefined();
    const sums = drops.inAll();
    expect(sums).toEqual({ 'too-large': 4, retained: 1 });
    sums.retained = 7;
    expect(drops.inAll().retained).toBe(1);
  });
});
