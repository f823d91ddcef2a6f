// Slots beyond an owner's share are lent, unless another owner was refused recently: in virtual time.
import { beforeEach, describe, expect, it } from 'vitest';
import { createRequestSlots, type Slot } from '../../src/http/request-slots.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

let clock: VirtualClock;
let slots: ReturnType<typeof createRequestSlots>;
let held: Slot[];

beforeEach(() => {
  clock = createVirtualClock();
  slots = createRequestSlots({ clock, count: 100, defaultSharePercent: 10 });
  held = [];
});

/** Takes slots in a row; returns how many it got. */
function take(name: string, times: number): number {
  let count = 0;
  for (let time = 0; time < times; time += 1) {
    const slot = slots.take({ name });
    if (slot === undefined) continue;
    count += 1;
    if (name === 'one') held.push(slot);
  }
  return count;
}
/** Releases slots of the first owner. */
const giveBack = (times: number) => {
  for (const slot of held.splice(0, times)) slot.leave();
};

describe('an owner beyond its share', () => {
  it('that was refused itself may borrow again as soon as there is room', () => {
    expect(take('one', 76)).toBe(75);
    giveBack(40);
    expect(take('one', 1)).toBe(1);
  });

  it('may not borrow for ten seconds after another owner was refused', async () => {
    take('one', 75);
    expect(take('other', 11)).toBe(10);
    giveBack(40);
    expect(take('one', 1)).toBe(0);
    await clock.advance(9_999);
    expect(take('one', 1)).toBe(0);
    await clock.advance(1);
    expect(take('one', 1)).toBe(1);
  });

  it('may still not borrow if it was refused itself since', () => {
    take('one', 75);
    take('other', 11);
    expect(take('one', 3)).toBe(0);
    giveBack(40);
    expect(take('one', 1)).toBe(0);
  });
});
