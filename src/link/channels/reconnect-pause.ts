// The back-off before reconnecting to a broker.
import { growingPauseMs, spreadPauseMs } from '../../kernel/backoff.ts';
import type { Random } from '../../kernel/random.ts';

const pauses = { firstMs: 200, maxMs: 10_000 };

/** `attempt` counts from 1. */
export function reconnectPauseMs(attempt: number, random: Random): number {
  return spreadPauseMs(growingPauseMs(attempt, pauses), random);
}
