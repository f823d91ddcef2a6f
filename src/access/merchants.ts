// Merchants: the owners of keys, devices, invoices and callbacks.
import type { Database, Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import { GatewayError, invalidRequest } from '../kernel/error-codes.ts';
import type { Random } from '../kernel/random.ts';
import { writeAudit } from './audit.ts';
import { newCallbackSecret } from './secrets.ts';

/** A display name: trimmed, 1 to 200 characters, no control characters. */
export function checkName(value: string): string {
  const name = value.trim();
  if (name === '' || name.length > 200 || /\p{Cc}/u.test(name)) {
    throw invalidRequest('name must have 1 to 200 characters and no control characters.');
  }
  return name;
}

/** Call it inside a transaction. `callbackSecret` verifies the signature of callbacks [D28]; shown at creation, never in lists. */
export async function insertMerchant(queries: Queries, random: Random, actor: string, name: string) {
  const merchant = { id: random.uuid(), name: checkName(name), callbackSecret: newCallbackSecret(random) };
  await queries
    .insertInto('merchants')
    .values({ id: merchant.id, name: merchant.name, callback_secret: merchant.callbackSecret, created_at: nowMs })
    .execute();
  await writeAudit(queries, {
    actor,
    action: 'merchant.create',
    subject: merchant.id,
    merchantId: merchant.id,
    detail: { name: merchant.name },
  });
  return merchant;
}

/** `sharePercent`: share of the request slots; null: the configured default. */
export async function listMerchants(queries: Queries, merchantId?: string) {
  return await queries
    .selectFrom('merchants')
    .select(['id', 'name', 'created_at as createdAtMs', 'share_percent as sharePercent'])
    .$if(merchantId !== undefined, (query) => query.where('id', '=', merchantId ?? ''))
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

/** The merchant's share of the request slots [D62]; undefined: the configured default. Call it inside a transaction. */
export async function setShare(queries: Queries, actor: string, merchantId: string, sharePercent: number | undefined): Promise<void> {
  await requireMerchant(queries, merchantId);
  await queries
    .updateTable('merchants')
    .set({ share_percent: sharePercent ?? null })
    .where('id', '=', merchantId)
    .execute();
  await writeAudit(queries, { actor, action: 'merchant.share', subject: merchantId, detail: { sharePercent: sharePercent ?? null } });
}

const noSuchMerchant = () => new GatewayError('Record_not_exist', 'There is no merchant by that merchantId.');

async function requireMerchant(queries: Queries, merchantId: string): Promise<void> {
  const row = await queries.selectFrom('merchants').select('id').where('id', '=', merchantId).executeTakeFirst();
  if (!row) throw noSuchMerchant();
}

/**
 * Locks the merchant until the transaction ends, so that counts of its keys or users stay valid. Foreign-key checks pass the lock, so
 * payments continue.
 */
export async function lockMerchant(engine: Database['engine'], queries: Queries, merchantId: string): Promise<void> {
  const query = queries.selectFrom('merchants').select('id').where('id', '=', merchantId);
  if (!(await (engine === 'postgres' ? query.forNoKeyUpdate() : query).executeTakeFirst())) throw noSuchMerchant();
}
