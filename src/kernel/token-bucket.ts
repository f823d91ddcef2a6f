// One token bucket: `burst` things at once and `perS` a second in the long run. A thing may cost more than one token, up to the whole bucket.
import type { Clock } from './clock.ts';

export interface TokenBucket {
  /** Takes the tokens if they are there. */
  take(cost?: number): boolean;
  /** How long until they are there; 0: now. */
  waitMs(cost?: number): number;
}

export function createTokenBucket({ clock, burst, perS }: { clock: Clock; burst: number; perS: number }): TokenBucket {
  let tokens = burst;
  let atMs = clock.elapsed();

  function refill(): void {
    const nowMs = clock.elapsed();
    tokens = Math.min(burst, tokens + ((nowMs - atMs) / 1000) * perS);
    atMs = nowMs;
  }

  return {
    take(cost = 1) {
      refill();
      const price = Math.min(cost, burst);
      if (tokens < price) return false;
      tokens -= price;
      return true;
    },
    waitMs(cost = 1) {
      refill();
      return Math.max(0, Math.ceil(((Math.min(cost, burst) - tokens) / perS) * 1000));
    },
  };
}
