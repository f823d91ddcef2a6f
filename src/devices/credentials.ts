// Checks a device's secret, at every login to a broker or the built-in queue and in invoice calls [D10], with a cache of a few seconds. A
// disabled device has no valid secret; a changed secret is effective at once on this instance.
// A right secret is never refused because of wrong ones of other callers [D62]: the cache only limits their cost.

import { hashSecret, sameHash } from '../access/secrets.ts';
import { createShortLivedCache } from '../access/short-lived-cache.ts';
import type { Database } from '../database/database.ts';
import type { DeviceCaller } from '../kernel/callers.ts';
import type { Clock } from '../kernel/clock.ts';
import { parseUuid } from '../kernel/ids.ts';

const knownForMs = 5_000;
const unknownForMs = 2_000;
/** A wrong secret may be newer than the cached one: then the device is read again, but not more often than this. */
const doubtedAfterMs = 1_000;
const memoryCapacity = 10_000;

interface KnownDevice {
  merchantId: string;
  sharePercent: number | null;
  secretHash: string | null;
  isDisabled: boolean;
}

export function createCredentials(database: Database, clock: Clock) {
  // Cached by device, not by secret: any number of wrong secrets for one device costs one query per second.
  const devices = createShortLivedCache<KnownDevice>(clock, memoryCapacity, async (deviceId) => {
    const row = await database.queries
      .selectFrom('devices')
      .innerJoin('merchants', 'merchants.id', 'devices.merchant_id')
      .select(['merchant_id', 'secret_hash', 'disabled_at', 'share_percent'])
      .where('devices.id', '=', deviceId)
      .executeTakeFirst();
    return row
      ? {
          value: {
            merchantId: row.merchant_id,
            sharePercent: row.share_percent,
            secretHash: row.secret_hash,
            isDisabled: row.disabled_at !== null,
          },
          validForMs: knownForMs,
        }
      : { value: undefined, validForMs: unknownForMs };
  });

  const fits = (device: KnownDevice | undefined, secretHash: string): device is KnownDevice =>
    device !== undefined && !device.isDisabled && device.secretHash !== null && sameHash(device.secretHash, secretHash);

  return {
    async check(deviceId: string, secret: string): Promise<DeviceCaller | undefined> {
      const id = parseUuid(deviceId);
      if (id === undefined || secret === '') return undefined;
      const secretHash = hashSecret(secret);
      let device = await devices.get(id);
      if (!fits(device, secretHash)) device = await devices.get(id, doubtedAfterMs);
      if (!fits(device, secretHash)) return undefined;
      const { merchantId, sharePercent } = device;
      return { deviceId: id, merchantId, ...(sharePercent === null ? {} : { sharePercent }) };
    },
    /** Registered and not disabled, whatever its secret: for an existing connection. */
    async mayStay(deviceId: string): Promise<boolean> {
      const id = parseUuid(deviceId);
      if (id === undefined) return false;
      const device = await devices.get(id);
      return device !== undefined && !device.isDisabled;
    },
    forget: () => devices.forget(),
  };
}
