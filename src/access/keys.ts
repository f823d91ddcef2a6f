// API keys [D8]: a random UUID, shown once and stored as SHA-256, that opens some of the three modules of one merchant.
// A key ends by its expiry (by the database's clock), by revocation, or after the overlap of a rotation.
// Functions that change keys run inside the caller's transaction and write the audit log in it.
import type { Database, Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import type { Module } from '../kernel/callers.ts';
import { GatewayError, invalidRequest } from '../kernel/error-codes.ts';
import type { Random } from '../kernel/random.ts';
import { writeAudit } from './audit.ts';
import { checkName, lockMerchant } from './merchants.ts';
import { hashSecret } from './secrets.ts';

export const modules: readonly Module[] = ['POS', 'QR', 'Fiscal'];

export interface NewKeyRequest {
  merchantId: string;
  name: string;
  modules: readonly Module[];
  expiresAtMs?: number | undefined;
}

export interface NewKey {
  id: string;
  /** Shown only once. */
  key: string;
  expiresAtMs: number | undefined;
}

interface KeyRow {
  opens_pos: number;
  opens_qr: number;
  opens_fiscal: number;
}

export function modulesOf(row: KeyRow): Module[] {
  const opens: Record<Module, number> = { POS: row.opens_pos, QR: row.opens_qr, Fiscal: row.opens_fiscal };
  return modules.filter((module) => opens[module] === 1);
}

async function databaseTime(queries: Queries): Promise<number> {
  const { now } = await queries.selectNoFrom(nowMs.as('now')).executeTakeFirstOrThrow();
  return now;
}

/** Dependencies of every change of keys. */
export interface KeyDeps {
  engine: Database['engine'];
  queries: Queries;
  random: Random;
  actor: string;
  /** Active keys of one merchant. */
  maxKeys: number;
}

/** Throws if the merchant already has `maxCount` active keys. Locks the merchant until the transaction ends, so that no other call adds a key. */
async function requireRoom({ engine, queries, maxKeys }: KeyDeps, merchantId: string, maxCount: number): Promise<void> {
  await lockMerchant(engine, queries, merchantId);
  const { count } = await queries
    .selectFrom('api_keys')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('merchant_id', '=', merchantId)
    .where('revoked_at', 'is', null)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', nowMs)]))
    .executeTakeFirstOrThrow();
  if (count < maxCount) return;
  const sentence = `The merchant has ${count} active keys, and ${maxKeys} are allowed (TILLGATE_KEYS_PER_MERCHANT): revoke one first.`;
  throw new GatewayError('The_status_cannot_be_applied', sentence);
}

async function insertRow({ queries, random }: KeyDeps, request: NewKeyRequest): Promise<NewKey> {
  const opened = new Set(request.modules);
  if (opened.size === 0) throw invalidRequest('modules must name at least one of POS, QR and Fiscal.');
  if (request.expiresAtMs !== undefined && request.expiresAtMs <= (await databaseTime(queries))) {
    throw invalidRequest('expiresAt must be in the future.');
  }
  const fresh = { id: random.uuid(), key: random.uuid(), expiresAtMs: request.expiresAtMs };
  await queries
    .insertInto('api_keys')
    .values({
      id: fresh.id,
      merchant_id: request.merchantId,
      name: checkName(request.name),
      key_hash: hashSecret(fresh.key),
      opens_pos: opened.has('POS') ? 1 : 0,
      opens_qr: opened.has('QR') ? 1 : 0,
      opens_fiscal: opened.has('Fiscal') ? 1 : 0,
      created_at: nowMs,
      expires_at: request.expiresAtMs ?? null,
    })
    .execute();
  return fresh;
}

export async function insertKey(deps: KeyDeps, request: NewKeyRequest): Promise<NewKey> {
  const { queries, actor, maxKeys } = deps;
  await requireRoom(deps, request.merchantId, maxKeys);
  const fresh = await insertRow(deps, request);
  const { merchantId, name, expiresAtMs } = request;
  await writeAudit(queries, {
    actor,
    action: 'key.create',
    subject: fresh.id,
    merchantId,
    detail: { merchantId, name, modules: [...new Set(request.modules)], expiresAtMs },
  });
  return fresh;
}

const noSuchKey = () => new GatewayError('Record_not_exist', 'There is no key by that id.');

/** Idempotent: a second call keeps the time of the first. */
export async function markRevoked(queries: Queries, actor: string, keyId: string): Promise<{ revokedAtMs: number }> {
  const revoked = await queries
    .updateTable('api_keys')
    .set({ revoked_at: nowMs })
    .where('id', '=', keyId)
    .where('revoked_at', 'is', null)
    .returning(['revoked_at', 'merchant_id'])
    .executeTakeFirst();
  if (revoked) await writeAudit(queries, { actor, action: 'key.revoke', subject: keyId, merchantId: revoked.merchant_id });
  const row = revoked ?? (await queries.selectFrom('api_keys').select('revoked_at').where('id', '=', keyId).executeTakeFirst());
  if (!row || row.revoked_at === null) throw noSuchKey();
  return { revokedAtMs: row.revoked_at };
}

export interface Rotation extends NewKey {
  oldKeyEndsAtMs: number;
}

/**
 * A new key with the old one's merchant, name and modules. The old key ends after the overlap, or at its own expiry if that is sooner.
 * The new key has the same lifetime, counted from now. During overlaps a merchant may have twice the allowed keys, so that all of them can be
 * rotated.
 */
export async function replaceKey(deps: KeyDeps, keyId: string, overlapMs: number): Promise<Rotation> {
  const { queries, actor, maxKeys } = deps;
  const old = await queries
    .selectFrom('api_keys')
    .select(['merchant_id', 'name', 'opens_pos', 'opens_qr', 'opens_fiscal', 'created_at', 'expires_at'])
    .where('id', '=', keyId)
    .executeTakeFirst();
  if (!old) throw noSuchKey();
  const now = await databaseTime(queries);
  const ended = () => new GatewayError('The_status_cannot_be_applied', 'The key has expired, was revoked, or was rotated before.');
  if (old.expires_at !== null && old.expires_at <= now) throw ended();
  await requireRoom(deps, old.merchant_id, 2 * maxKeys);
  const fresh = await insertRow(deps, {
    merchantId: old.merchant_id,
    name: old.name,
    modules: modulesOf(old),
    expiresAtMs: old.expires_at === null ? undefined : now + Math.max(1, old.expires_at - old.created_at),
  });
  const oldKeyEndsAtMs = Math.min(old.expires_at ?? Number.MAX_SAFE_INTEGER, now + overlapMs);
  // Guarded: of two concurrent rotations, or a rotation and a revocation, the later one updates no row and its new key is rolled back.
  const replaced = await queries
    .updateTable('api_keys')
    .set({ expires_at: oldKeyEndsAtMs, replaced_by: fresh.id })
    .where('id', '=', keyId)
    .where('revoked_at', 'is', null)
    .where('replaced_by', 'is', null)
    .returning('id')
    .executeTakeFirst();
  if (!replaced) throw ended();
  await writeAudit(queries, {
    actor,
    action: 'key.rotate',
    subject: keyId,
    merchantId: old.merchant_id,
    detail: { replacedBy: fresh.id, oldKeyEndsAtMs, expiresAtMs: fresh.expiresAtMs },
  });
  return { ...fresh, oldKeyEndsAtMs };
}

/** All keys, or one merchant's, without secrets; newest first. */
export async function listKeys(queries: Queries, merchantId?: string) {
  const rows = await queries
    .selectFrom('api_keys')
    .select(['id', 'merchant_id as merchantId', 'name', 'opens_pos', 'opens_qr', 'opens_fiscal', 'replaced_by as replacedBy'])
    // The last use is up to a minute late (key-uses.ts).
    .select(['created_at as createdAtMs', 'expires_at as expiresAtMs', 'revoked_at as revokedAtMs', 'last_used_at as lastUsedAtMs'])
    .select(nowMs.as('now'))
    .$if(merchantId !== undefined, (query) => query.where('merchant_id', '=', merchantId ?? ''))
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute();
  return rows.map(({ opens_pos, opens_qr, opens_fiscal, now, ...key }) => ({
    ...key,
    modules: modulesOf({ opens_pos, opens_qr, opens_fiscal }),
    state: key.revokedAtMs !== null ? 'revoked' : key.expiresAtMs !== null && key.expiresAtMs <= now ? 'expired' : 'active',
  }));
}

/** Names by id; unknown ids are left out. */
export async function readKeyNames(queries: Queries, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await queries
    .selectFrom('api_keys')
    .select(['id', 'name'])
    .where('id', 'in', [...ids])
    .execute();
  return new Map(rows.map(({ id, name }) => [id, name]));
}
