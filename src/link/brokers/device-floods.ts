// Ends the connections of a device that floods RabbitMQ, and refuses its logins for a minute [D325]. RabbitMQ has no limit of a user's
// messages, and the answers of all devices wait in one queue of the gateway: behind a flood, those of other merchants come seconds later.
// What the gateway drops of a device is counted here; what the device is allowed costs nothing.
import { BoundedMap } from '../../kernel/bounded-map.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import { TokenBucket } from '../../kernel/token-bucket.ts';

export interface DeviceFloodsOptions {
  clock: Clock;
  logger: Logger;
  /** Rate limit of a device; sustained floods below five times as many are only dropped, as the embedded broker reads that many. */
  messagesPerS: number;
  endConnections(deviceId: string): void;
}

const refusedForMs = 60_000;
const bytesPerToken = 16 * 1024;
const maxDevices = 10_000;

export type DeviceFloods = ReturnType<typeof createDeviceFloods>;

export function createDeviceFloods({ clock, logger, messagesPerS, endConnections }: DeviceFloodsOptions) {
  const perS = Math.max(100, 5 * messagesPerS);
  const budgets = new BoundedMap<string, TokenBucket>(maxDevices);
  const refusedUntilMs = new BoundedMap<string, number>(maxDevices);

  return {
    /** A message of the device was dropped because it is above its share, or unproven. */
    dropped(deviceId: string, bytes: number): void {
      const budget = budgets.get(deviceId) ?? new TokenBucket({ clock, burst: 10 * perS, perS });
      budgets.set(deviceId, budget);
      if (budget.take(1 + Math.floor(bytes / bytesPerToken))) return;
      budgets.delete(deviceId);
      refusedUntilMs.delete(deviceId);
      refusedUntilMs.set(deviceId, clock.elapsed() + refusedForMs);
      logger.warn({ deviceId, refusedForS: refusedForMs / 1000 }, 'a device floods RabbitMQ; its connections are ended');
      endConnections(deviceId);
    },
    isRefused: (deviceId: string): boolean => (refusedUntilMs.get(deviceId) ?? 0) > clock.elapsed(),
  };
}
