import { describe, expect, it } from 'vitest';
import { every, sleep } from '../../src/kernel/clock.ts';
import { createVirtualClock } from './virtual-clock.ts';

describe('virtual clock', () => {
  it('fires timers by time, then by the order in which they were set', async () => {
    const clock = createVirtualClock(0, { settle: 'microtasks' });
    const fired: string[] = [];
    clock.after(20, () => fired.push('c'));
    clock.after(10, () => fired.push('a'));
    clock.after(10, () => fired.push('b'));
    await clock.advance(15);
    expect(fired).toEqual(['a', 'b']);
    expect(clock.now()).toBe(15);
    await clock.advance(5);
    expect(fired).toEqual(['a', 'b', 'c']);
  });

  it('shows each action the time that it was set for', async () => {
    const clock = createVirtualClock(1_000);
    const seen: number[] = [];
    const run = (async () => {
      for (let step = 0; step < 3; step += 1) {
        await sleep(clock, 10);
        seen.push(clock.now());
      }
    })();
    await clock.advance(100);
    await run;
    expect(seen).toEqual([1_010, 1_020, 1_030]);
    expect(clock.elapsed()).toBe(100);
  });

  it('does not fire a cancelled timer', async () => {
    const clock = createVirtualClock(0, { settle: 'microtasks' });
    let count = 0;
    const stop = every(clock, 10, () => {
      count += 1;
    });
    await clock.advance(35);
    stop();
    await clock.advance(100);
    expect(count).toBe(3);
    expect(clock.pending).toBe(0);
  });

  it('hands on what an action throws', async () => {
    const clock = createVirtualClock(0, { settle: 'microtasks' });
    clock.after(1, () => {
      throw new Error('broken action');
    });
    await expect(clock.advance(1)).rejects.toThrow('broken action');
  });

  it('stops at the first moment at which a condition holds', async () => {
    const clock = createVirtualClock(0, { settle: 'microtasks' });
    let count = 0;
    every(clock, 10, () => {
      count += 1;
    });
    await clock.runUntil(() => count === 4);
    expect(clock.now()).toBe(40);
    await expect(clock.runUntil(() => false, 50)).rejects.toThrow('50 ms');
  });

  it('keeps elapsed time when the wall clock is set', async () => {
    const clock = createVirtualClock(1_000, { settle: 'microtasks' });
    clock.setWallClock(5_000);
    await clock.advance(10);
    expect([clock.now(), clock.elapsed()]).toEqual([5_010, 10]);
  });

  it('refuses a delay that the real clock cannot hold', () => {
    const clock = createVirtualClock(0);
    expect(() => clock.after(2 ** 31, () => {})).toThrow(RangeError);
    expect(() => clock.after(Number.NaN, () => {})).toThrow(RangeError);
  });
});
