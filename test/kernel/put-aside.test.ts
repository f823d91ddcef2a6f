import { describe, expect, it } from 'vitest';
import { PutAside } from '../../src/kernel/put-aside.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

describe('a row that is set aside', () => {
  const open = () => {
    const clock = createVirtualClock();
    return { clock, aside: new PutAside(clock, { firstMs: 100, maxMs: 400 }) };
  };

  it('is skipped for its pause and no longer, and longer after each failure', async () => {
    const { clock, aside } = open();
    expect([aside.has('a'), aside.count]).toEqual([false, 0]);
    for (const pauseMs of [100, 200, 400, 400]) {
      expect(aside.add('a')).toBe(pauseMs);
      await clock.advance(pauseMs - 1);
      expect([aside.has('a'), aside.has('b'), aside.count]).toEqual([true, false, 1]);
      await clock.advance(1);
      expect([aside.has('a'), aside.count]).toEqual([false, 0]);
    }
  });

  it('is forgotten when it has not failed again for the longest pause', async () => {
    const { clock, aside } = open();
    for (const id of ['a', 'b', 'b', 'b']) aside.add(id);
    await clock.advance(100 + 400);
    // At its last moment: its failures still count.
    expect([aside.add('c'), aside.add('a')]).toEqual([100, 200]);
    await clock.advance(200 + 401);
    expect([aside.add('a'), aside.add('b')]).toEqual([100, 100]);
    expect(aside.count).toBe(2);
  });
});
