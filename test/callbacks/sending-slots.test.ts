import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSendingSlots } from '../../src/callbacks/sending-slots.ts';

const quick = { durationMs: 5, hasAnswered: true };
const silent = { durationMs: 15_000, hasAnswered: false };
const slow = { durationMs: 4_000, hasAnswered: true };

describe('places', () => {
  it('gives a host no more than its own, and all hosts no more than the total', () => {
    const places = createSendingSlots({ total: 10, perHost: 8 });
    expect(places.room('a', 1)).toBe(8);
    for (let count = 0; count < 8; count += 1) places.take('a');
    expect(places.room('a', 1)).toBe(0);
    expect(places.room('b', 1)).toBe(2);
  });

  it('divides what is left between the hosts that have work', () => {
    const places = createSendingSlots({ total: 8, perHost: 8 });
    expect(places.room('a', 4)).toBe(2);
    expect(places.room('a', 100)).toBe(1);
  });

  it('leaves half of all places to the others, however many hosts are slow', () => {
    const places = createSendingSlots({ total: 16, perHost: 8 });
    for (let host = 0; host < 50; host += 1) {
      places.take(`slow${host}`);
      places.free(`slow${host}`, host % 2 ? slow : silent);
    }
    for (let host = 0; host < 50; host += 1) while (places.room(`slow${host}`, 1) > 0) places.take(`slow${host}`);
    expect(places.taken).toBe(8);
    expect(places.room('healthy', 1)).toBe(8);
  });

  it('gives a silent host a single place until it answers quickly again', () => {
    const places = createSendingSlots({ total: 64, perHost: 8 });
    places.take('a');
    places.free('a', silent);
    expect(places.room('a', 1)).toBe(1);
    places.take('a');
    expect(places.room('a', 1)).toBe(0);
    places.free('a', quick);
    expect(places.room('a', 1)).toBe(8);
  });

  it('takes a host for slow from two seconds on, and leaves one place to slow ones however few there are', () => {
    const roomAfter = (durationMs: number, total: number) => {
      const places = createSendingSlots({ total, perHost: 8 });
      places.take('a');
      places.free('a', { durationMs, hasAnswered: true });
      return places.room('a', 1);
    };
    expect([roomAfter(1_999, 4), roomAfter(2_000, 4)]).toEqual([4, 2]);
    expect(roomAfter(2_000, 1)).toBe(1);
  });

  it('gives a place back to whom it was taken from', () => {
    const places = createSendingSlots({ total: 8, perHost: 8 });
    for (const host of ['a', 'a', 'b']) places.take(host);
    places.free('a', quick);
    expect([places.taken, places.takenBy('a'), places.takenBy('b')]).toEqual([2, 1, 1]);
    places.free('a', quick);
    expect([places.taken, places.takenBy('a'), places.takenBy('b')]).toEqual([1, 0, 1]);
  });

  it('tells when the place that was freed is one that others may have waited for', () => {
    const places = createSendingSlots({ total: 4, perHost: 4 });
    for (const host of ['a', 'b', 'c']) places.take(host);
    expect(places.free('a', slow)).toEqual({ wasFull: false });
    for (const host of ['a', 'd']) places.take(host);
    expect(places.free('d', slow)).toEqual({ wasFull: true });
    // Two of four are for slow hosts, and both are taken.
    places.free('b', quick);
    places.take('d');
    expect(places.free('c', quick)).toEqual({ wasFull: false });
    expect(places.free('d', slow)).toEqual({ wasFull: true });
    expect(places.free('a', slow)).toEqual({ wasFull: false });
  });

  it('never gives more than there is', () => {
    const step = fc.record({
      host: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
      ended: fc.constantFrom(undefined, quick, slow, silent),
      sharedBy: fc.integer({ min: 0, max: 9 }),
    });
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 200 }),
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 5 }),
        (steps, total, perHost) => {
          const places = createSendingSlots({ total, perHost });
          for (const { host, ended, sharedBy } of steps) {
            if (ended !== undefined && places.takenBy(host) > 0) places.free(host, ended);
            for (let room = places.room(host, sharedBy); room > 0; room -= 1) places.take(host);
            expect(places.taken).toBeLessThanOrEqual(total);
            expect(places.takenBy(host)).toBeLessThanOrEqual(perHost);
          }
        },
      ),
    );
  });
});

describe('what is leased ahead of its place', () => {
  const aheadAfter = (durationMs: number, hasAnswered = true) => {
    const places = createSendingSlots({ total: 64, perHost: 8 });
    places.take('a');
    places.free('a', { durationMs, hasAnswered });
    return places.ahead('a');
  };

  it('is what the host answers in a second, by its last attempt, and bounded', () => {
    expect([100, 400, 1_999].map((durationMs) => aheadAfter(durationMs))).toEqual([80, 20, 4]);
    expect([0, 1, 5, 83].map((durationMs) => aheadAfter(durationMs))).toEqual([96, 96, 96, 96]);
    expect(aheadAfter(84)).toBe(95);
  });

  it('is nothing for a host that is slow, silent or not known', () => {
    expect([aheadAfter(2_000), aheadAfter(15_000, false)]).toEqual([0, 0]);
    expect(createSendingSlots({ total: 64, perHost: 8 }).ahead('a')).toBe(0);
  });

  it('is remembered of the thousand hosts that were sent to last', () => {
    const places = createSendingSlots({ total: 64, perHost: 8 });
    const send = (host: string) => {
      places.take(host);
      places.free(host, quick);
    };
    for (let host = 0; host < 1_000; host += 1) send(`h${host}`);
    expect(places.ahead('h0')).toBe(96);
    send('h0');
    send('new');
    expect([places.ahead('h0'), places.ahead('h1'), places.ahead('h2'), places.ahead('new')]).toEqual([96, 0, 96, 96]);
  });
});
