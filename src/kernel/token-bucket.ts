// A token bucket: `burst` events at once and `perS` per second in the long run. An event may cost several tokens, up to the whole bucket.
// All rate limits use it: by name in rate-limiter.ts, for messages in link/intake.ts, for bytes read from a socket in link/channels.
import type { Clock } from './clock.ts';

export interface Rate {
  clock: Clock;
  burst: number;
  perS: number;
}

export class TokenBucket {
  readonly #rate: Rate;
  #tokens: number;
  #atMs: number;

  constructor(rate: Rate) {
    this.#rate = rate;
    this.#tokens = rate.burst;
    this.#atMs = rate.clock.elapsed();
  }

  /** Takes the tokens if there are enough. */
  take(cost = 1): boolean {
    if (this.waitMs(cost) > 0) return false;
    this.#tokens -= Math.min(cost, this.#rate.burst);
    return true;
  }

  /** For work that is already done: the bucket may go negative, by its size at most. Returns the time until it is positive again. */
  overdraw(cost: number): number {
    this.#refill();
    this.#tokens = Math.max(-this.#rate.burst, this.#tokens - cost);
    return this.waitMs(0);
  }

  /** Time until there are enough tokens; 0: now. */
  waitMs(cost = 1): number {
    this.#refill();
    const { burst, perS } = this.#rate;
    return Math.max(0, Math.ceil(((Math.min(cost, burst) - this.#tokens) / perS) * 1000));
  }

  /** All tokens are refilled. */
  isFull(): boolean {
    this.#refill();
    return this.#tokens >= this.#rate.burst;
  }

  #refill(): void {
    const { clock, burst, perS } = this.#rate;
    const nowMs = clock.elapsed();
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#atMs) / 1000) * perS);
    this.#atMs = nowMs;
  }
}
