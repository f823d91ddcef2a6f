// Bounds the connections of a port that unauthenticated clients can reach [D62]. Invariants: there are bounds for devices that have logged in
// (device-places.ts), for connections without login, and for those per address; no connection stays without login beyond the deadline. Above
// a bound the oldest connection without login is closed for the new one, so that idle connections block no other client. A connection is never
// refused before its login: its device may have a place already.
import { ByOwner } from '../../../kernel/by-owner.ts';
import type { Cancel, Clock } from '../../../kernel/clock.ts';
import { createDevicePlaces, type Place, type PlacedDevice } from '../device-places.ts';

export interface GateLimits {
  /** Devices that have logged in. */
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
  /** False: there is no place for the device, or the connection has ended. */
  loggedIn(device: PlacedDevice): boolean;
  leave(): void;
}

export type ConnectionGate = ReturnType<typeof createConnectionGate>;

interface Pending {
  cut: () => void;
  cancelDeadline: Cancel;
}

export function createConnectionGate(clock: Clock, limits: GateLimits) {
  const pending = new ByOwner<Pending>();
  const places = createDevicePlaces(limits.connections);

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
      return places.taken + pending.size;
    },

    /** `cut` ends the connection. */
    enter(address: string, cut: () => void): Admission {
      if (pending.of(address).size >= limits.withoutLoginPerAddress) cutOldest(pending.of(address));
      if (pending.size >= limits.withoutLogin) cutOldest(pending.all());

      const cancelDeadline = clock.after(limits.loginWithinMs, () => {
        forget(connection);
        cut();
      });
      const connection: Pending = { cut, cancelDeadline };
      pending.add(address, connection);
      let place: Place | undefined;
      return {
        loggedIn(device) {
          if (place !== undefined) return true;
          const taken = places.take(device, cut);
          if (taken === undefined) return false;
          // It may have been closed while its login was checked.
          if (forget(connection)) place = taken;
          else taken.leave();
          return place !== undefined;
        },
        leave() {
          forget(connection);
          place?.leave();
        },
      };
    },
  };
}
