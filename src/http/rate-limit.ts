// Token buckets: each name may do `burst` things at once and `perS` a second in the long run.
// Memory is bounded: a bucket that has filled up again is the same as none and is let go.
import { isIPv6 } from 'node:net';
import type { FastifyRequest } from 'fastify';
import type { Clock } from '../kernel/clock.ts';
import { GatewayError } from '../kernel/error-codes.ts';

export interface RateLimiter {
  /** Takes one token. Undefined if there was one, otherwise the whole seconds until there is one again. */
  take(name: string): number | undefined;
  /** As take, but without taking. */
  peek(name: string): number | undefined;
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
  largestCount?: number;
}

export function createRateLimiter({ clock, perS, burst, largestCount = 20_000 }: RateLimiterOptions): RateLimiter {
  const buckets = new Map<string, Bucket>();
  const tokensAt = (bucket: Bucket, nowMs: number) => Math.min(burst, bucket.tokens + ((nowMs - bucket.atMs) / 1000) * perS);

  function makeRoom(nowMs: number): void {
    for (const [name, bucket] of buckets) {
      if (tokensAt(bucket, nowMs) >= burst) buckets.delete(name);
    }
    // All of them in use: the one that was touched longest ago is forgotten, so that memory stays bounded.
    const [oldest] = buckets.keys();
    if (buckets.size >= largestCount && oldest !== undefined) buckets.delete(oldest);
  }

  function secondsUntilToken(tokens: number): number | undefined {
    return tokens >= 1 ? undefined : Math.max(1, Math.ceil((1 - tokens) / perS));
  }

  function take(name: string): number | undefined {
    const nowMs = clock.elapsed();
    const known = buckets.get(name);
    if (known === undefined && buckets.size >= largestCount) makeRoom(nowMs);
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
    require(name, sentence) {
      const retryAfterS = take(name);
      if (retryAfterS !== undefined) throw new GatewayError('Too_Many_Requests', sentence, { retryAfterS });
    },
  };
}

/** The caller's address as a bucket's name. One IPv6 customer holds a whole /64, so that is what counts. */
export function addressOf(request: FastifyRequest): string {
  const address = request.ip.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '');
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const tailGroups = tail === undefined || tail === '' ? [] : tail.split(':');
  const missing = tail === undefined ? 0 : 8 - groups.length - tailGroups.length;
  return [...groups, ...Array<string>(missing).fill('0'), ...tailGroups].slice(0, 4).join(':');
}
