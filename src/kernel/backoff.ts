// Pauses between tries: doubling from the first to the longest, so that what is down gets time to come back.
import type { Random } from './random.ts';

export interface PauseRange {
  firstMs: number;
  maxMs: number;
}

/** `failures`: how many there have been since the last success, from 1. */
export function growingPauseMs(failures: number, { firstMs, maxMs }: PauseRange): number {
  // Beyond 2^30 the longest is reached in any case, and the product must stay a number.
  return Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 30));
}

/** Half of the pause to all of it, by chance: a thousand clients of one server must not come back in one beat. */
export function spreadPauseMs(pauseMs: number, random: Random): number {
  return Math.round(pauseMs * (0.5 + random.fraction() / 2));
}
