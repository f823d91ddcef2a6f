// Bounds the connections of a port that unauthenticated clients can reach [D62]. Invariants: there are bounds for all connections, for those
// without login, and for those without login per address; no connection stays without login beyond the deadline. Above a bound the oldest
// connection without login is closed for the new one, so that idle connections block no other client. One that has logged in is never closed.
import { ByOwner } from '../../../kernel/by-owner.ts';
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

export type ConnectionGate = ReturnType<typeof createConnectionGate>;

interface Pending {
  cut: () => void;
  cancelDeadline: Cancel;
}

export function createConnectionGate(clock: Clock, limits: GateLimits) {
  const pending = new ByOwner<Pending>();
  let loggedIn = 0;

  /** The connection has logged in or closed. False: it was already removed. */
  function forget(connection: Pending): boolean {
    connection.cancelDeadline();
    return pending.delete(connection);
  }

  function cutOldest([oldest]: Iterable<Pending>): void {
    if (oldest === undefined) return;
    forget(oldest);
    oldest.cut();
  }

  return {
    get connections() {
      return loggedIn + pending.size;
    },

    /** undefined: the bound is reached by devices that have logged in. `cut` ends the connection. */
    enter(address: string, cut: () => void): Admission | undefined {
      if (loggedIn >= limits.connections) return undefined;
      if (pending.of(address).size >= limits.withoutLoginPerAddress) cutOldest(pending.of(address));
      if (pending.size >= limits.withoutLogin || loggedIn + pending.size >= limits.connections) cutOldest(pending.all());

      const cancelDeadline = clock.after(limits.loginWithinMs, () => {
        forget(connection);
        cut();
      });
      const connection: Pending = { cut, cancelDeadline };
      pending.add(address, connection);
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
