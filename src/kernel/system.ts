// The real clock and the real randomness: the one place that reaches for them.
import { randomBytes, randomUUID } from 'node:crypto';
import type { Clock } from './clock.ts';
import type { Random } from './random.ts';

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after(delayMs, action) {
    const timer = setTimeout(action, delayMs);
    return () => clearTimeout(timer);
  },
};

/** After what this turn of the event loop has brought in from sockets, threads and files; no time passes. */
export function atTurnsEnd(action: () => void): void {
  setImmediate(action);
}

export const systemRandom: Random = {
  uuid: () => randomUUID(),
  bytes: (count) => randomBytes(count),
  fraction: () => Math.random(),
};
