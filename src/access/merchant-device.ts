// Looks up a device within the merchant of the key: a caller cannot tell an unknown device from a disabled one or another merchant's [D11].

import type { Queries } from '../database/database.ts';
import { databaseDown } from '../database/errors.ts';
import type { Shared } from '../database/shared-deps.ts';
import type { Clock } from '../kernel/clock.ts';
import { unknownDevice } from '../kernel/error-codes.ts';
import type { DeviceKind } from '../link/protocol.ts';
import { createShortLivedCache } from './short-lived-cache.ts';

export interface MerchantDevice {
  id: string;
  kind: DeviceKind;
  /** The journal that the device last reported, as stored; undefined: none, or not known yet, which counts as none. */
  journalId: string | undefined;
  lastSeenAtMs: number | undefined;
  /** JSON text of the last presence or status report, already masked. */
  lastReport: string | undefined;
}

/** Wake-up topic: a device was enabled, disabled or given a new secret. */
export const deviceAccessTopic = 'device-credentials';
/** If a wake-up is lost, another instance accepts a disabled device for this long at most [D38]. */
const knownForMs = 5_000;
const memoryCapacity = 10_000;
/** If the database hangs, a look-up could queue behind others for minutes, and startBy is not set yet [D65]. */
const waitAtMostMs = 10_000;

/** The merchant's device, ready for commands; otherwise throws error 30, always with the same message. */
export async function requireMerchantDevice(queries: Queries, merchantId: string, deviceId: string): Promise<MerchantDevice> {
  const device = await findMerchantDevice(queries, merchantId, deviceId);
  if (!device) throw unknownDevice();
  return device;
}

export function createMerchantDevices({ database, clock }: Pick<Shared, 'database' | 'clock'>) {
  const devices = createShortLivedCache<MerchantDevice>(clock, memoryCapacity, async (name) => {
    const [merchantId = '', deviceId = ''] = name.split(' ');
    const value = await findMerchantDevice(database.queries, merchantId, deviceId);
    // Not cached if missing: the device may be registered at any moment.
    return { value, validForMs: value ? knownForMs : 0 };
  });
  const stop = database.onWake(deviceAccessTopic, () => devices.forget());
  return {
    /** As requireMerchantDevice, but cached for seconds unless `isFresh`, and with a time-out of ten seconds. */
    async require(merchantId: string, deviceId: string, isFresh: boolean): Promise<MerchantDevice> {
      const name = `${merchantId} ${deviceId}`;
      const device = (isFresh ? undefined : devices.known(name)) ?? (await inTime(clock, devices.get(name, isFresh ? -1 : undefined)));
      if (!device) throw unknownDevice();
      return device;
    },
    stop,
  };
}

function inTime<Value>(clock: Clock, look: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(waitAtMostMs, () => reject(databaseDown('The database did not answer in time; nothing was sent.')));
    look.then(resolve, reject).finally(cancel);
  });
}

async function findMerchantDevice(queries: Queries, merchantId: string, deviceId: string): Promise<MerchantDevice | undefined> {
  const row = await queries
    .selectFrom('devices')
    .select(['id', 'kind', 'journal_id', 'last_seen_at', 'last_report'])
    .where('id', '=', deviceId.toLowerCase())
    .where('merchant_id', '=', merchantId)
    .where('disabled_at', 'is', null)
    .executeTakeFirst();
  return (
    row && {
      id: row.id,
      kind: row.kind,
      journalId: row.journal_id ?? undefined,
      lastSeenAtMs: row.last_seen_at ?? undefined,
      lastReport: row.last_report ?? undefined,
    }
  );
}
