// Bounds the connections of a port that unauthenticated clients can reach [D62]. Invariants: there are bounds for all connections, for those
// without login, and for those without login per address; no connection stays without login beyond the deadline. Above a bound the oldest
// connection without login is closed for the new one, so that idle connections block no other client. One that has logged in is never closed.
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
  /** undefined: the bound is reached by devices that have logged in. `cut` ends the connection. */
  enter(address: string, cut: () => void): Admission | undefined;
}

export function createConnectionGate(clock: Clock, limits: GateLimits): ConnectionGate {
  interface Pending {
    address: string;
    cut: () => void;
    cancelDeadline: Cancel;
  }
  /** Oldest first. */
  const pending = new Set<Pending>();
  const byAddress = new Map<string, Set<Pending>>();
  let loggedIn = 0;

  /** The connection has logged in or closed. False: it was already removed. */
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
