// Rate limits of authenticated callers: per caller, and for all callers of a merchant together.
// Keys, devices and users of one merchant are counted apart, so that a flood of one kind does not stop the other two.
import type { Caller, DeviceCaller } from '../kernel/callers.ts';
import type { Clock } from '../kernel/clock.ts';
import { createRateLimiter } from '../kernel/rate-limiter.ts';
import type { Viewer } from './viewer.ts';

export interface RequestRatesOptions {
  clock: Clock;
  /** For one key, user or device. */
  rateLimitPerS: number;
  /** For one merchant: all its keys together, all its devices, and all its users. */
  merchantRatePerS: number;
}

export type RequestRates = ReturnType<typeof createRequestRates>;

/** Each method counts one request and throws Too_Many_Requests above the limit. */
export function createRequestRates({ clock, rateLimitPerS, merchantRatePerS }: RequestRatesOptions) {
  const limiter = (perS: number) => createRateLimiter({ clock, perS, burst: Math.max(1, perS) });
  const alone = limiter(rateLimitPerS);
  const together = limiter(merchantRatePerS);

  return {
    countKey({ keyId, merchantId }: Caller): void {
      alone.require(keyId, 'The key has used up its requests for this second.');
      together.require(`keys ${merchantId}`, 'The keys of the merchant have used up their requests for this second.');
    },
    countDevice({ deviceId, merchantId }: DeviceCaller): void {
      alone.require(deviceId, 'The device has used up its requests for this second.');
      together.require(`devices ${merchantId}`, 'The devices of the merchant have used up their requests for this second.');
    },
    /** The admin token has no limit. */
    countViewer({ userId, merchantId }: Viewer): void {
      // Not by session: a user may have twenty of them.
      if (userId !== undefined) alone.require(userId, 'You have used up your requests for this second.');
      if (merchantId === undefined) return;
      together.require(`users ${merchantId}`, 'The users of the merchant have used up their requests for this second.');
    },
  };
}
