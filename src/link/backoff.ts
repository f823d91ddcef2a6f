// How long to wait before connecting to a broker again.
import { growingPauseMs, spreadPauseMs } from '../kernel/backoff.ts';
import type { Random } from '../kernel/random.ts';

const reconnectPauses = { firstMs: 200, maxMs: 10_000 };

/** `attempt` counts from 1. */
export function reconnectDelayMs(attempt: number, random: Random): number {
  return spreadPauseMs(growingPauseMs(attempt, reconnectPauses), random);
}
