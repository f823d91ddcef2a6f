// Token buckets by name: each name may use `burst` tokens at once and `perS` per second in the long run.
// Invariants: at most `maxCount` names are kept, and each call examines only a few of them, however many there are.
import type { Clock } from './clock.ts';
import { GatewayError } from './error-codes.ts';
import { TokenBucket } from './token-bucket.ts';

export type RateLimiter = ReturnType<typeof createRateLimiter>;

export interface RateLimiterOptions {
  clock: Clock;
  perS: number;
  burst: number;
  maxCount?: number;
}

/** Buckets examined when the map is full: enough to delete full ones faster than new ones come. */
const lookedAt = 8;

export function createRateLimiter({ maxCount = 20_000, ...rate }: RateLimiterOptions) {
  // In the order of the last use: those at the front are most likely full again, and a full bucket need not be kept.
  const buckets = new Map<string, TokenBucket>();

  function makeRoom(): void {
    for (const [at, [name, bucket]] of [...buckets.entries().take(lookedAt)].entries()) {
      // The oldest is always deleted, so that memory stays bounded.
      if (at === 0 || bucket.isFull()) buckets.delete(name);
    }
  }

  function secondsUntilToken(bucket: TokenBucket): number | undefined {
    const waitMs = bucket.waitMs();
    return waitMs === 0 ? undefined : Math.ceil(waitMs / 1000);
  }

  /** Takes one token. Undefined: there was one; otherwise the whole seconds until there is one again. */
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
    /** Like take, but takes nothing. */
    peek(name: string): number | undefined {
      const known = buckets.get(name);
      return known && secondsUntilToken(known);
    },
    /** Whether all tokens are refilled. */
    isFull: (name: string) => buckets.get(name)?.isFull() ?? true,
    /** Takes one token, or throws Too_Many_Requests with this message. */
    require(name: string, sentence: string): void {
      const retryAfterS = take(name);
      if (retryAfterS !== undefined) throw new GatewayError('Too_Many_Requests', sentence, { retryAfterS });
    },
  };
}
