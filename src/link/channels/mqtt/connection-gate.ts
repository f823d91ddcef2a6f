// Bounds the connections of a port that unauthenticated clients can reach [D62]. Always holds: at most so many in all, so many without login,
// and so many of those from one address; and none stays without a login for longer than the deadline. Over a bound the oldest that has
// not logged in makes room for the new one, so that a client that only holds connections open blocks no other. One that has logged in is never cut.
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
  interface Pending {
    address: string;
    cut: () => void;
    cancelDeadline: Cancel;
  }
  /** The oldest first. */
  const pending = new Set<Pending>();
  const byAddress = new Map<string, Set<Pending>>();
  let loggedIn = 0;

  /** It has logged in or left. False: it was forgotten before. */
  function forget(connection: Pending): boolean {
    if (!pending.delete(connection)) return false;
    connection.cancelDeadline();
    const neighbours = byAddress.get(connection.address);
    neighbours?.delete(connection);
    if (neighbours?.size === 0) byAddress.delete(connection.address);
    return true;
  }

  function cutOldest(among: Iterable<Pending> | undefined): void {
    for (const oldest of among ?? []) {
      forget(oldest);
      oldest.cut();
      return;
    }
  }

  return {
    get connections() {
      return loggedIn + pending.size;
    },

    enter(address, cut) {
      if (loggedIn >= limits.connections) return undefined;
      if ((byAddress.get(address)?.size ?? 0) >= limits.withoutLoginPerAddress) cutOldest(byAddress.get(address));
      if (pending.size >= limits.withoutLogin || loggedIn + pending.size >= limits.connections) cutOldest(pending);

      const connection: Pending = { address, cut, cancelDeadline: () => {} };
      connection.cancelDeadline = clock.after(limits.loginWithinMs, () => {
        forget(connection);
        cut();
      });
      pending.add(connection);
      const neighbours = byAddress.get(address) ?? new Set();
      byAddress.set(address, neighbours.add(connection));
      let isIn = false;
      return {
        loggedIn() {
          if (!forget(connection)) return;
          isIn = true;
          loggedIn += 1;
        },
        leave() {
          forget(connection);
          if (isIn) loggedIn -= 1;
          isIn = false;
        },
      };
    },
  };
}
