// Merchants, their API keys, and the look-up of the caller of a key.
// Every change is one transaction with its audit entry. A change of keys takes effect at once here and within seconds on other instances.

import type { Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import type { Shared } from '../database/shared-deps.ts';
import type { Caller } from '../kernel/callers.ts';
import type { Cancel } from '../kernel/clock.ts';
import { parseUuid } from '../kernel/ids.ts';
import { insertKey, listKeys, markRevoked, modulesOf, type NewKeyRequest, type Rotation, replaceKey } from './keys.ts';
import { insertMerchant, listMerchants, setShare } from './merchants.ts';
import { hashSecret } from './secrets.ts';
import { createShortLivedCache } from './short-lived-cache.ts';

/** If a wake-up is lost, another instance applies a revocation after this time at the latest. */
const knownForMs = 5_000;
const unknownForMs = 2_000;
const memoryCapacity = 10_000;
const defaultOverlapMs = 24 * 3600 * 1000;

export interface AccessDeps extends Pick<Shared, 'database' | 'clock' | 'random'> {
  /** Active keys of one merchant. */
  maxKeys: number;
}

export type Access = ReturnType<typeof createAccess>;

/** Only present if it was set. */
function shareOf(percent: number | null): { sharePercent?: number } {
  return percent === null ? {} : { sharePercent: percent };
}

export function createAccess({ database, clock, random, maxKeys }: AccessDeps) {
  const callers = createShortLivedCache<Caller>(clock, memoryCapacity, async (keyHash) => {
    const row = await database.queries
      .selectFrom('api_keys')
      .innerJoin('merchants', 'merchants.id', 'api_keys.merchant_id')
      .select(['api_keys.id', 'merchant_id', 'opens_pos', 'opens_qr', 'opens_fiscal', 'expires_at', 'revoked_at', 'share_percent'])
      .select(nowMs.as('now'))
      .where('key_hash', '=', keyHash)
      .executeTakeFirst();
    const leftMs = row?.expires_at == null ? Number.POSITIVE_INFINITY : row.expires_at - row.now;
    if (!row || row.revoked_at !== null || leftMs <= 0) return { value: undefined, validForMs: unknownForMs };
    const caller: Caller = { merchantId: row.merchant_id, keyId: row.id, modules: new Set(modulesOf(row)), ...shareOf(row.share_percent) };
    return { value: caller, validForMs: Math.min(knownForMs, leftMs) };
  });

  const keyDeps = (queries: Queries, actor: string) => ({ engine: database.engine, queries, random, actor, maxKeys });
  const stopListening: Cancel = database.onWake('keys', () => callers.forget());
  function keysChanged(): void {
    callers.forget();
    database.wake('keys');
  }

  return {
    /** Undefined when the key is no UUID, unknown, expired or revoked. */
    async findCaller(key: string): Promise<Caller | undefined> {
      const uuid = parseUuid(key);
      if (uuid === undefined) return undefined;
      // The cache is keyed by hash, so that a memory dump contains no keys.
      const name = hashSecret(uuid);
      return callers.known(name) ?? callers.get(name);
    },
    createMerchant: (actor: string, name: string) => database.transaction((queries) => insertMerchant(queries, random, actor, name)),
    /** All merchants, or the one with that id. */
    listMerchants: (merchantId?: string) => listMerchants(database.queries, merchantId),
    /** Applies to new requests at once here, within seconds on other instances. */
    async setShare(actor: string, merchantId: string, sharePercent: number | undefined): Promise<void> {
      await database.transaction((queries) => setShare(queries, actor, merchantId, sharePercent));
      keysChanged();
    },
    // A new key cannot be in the cache.
    createKey: (actor: string, request: NewKeyRequest) => database.transaction((queries) => insertKey(keyDeps(queries, actor), request)),
    listKeys: (merchantId?: string) => listKeys(database.queries, merchantId),
    async revokeKey(actor: string, keyId: string): Promise<{ revokedAtMs: number }> {
      const revoked = await database.transaction((queries) => markRevoked(queries, actor, keyId));
      keysChanged();
      return revoked;
    },
    async rotateKey(actor: string, keyId: string, overlapMs: number = defaultOverlapMs): Promise<Rotation> {
      const rotation = await database.transaction((queries) => replaceKey(keyDeps(queries, actor), keyId, overlapMs));
      keysChanged();
      return rotation;
    },
    stop: stopListening,
  };
}
