// Is this the device's own secret? Asked at every login on a broker, the built-in queue and the invoice calls [D10],
// and remembered for seconds. A disabled device has no valid secret; a change of secret is felt at once here.

import { hashSecret, sameHash } from '../access/secrets.ts';
import { createBriefMemory } from '../access/short-lived-cache.ts';
import type { Database } from '../database/database.ts';
import type { DeviceCaller } from '../http/authentication.ts';
import type { Clock } from '../kernel/clock.ts';
import { parseUuid } from '../kernel/ids.ts';

const knownForMs = 5_000;
const unknownForMs = 2_000;
const memoryCapacity = 10_000;

export interface Credentials {
  check(deviceId: string, secret: string): Promise<DeviceCaller | undefined>;
  /** Registered and not disabled, whatever its secret: for a connection that exists already. */
  mayStay(deviceId: string): Promise<boolean>;
  forget(): void;
}

export function createCredentials(database: Database, clock: Clock): Credentials {
  const callers = createBriefMemory<DeviceCaller>(clock, memoryCapacity, async (name) => {
    const [deviceId = '', secretHash = ''] = name.split(' ');
    const row = await database.queries
      .selectFrom('devices')
      .select(['merchant_id', 'secret_hash', 'disabled_at'])
      .where('id', '=', deviceId)
      .executeTakeFirst();
    const isRight = row && row.secret_hash !== null && row.disabled_at === null && sameHash(row.secret_hash, secretHash);
    return isRight
      ? { value: { deviceId, merchantId: row.merchant_id }, validForMs: knownForMs }
      : { value: undefined, validForMs: unknownForMs };
  });

  const present = createBriefMemory<true>(clock, memoryCapacity, async (deviceId) => {
    const row = await database.queries.selectFrom('devices').select('disabled_at').where('id', '=', deviceId).executeTakeFirst();
    return row?.disabled_at === null ? { value: true, validForMs: knownForMs } : { value: undefined, validForMs: unknownForMs };
  });

  return {
    async check(deviceId, secret) {
      const id = parseUuid(deviceId);
      return id === undefined || secret === '' ? undefined : callers.get(`${id} ${hashSecret(secret)}`);
    },
    async mayStay(deviceId) {
      const id = parseUuid(deviceId);
      return id !== undefined && (await present.get(id)) === true;
    },
    forget() {
      callers.forget();
      present.forget();
    },
  };
}
