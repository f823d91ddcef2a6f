// The places of devices that have logged in, at the embedded broker and at the built-in queue each, with a fair share per merchant [D287].
// Invariants: a device has one place, and keeps it when it connects again; never more places are taken than exist. While one is free any
// device gets it. When all are taken, a device of a merchant with fewer gets the newest place of the merchant with the most: so no number of
// devices of one merchant keeps those of another out, and none loses its place to a merchant that has as many.
import { ByOwner } from '../../kernel/by-owner.ts';

export interface PlacedDevice {
  deviceId: string;
  merchantId: string;
}

export interface Place {
  /** Idempotent; does nothing if the device has connected again since. */
  leave(): void;
}

interface Held {
  deviceId: string;
  cut(): void;
}

export type DevicePlaces = ReturnType<typeof createDevicePlaces>;

export function createDevicePlaces(maxPlaces: number) {
  const places = new ByOwner<Held>();
  const ofDevice = new Map<string, Held>();

  function leave(held: Held): void {
    if (places.delete(held)) ofDevice.delete(held.deviceId);
  }

  /** False: no merchant has so many more that it still has as many afterwards. */
  function makeRoom(merchantId: string): boolean {
    const most = places.ofLargest();
    const newest = [...most].at(-1);
    if (newest === undefined || places.of(merchantId).size + 1 >= most.size) return false;
    leave(newest);
    newest.cut();
    return true;
  }

  return {
    get taken() {
      return places.size;
    },
    /** Undefined: all are taken, and none may be taken over. `cut` ends the connection when its place is given to another merchant. */
    take({ deviceId, merchantId }: PlacedDevice, cut: () => void): Place | undefined {
      const before = ofDevice.get(deviceId);
      if (before !== undefined) leave(before);
      else if (places.size >= maxPlaces && !makeRoom(merchantId)) return undefined;
      const held: Held = { deviceId, cut };
      places.add(merchantId, held);
      ofDevice.set(deviceId, held);
      return { leave: () => leave(held) };
    },
  };
}
