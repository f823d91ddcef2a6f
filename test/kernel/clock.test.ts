import { describe, expect, it } from 'vitest';
import { every, sleep } from '../../src/kernel/clock.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

describe('the clock', () => {
  it('wakes a sleeper when its time has come, not before', async () => {
    const clock = createVirtualClock();
    let isAwake = false;
    void sleep(clock, 1_000).then(() => {
      isAwake = true;
    });
    await clock.advance(999);
    expect(isAwake).toBe(false);
    await clock.advance(1);
    expect(isAwake).toBe(true);
  });

  it('runs a repeated action until it is cancelled, the next period starting when the action has ended', async () => {
    const clock = createVirtualClock();
    const startedAt: number[] = [];
    const begin = clock.now();
    const cancel = every(clock, 100, async () => {
      startedAt.push(clock.now() - begin);
      await sleep(clock, 50);
    });
    await clock.advance(450);
    expect(startedAt).toEqual([100, 250, 400]);
    cancel();
    await clock.advance(1_000);
    expect(startedAt).toHaveLength(3);
  });
});
