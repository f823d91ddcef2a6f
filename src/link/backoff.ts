// How long to wait before connecting again: doubling, capped, and spread by chance so that a thousand clients do not come back in one beat.
import type { Random } from '../kernel/random.ts';

const firstMs = 200;
const longestMs = 10_000;

/** `attempt` counts from 1. */
export function reconnectDelayMs(attempt: number, random: Random): number {
  const ceilingMs = Math.min(longestMs, firstMs * 2 ** Math.min(attempt - 1, 10));
  return Math.round(ceilingMs * (0.5 + random.fraction() / 2));
}
