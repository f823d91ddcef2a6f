// How often something may be tried: so many times a minute from one address, and so many times in all.
// Always holds: the memory is bounded; when it is full of addresses, only the common limit is left to judge.
import type { Clock } from '../kernel/clock.ts';
import { GatewayError } from '../kernel/error-codes.ts';

const windowMs = 60_000;
const addressCapacity = 10_000;

export interface AttemptLimit {
  /** Counts one try, or throws 41 when there were too many. */
  count(address: string): void;
}

export function createAttemptLimit(clock: Clock, perAddress: number, inAll: number): AttemptLimit {
  let windowStartMs = clock.elapsed();
  let total = 0;
  const byAddress = new Map<string, number>();

  return {
    count(address) {
      const nowMs = clock.elapsed();
      if (nowMs - windowStartMs >= windowMs) {
        windowStartMs = nowMs;
        total = 0;
        byAddress.clear();
      }
      const fromHere = byAddress.get(address) ?? 0;
      if (fromHere >= perAddress || total >= inAll) {
        const retryAfterS = Math.max(1, Math.ceil((windowStartMs + windowMs - nowMs) / 1000));
        throw new GatewayError('Too_Many_Requests', 'There were too many attempts; try again in a minute.', { retryAfterS });
      }
      total += 1;
      if (byAddress.size < addressCapacity || byAddress.has(address)) byAddress.set(address, fromHere + 1);
    },
  };
}
