// The limit of wrong guesses per network. IPv4 counts by address. IPv6 counts by /64, /56 and /48 at once, because one customer may have
// any of them: each wider network has twice the allowance of the narrower one.
import ipaddr from 'ipaddr.js';
import type { Clock } from './clock.ts';
import { createRateLimiter } from './rate-limiter.ts';

export interface Allowance {
  burst: number;
  perS: number;
}

const prefixes = [64, 56, 48];

/** From the narrowest to the widest. `network`: a result of networkOf. */
function widened(network: string): string[] {
  if (!ipaddr.IPv6.isValid(network)) return [network];
  return prefixes.map((bits) => `${ipaddr.IPv6.networkAddressFromCIDR(`${network}/${bits}`).toString()}/${bits}`);
}

/** One customer may have all of it. `network`: a result of networkOf. */
export function widestNetwork(network: string): string {
  return widened(network).at(-1) ?? network;
}

export function createNetworkLimit(clock: Clock, { burst, perS }: Allowance) {
  const limiters = prefixes.map((_bits, level) => createRateLimiter({ clock, burst: burst * 2 ** level, perS: perS * 2 ** level }));
  return {
    /** Whole seconds until the network may guess again; undefined: now. */
    peek(network: string): number | undefined {
      const waits = widened(network).flatMap((name, level) => limiters[level]?.peek(name) ?? []);
      return waits.length === 0 ? undefined : Math.max(...waits);
    },
    take(network: string): void {
      for (const [level, name] of widened(network).entries()) limiters[level]?.take(name);
    },
    /** Whether neither it nor the widest network around it has guessed wrong lately. */
    isFresh: (network: string) => widened(network).every((name, level) => limiters[level]?.isFull(name) === true),
  };
}
