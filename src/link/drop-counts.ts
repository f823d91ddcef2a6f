// How many messages of devices were dropped and why: in all, and per device for whoever looks for the one that is broken or in foreign hands.
// Bounded: of more devices than `maxDevices` those are forgotten whose last drop is longest ago; the sums in all stay.
import type { Clock } from '../kernel/clock.ts';
import type { DropReason } from './messages.ts';

/** `late-question`: the answer to a question that nobody waits for any more. */
export type CountedReason = DropReason | 'late-question';
export type Drops = Partial<Record<CountedReason, number>>;
export type DeviceDrops = Partial<Record<CountedReason, { count: number; lastAtMs: number }>>;

export interface DropCounts {
  add(reason: CountedReason, deviceId: string | undefined): void;
  inAll(): Drops;
  of(deviceId: string): DeviceDrops;
}

export function createDropCounts(clock: Pick<Clock, 'now'>, maxDevices = 10_000): DropCounts {
  const inAll: Drops = {};
  const byDevice = new Map<string, DeviceDrops>();

  return {
    add(reason, deviceId) {
      inAll[reason] = (inAll[reason] ?? 0) + 1;
      if (deviceId === undefined) return;
      const drops = byDevice.get(deviceId) ?? {};
      byDevice.delete(deviceId);
      byDevice.set(deviceId, drops);
      drops[reason] = { count: (drops[reason]?.count ?? 0) + 1, lastAtMs: clock.now() };
      if (byDevice.size > maxDevices) for (const oldest of byDevice.keys().take(1)) byDevice.delete(oldest);
    },
    inAll: () => ({ ...inAll }),
    of: (deviceId) => ({ ...byDevice.get(deviceId) }),
  };
}
