// Token buckets: each name may do `burst` things at once and `perS` a second in the long run.
// Always holds: at most `maxCount` names are kept, and each call looks at a handful of them at most, however many there are.
import type { Clock } from './clock.ts';
import { GatewayError } from './error-codes.ts';

export interface RateLimiter {
  /** Takes one token. Undefined if there was one, otherwise the whole seconds until there is one again. */
  take(name: string): number | undefined;
  /** As take, but without taking. */
  peek(name: string): number | undefined;
  /** Whether nothing that was taken is missing any more. */
  isFull(name: string): boolean;
  /** Takes one token or throws Too_Many_Requests with that sentence. */
  require(name: string, sentence: string): void;
}

interface Bucket {
  tokens: number;
  atMs: number;
}

export interface RateLimiterOptions {
  clock: Clock;
  perS: number;
  burst: number;
  maxCount?: number;
}

/** Buckets looked at when there is no room for another: enough to let go of full ones faster than new ones come. */
const lookedAt = 8;

export function createRateLimiter({ clock, perS, burst, maxCount = 20_000 }: RateLimiterOptions): RateLimiter {
  // The order is that of the last touch: those at the front are the likeliest to be full again, which is the same as none.
  const buckets = new Map<string, Bucket>();
  const tokensAt = (bucket: Bucket, nowMs: number) => Math.min(burst, bucket.tokens + ((nowMs - bucket.atMs) / 1000) * perS);

  function makeRoom(nowMs: number): void {
    let looked = 0;
    for (const [name, bucket] of buckets) {
      if (looked === lookedAt) break;
      looked += 1;
      // The very oldest goes in any case, so that memory stays bounded.
      if (looked === 1 || tokensAt(bucket, nowMs) >= burst) buckets.delete(name);
    }
  }

  function secondsUntilToken(tokens: number): number | undefined {
    return tokens >= 1 ? undefined : Math.max(1, Math.ceil((1 - tokens) / perS));
  }

  function take(name: string): number | undefined {
    const nowMs = clock.elapsed();
    const known = buckets.get(name);
    if (known === undefined && buckets.size >= maxCount) makeRoom(nowMs);
    const tokens = known === undefined ? burst : tokensAt(known, nowMs);
    const wait = secondsUntilToken(tokens);
    buckets.delete(name);
    buckets.set(name, { tokens: wait === undefined ? tokens - 1 : tokens, atMs: nowMs });
    return wait;
  }

  return {
    take,
    peek(name) {
      const known = buckets.get(name);
      return known === undefined ? undefined : secondsUntilToken(tokensAt(known, clock.elapsed()));
    },
    isFull(name) {
      const known = buckets.get(name);
      return known === undefined || tokensAt(known, clock.elapsed()) >= burst;
    },
    require(name, sentence) {
      const retryAfterS = take(name);
      if (retryAfterS !== undefined) throw new GatewayError('Too_Many_Requests', sentence, { retryAfterS });
    },
  };
}
