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
