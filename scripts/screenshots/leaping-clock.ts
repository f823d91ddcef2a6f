// A clock that runs as fast as the real one but can leap ahead, so that a whole day of sales is played in a minute.
// It leaps only between sales, when nobody waits: waits themselves are real.
import type { Clock } from '../../src/kernel/clock.ts';
import { systemClock } from '../../src/kernel/system.ts';

export interface LeapingClock extends Clock {
  /** Never back. */
  leapTo(atMs: number): void;
}

export function createLeapingClock(startMs: number): LeapingClock {
  let aheadMs = startMs - systemClock.now();
  return {
    ...systemClock,
    now: () => systemClock.now() + aheadMs,
    // What counts how long ago something was must feel the leap, too.
    elapsed: () => systemClock.elapsed() + aheadMs,
    leapTo(atMs) {
      aheadMs = Math.max(aheadMs, atMs - systemClock.now());
    },
  };
}
