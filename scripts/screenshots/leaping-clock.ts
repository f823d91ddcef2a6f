// A clock that runs as fast as the real one but can leap ahead, so that a whole day of sales is played in a minute.
// It leaps only between sales, when no call waits: waits themselves are real.
import type { Clock } from '../../src/kernel/clock.ts';
import { systemClock } from '../../src/kernel/system.ts';

export interface LeapingClock extends Clock {
  /** Never back. */
  leapTo(atMs: number): void;
}

/** `isFelt`: the monotonic clock leaps, too; otherwise only the wall clock does. */
export function createLeapingClock(startMs: number, { isFelt }: { isFelt: boolean }): LeapingClock {
  let aheadMs = startMs - systemClock.now();
  return {
    ...systemClock,
    now: () => systemClock.now() + aheadMs,
    elapsed: () => systemClock.elapsed() + (isFelt ? aheadMs : 0),
    leapTo(atMs) {
      aheadMs = Math.max(aheadMs, atMs - systemClock.now());
    },
  };
}
