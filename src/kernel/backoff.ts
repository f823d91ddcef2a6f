// Exponential back-off: pauses between tries double from the first to the longest.
import type { Random } from './random.ts';

export interface PauseRange {
  firstMs: number;
  maxMs: number;
}

/** `failures`: the number of failures since the last success, from 1. */
export function growingPauseMs(failures: number, { firstMs, maxMs }: PauseRange): number {
  // The exponent is capped so that the product stays finite; the longest pause is reached long before.
  return Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 30));
}

/** Jitter: a random part, from half to all of the pause, so that a thousand clients of one server do not return at once. */
export function spreadPauseMs(pauseMs: number, random: Random): number {
  return Math.round(pauseMs * (0.5 + random.fraction() / 2));
}
