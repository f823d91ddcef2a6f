// The real clock and the real randomness; no other code uses the system's.
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

/** Runs `action` after the input that this turn of the event loop has read from sockets, threads and files. */
export function atTurnsEnd(action: () => void): void {
  setImmediate(action);
}

export const systemRandom: Random = {
  uuid: () => randomUUID(),
  bytes: (count) => randomBytes(count),
  fraction: () => Math.random(),
};
