// Slots of those who have shown no credential: how many there are, and whose unread answer makes room when one is needed.
import { beforeEach, describe, expect, it } from 'vitest';
import { type AnonymousSlot, type AnonymousSlots, createAnonymousSlots } from '../../src/http/anonymous-slots.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

let clock: VirtualClock;
let anonymousSlots: AnonymousSlots;
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
/** So many of one address; says how many found a slot. */
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
  ])('have beside %i places %i of their own', (places, expected) => {
    open(places, 100);
    expect(press('a', places + 1, false)).toBe(expected);
  });

  it('of one address have a share, and unused slots up to three quarters', () => {
    expect(press('a', 200, false)).toBe(75);
    expect(press('b', 200, false)).toBe(25);
    expect(cut).toEqual([]);
  });
});

describe('an unread answer', () => {
  it('makes room for the next of its own address, the oldest first, and never for one beside whom there is room', () => {
    expect(press('a', 77, true)).toBe(77);
    expect(cut).toEqual(['a 0', 'a 1']);
    come('b');
    expect(cut).toHaveLength(2);
  });

  it('makes room for others when all is taken: of the address that has most of them', () => {
    press('few', 1, true);
    press('a', 74, true);
    expect(press('few', 25, true)).toBe(25);
    expect(cut).toEqual([]);
    expect(come('c')).toBeDefined();
    expect(cut).toEqual(['a 0']);
    // The one who renews his cuts his own.
    expect(press('a', 10, true)).toBe(10);
    expect(cut.slice(1)).toEqual(expect.arrayContaining(['a 1', 'a 10']));
    expect(cut.every((name) => name.startsWith('a '))).toBe(true);
  });

  it('costs its address as many as are too many, when others were turned away', () => {
    press('a', 75, true);
    press('b', 25, false);
    // All is taken, and b has nothing that could be cut but what a has; then b is at its share.
    expect(press('b', 26, false)).toBe(25);
    expect(cut).toHaveLength(25);
    expect(come('a')).toBeDefined();
    expect(cut).toHaveLength(26);
  });

  it('is not cut while it is worked on, nor after it was read, and its slot is left once', () => {
    open(1);
    const first = come('a');
    expect(come('b')).toBeUndefined();
    first?.leave();
    first?.leave();
    // It was over before its answer was made: whoever asked had gone.
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

  it('of another address is let be by one that is only over its own share', () => {
    press('a', 20, true);
    press('b', 200, false);
    expect(come('b')).toBeUndefined();
    expect(cut).toEqual([]);
  });
});
