// Token buckets: each name may do `burst` things at once and `perS` a second in the long run.
// Always holds: at most `maxCount` names are kept, and each call looks at a handful of them at most, however many there are.
import type { Clock } from './clock.ts';
import { GatewayError } from './error-codes.ts';
import { TokenBucket } from './token-bucket.ts';

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

export interface RateLimiterOptions {
  clock: Clock;
  perS: number;
  burst: number;
  maxCount?: number;
}

/** Buckets looked at when there is no room for another: enough to let go of full ones faster than new ones come. */
const lookedAt = 8;

export function createRateLimiter({ maxCount = 20_000, ...rate }: RateLimiterOptions): RateLimiter {
  // The order is that of the last touch: those at the front are the likeliest to be full again, which is the same as none.
  const buckets = new Map<string, TokenBucket>();

  function makeRoom(): void {
    for (const [at, [name, bucket]] of [...buckets.entries().take(lookedAt)].entries()) {
      // The very oldest goes in any case, so that memory stays bounded.
      if (at === 0 || bucket.isFull()) buckets.delete(name);
    }
  }

  function secondsUntilToken(bucket: TokenBucket): number | undefined {
    const waitMs = bucket.waitMs();
    return waitMs === 0 ? undefined : Math.ceil(waitMs / 1000);
  }

  function take(name: string): number | undefined {
    const known = buckets.get(name);
    if (known === undefined && buckets.size >= maxCount) makeRoom();
    const bucket = known ?? new TokenBucket(rate);
    buckets.delete(name);
    buckets.set(name, bucket);
    return bucket.take() ? undefined : secondsUntilToken(bucket);
  }

  return {
    take,
    peek(name) {
      const known = buckets.get(name);
      return known && secondsUntilToken(known);
    },
    isFull: (name) => buckets.get(name)?.isFull() ?? true,
    require(name, sentence) {
      const retryAfterS = take(name);
      if (retryAfterS !== undefined) throw new GatewayError('Too_Many_Requests', sentence, { retryAfterS });
    },
  };
}
