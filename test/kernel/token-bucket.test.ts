// The rule of every rate limit: a burst at once, and a rate in the long run.
import { beforeEach, describe, expect, it } from 'vitest';
import { TokenBucket } from '../../src/kernel/token-bucket.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

let clock: VirtualClock;
let bucket: TokenBucket;

beforeEach(() => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  bucket = new TokenBucket({ clock, burst: 10, perS: 2 });
});
const takeAll = () => {
  let taken = 0;
  while (taken < 100 && bucket.take()) taken += 1;
  return taken;
};

describe('a token bucket', () => {
  it('allows its burst at once, and then its rate', async () => {
    expect(takeAll()).toBe(10);
    await clock.advance(499);
    expect(bucket.take()).toBe(false);
    await clock.advance(1);
    expect([bucket.take(), bucket.take()]).toEqual([true, false]);
    await clock.advance(3_000);
    expect(takeAll()).toBe(6);
  });

  it('never has more than its burst, however long nothing was taken', async () => {
    await clock.advance(3_600_000);
    expect(takeAll()).toBe(10);
  });

  it('allows an event that costs several tokens when it has them; one that costs more than the burst takes the burst', async () => {
    expect([bucket.take(4), bucket.take(7)]).toEqual([true, false]);
    expect(bucket.waitMs(7)).toBe(500);
    await clock.advance(500);
    expect([bucket.take(7), bucket.waitMs()]).toEqual([true, 500]);
    expect(bucket.waitMs(1_000)).toBe(5_000);
    await clock.advance(5_000);
    expect([bucket.take(1_000), bucket.waitMs()]).toEqual([true, 500]);
  });

  it('takes nothing when it refuses', () => {
    bucket.take(9);
    for (let count = 0; count < 5; count += 1) expect(bucket.take(2)).toBe(false);
    expect(bucket.take()).toBe(true);
  });

  it('counts work that is already done as a debt, of its size at most, and says how long it lasts', async () => {
    expect(bucket.overdraw(10)).toBe(0);
    expect(bucket.overdraw(3)).toBe(1_500);
    expect(bucket.overdraw(1_000)).toBe(5_000);
    await clock.advance(4_500);
    expect(bucket.overdraw(0)).toBe(500);
    await clock.advance(1_000);
    expect(bucket.take()).toBe(true);
  });

  it('is full when all is refilled: its owner may forget it', async () => {
    expect(bucket.isFull()).toBe(true);
    bucket.take();
    expect(bucket.isFull()).toBe(false);
    await clock.advance(499);
    expect(bucket.isFull()).toBe(false);
    await clock.advance(1);
    expect(bucket.isFull()).toBe(true);
  });
});
