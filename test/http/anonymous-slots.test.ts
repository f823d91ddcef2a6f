// Slots of requests without a credential: how many there are, and which unread answer is dropped when one is needed.
import { beforeEach, describe, expect, it } from 'vitest';
import { type AnonymousSlot, createAnonymousSlots } from '../../src/http/anonymous-slots.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

let clock: VirtualClock;
let anonymousSlots: ReturnType<typeof createAnonymousSlots>;
let cut: string[];

function open(places: number, sharePercent = 50): void {
  anonymousSlots = createAnonymousSlots({ clock, places, sharePercent });
}
beforeEach(() => {
  clock = createVirtualClock();
  cut = [];
  open(400);
});

const come = (network: string, name = network): AnonymousSlot | undefined => anonymousSlots.take(network, () => cut.push(name));
/** Takes this many slots for one address; returns how many it got. */
function press(network: string, times: number, isAnswered: boolean): number {
  let count = 0;
  for (let time = 0; time < times; time += 1) {
    const slot = come(network, `${network} ${time}`);
    if (slot === undefined) continue;
    count += 1;
    if (isAnswered) slot.answered();
  }
  return count;
}

describe('anonymous callers', () => {
  it.each([
    [0, 0],
    [3, 3],
    [20, 20],
    [79, 20],
    [84, 21],
    [85, 22],
    [5_000, 1_250],
  ])('have, of %i slots, %i for themselves', (places, expected) => {
    open(places, 100);
    expect(press('a', places + 1, false)).toBe(expected);
  });

  it('of one address have a share, and may use free slots up to three quarters', () => {
    expect(press('a', 200, false)).toBe(75);
    expect(press('b', 200, false)).toBe(25);
    expect(cut).toEqual([]);
  });
});

describe('an unread answer', () => {
  it('is dropped for the next request of its own address, oldest first, and never while that address may take a free slot', () => {
    expect(press('a', 77, true)).toBe(77);
    expect(cut).toEqual(['a 0', 'a 1']);
    come('b');
    expect(cut).toHaveLength(2);
  });

  it('is dropped for other addresses when all slots are taken: of the address that has most', () => {
    press('few', 1, true);
    press('a', 74, true);
    expect(press('few', 25, true)).toBe(25);
    expect(cut).toEqual([]);
    expect(come('c')).toBeDefined();
    expect(cut).toEqual(['a 0']);
    // A request of that address drops one of its own.
    expect(press('a', 10, true)).toBe(10);
    expect(cut.slice(1)).toEqual(expect.arrayContaining(['a 1', 'a 10']));
    expect(cut.every((name) => name.startsWith('a '))).toBe(true);
  });

  it('is dropped until its address is back at its share, when others were refused', () => {
    press('a', 75, true);
    press('b', 25, false);
    // All slots are taken, and only answers of a can be dropped; then b has its share.
    expect(press('b', 26, false)).toBe(25);
    expect(cut).toHaveLength(25);
    expect(come('a')).toBeDefined();
    expect(cut).toHaveLength(26);
  });

  it('is not dropped while the request is in progress, nor after it was read, and its slot is released once', () => {
    open(1);
    const first = come('a');
    expect(come('b')).toBeUndefined();
    first?.leave();
    first?.leave();
    // Its caller had disconnected before the answer was ready.
    first?.answered();
    const second = come('b');
    expect(second).toBeDefined();
    expect(come('c')).toBeUndefined();
    second?.answered();
    expect(come('c')).toBeDefined();
    second?.leave();
    expect(come('d')).toBeUndefined();
    expect(cut).toEqual(['b']);
  });

  it('of another address is not dropped for an address above its own share', () => {
    press('a', 20, true);
    press('b', 200, false);
    expect(come('b')).toBeUndefined();
    expect(cut).toEqual([]);
  });
});
