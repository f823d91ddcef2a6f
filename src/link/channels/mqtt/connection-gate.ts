// Who may hold a connection at a port that strangers can reach [D62]. Always holds: at most so many in all, so many that have not logged in,
// and so many of those from one address; and nobody stays without a login for longer than the deadline. Over a bound the oldest that has
// not logged in makes room for the new one, so that whoever only holds connections open keeps nobody out. One that has logged in is never cut.
import type { Cancel, Clock } from '../../../kernel/clock.ts';

export interface GateLimits {
  connections: number;
  withoutLogin: number;
  withoutLoginPerAddress: number;
  loginWithinMs: number;
}

export const defaultGateLimits: GateLimits = {
  connections: 10_000,
  withoutLogin: 1_000,
  withoutLoginPerAddress: 100,
  loginWithinMs: 10_000,
};

export interface Admission {
  loggedIn(): void;
  leave(): void;
}

export interface ConnectionGate {
  readonly connections: number;
  /** undefined: every connection is a device's that has logged in, and there is no room for one more. `cut` ends the connection. */
  enter(address: string, cut: () => void): Admission | undefined;
}

export function createConnectionGate(clock: Clock, limits: GateLimits): ConnectionGate {
  interface Stranger {
    address: string;
    cut: () => void;
    cancelDeadline: Cancel;
  }
  /** The oldest first. */
  const strangers = new Set<Stranger>();
  const byAddress = new Map<string, Set<Stranger>>();
  let loggedIn = 0;

  /** It has logged in or left. False: it was forgotten before. */
  function forget(stranger: Stranger): boolean {
    if (!strangers.delete(stranger)) return false;
    stranger.cancelDeadline();
    const neighbours = byAddress.get(stranger.address);
    neighbours?.delete(stranger);
    if (neighbours?.size === 0) byAddress.delete(stranger.address);
    return true;
  }

  function cutOldest(among: Iterable<Stranger> | undefined): void {
    for (const oldest of among ?? []) {
      forget(oldest);
      oldest.cut();
      return;
    }
  }

  return {
    get connections() {
      return loggedIn + strangers.size;
    },

    enter(address, cut) {
      if (loggedIn >= limits.connections) return undefined;
      if ((byAddress.get(address)?.size ?? 0) >= limits.withoutLoginPerAddress) cutOldest(byAddress.get(address));
      if (strangers.size >= limits.withoutLogin || loggedIn + strangers.size >= limits.connections) cutOldest(strangers);

      const stranger: Stranger = { address, cut, cancelDeadline: () => {} };
      stranger.cancelDeadline = clock.after(limits.loginWithinMs, () => {
        forget(stranger);
        cut();
      });
      strangers.add(stranger);
      const neighbours = byAddress.get(address) ?? new Set();
      byAddress.set(address, neighbours.add(stranger));
      let isIn = false;
      return {
        loggedIn() {
          if (!forget(stranger)) return;
          isIn = true;
          loggedIn += 1;
        },
        leave() {
          forget(stranger);
          if (isIn) loggedIn -= 1;
          isIn = false;
        },
      };
    },
  };
}
