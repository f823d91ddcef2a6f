// A token bucket: `burst` things at once and `perS` a second in the long run. A thing may cost more than one token, up to the whole bucket.
// All limits of a rate are made of it: by name in rate-limiter.ts, of messages in link/intake.ts, of what a socket is read in link/channels.
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

  /** Takes the tokens if they are there. */
  take(cost = 1): boolean {
    if (this.waitMs(cost) > 0) return false;
    this.#tokens -= Math.min(cost, this.#rate.burst);
    return true;
  }

  /** For what has been done already: takes tokens that are not there too, a whole bucket at most. Returns how long until none is owed. */
  overdraw(cost: number): number {
    this.#refill();
    this.#tokens = Math.max(-this.#rate.burst, this.#tokens - cost);
    return this.waitMs(0);
  }

  /** How long until they are there; 0: now. */
  waitMs(cost = 1): number {
    this.#refill();
    const { burst, perS } = this.#rate;
    return Math.max(0, Math.ceil(((Math.min(cost, burst) - this.#tokens) / perS) * 1000));
  }

  /** Nothing that was taken is missing any more. */
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
