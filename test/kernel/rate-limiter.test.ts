// Token buckets in virtual time.

import { describe, expect, it } from 'vitest';
import { networkOf } from '../../src/kernel/network-of.ts';
import { createRateLimiter } from '../../src/kernel/rate-limiter.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

describe('a bucket', () => {
  it('allows its burst at once, then its rate, and returns how long to wait', async () => {
    const clock = createVirtualClock();
    const limiter = createRateLimiter({ clock, perS: 0.5, burst: 2 });
    expect([limiter.take('a'), limiter.take('a'), limiter.take('a'), limiter.peek('a'), limiter.take('b')]).toEqual([
      undefined,
      undefined,
      2,
      2,
      undefined,
    ]);
    await clock.advance(1999);
    expect(limiter.take('a')).toBe(1);
    await clock.advance(1);
    expect([limiter.take('a'), limiter.take('a')]).toEqual([undefined, 2]);
    expect(() => limiter.require('a', 'Slowly.')).toThrow(
      expect.objectContaining({ errorName: 'Too_Many_Requests', httpStatus: 429, retryAfterS: 2 }),
    );
  });

  it('never saves up more than the burst', async () => {
    const clock = createVirtualClock();
    const limiter = createRateLimiter({ clock, perS: 10, burst: 2 });
    limiter.take('a');
    await clock.advance(3_600_000);
    expect([limiter.take('a'), limiter.take('a'), limiter.take('a')]).toEqual([undefined, undefined, 1]);
  });

  it('is evicted only when it is full or the oldest', () => {
    const limiter = createRateLimiter({ clock: createVirtualClock(), perS: 1, burst: 1, maxCount: 2 });
    limiter.take('old');
    limiter.take('a');
    limiter.take('b');
    expect([limiter.peek('old'), limiter.peek('a'), limiter.peek('b')]).toEqual([undefined, 1, 1]);
  });
});

describe('an address', () => {
  it.each([
    ['10.1.2.3', '10.1.2.3'],
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::'],
    ['2001:db8:1:2::7', '2001:db8:1:2::'],
    ['2001:db8::7', '2001:db8::'],
    ['::1', '::'],
    ['10.1.2.3:5044', '10.1.2.3'],
    ['2001:0DB8:1:02::7%eth0', '2001:db8:1:2::'],
  ])('%s counts as %s', (ip, name) => {
    expect(networkOf(ip)).toBe(name);
  });
});
