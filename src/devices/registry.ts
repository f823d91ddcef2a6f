// The registry of devices [D33]: merchant, kind, name, and whether they are disabled.
// Functions that change a device run inside a transaction and write the audit log in it. Secrets are stored as hashes.
import { writeAudit } from '../access/audit.ts';
import { checkName, lockMerchant } from '../access/merchants.ts';
import { hashSecret } from '../access/secrets.ts';
import type { Database, Queries } from '../database/database.ts';
import { nowMs } from '../database/dialect.ts';
import { GatewayError, invalidRequest } from '../kernel/error-codes.ts';
import { parseUuid } from '../kernel/ids.ts';
import type { Random } from '../kernel/random.ts';
import type { DeviceKind } from '../link/protocol.ts';

export interface Bank {
  code: string;
  name: string;
}

export interface NewDeviceRequest {
  /** Must not be in use; absent: a random one. */
  id?: string | undefined;
  merchantId: string;
  kind: DeviceKind;
  name: string;
  /** Code of a configured bank; terminals only. */
  bank?: string | undefined;
  pointOfSalesCode?: string | undefined;
}

export const noSuchDevice = () => new GatewayError('Record_not_exist', 'There is no device by that id.');

function checkBank(banks: readonly Bank[], kind: DeviceKind, bank: string | undefined): string | null {
  if (bank === undefined) return null;
  if (kind !== 'terminal') throw invalidRequest('bank belongs to terminals; a register has none.');
  if (!banks.some((one) => one.code === bank)) {
    throw invalidRequest(`bank must be one of the configured codes: ${banks.map((one) => one.code).join(', ')}.`);
  }
  return bank;
}

/** Throws if the merchant is at its limit of devices. Locks the merchant until the transaction ends, so that no other call adds one. */
async function requireRoom(
  queries: Queries,
  { engine, maxDevices }: { engine: Database['engine']; maxDevices: number },
  merchantId: string,
) {
  await lockMerchant(engine, queries, merchantId);
  const { count } = await queries
    .selectFrom('devices')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('merchant_id', '=', merchantId)
    .executeTakeFirstOrThrow();
  if (count < maxDevices) return;
  const sentence = `The merchant has ${count} devices, and ${maxDevices} are allowed (TILLGATE_DEVICES_PER_MERCHANT): enable and pair a disabled one again, or raise the limit.`;
  throw new GatewayError('The_status_cannot_be_applied', sentence);
}

/** Returns the new device's id. */
export async function insertDevice(
  queries: Queries,
  deps: { engine: Database['engine']; random: Random; banks: readonly Bank[]; maxDevices: number },
  actor: string,
  request: NewDeviceRequest,
): Promise<string> {
  const id = request.id === undefined ? deps.random.uuid() : parseUuid(request.id);
  if (id === undefined) throw invalidRequest('id must be a UUID.');
  await requireRoom(queries, deps, request.merchantId);
  const { merchantId, kind } = request;
  const name = checkName(request.name);
  const bank = checkBank(deps.banks, kind, request.bank);
  const inserted = await queries
    .insertInto('devices')
    .values({
      id,
      merchant_id: merchantId,
      kind,
      name,
      bank,
      point_of_sales_code: request.pointOfSalesCode ?? null,
      created_at: nowMs,
    })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .returning('id')
    .executeTakeFirst();
  if (!inserted) throw new GatewayError('The_status_cannot_be_applied', 'A device by that id is registered already.');
  await queries.insertInto('device_locks').values({ device_id: id }).execute();
  await writeAudit(queries, {
    actor,
    action: 'device.create',
    subject: id,
    merchantId,
    detail: { merchantId, kind, name, bank, pointOfSalesCode: request.pointOfSalesCode },
  });
  return id;
}

export async function renameDevice(queries: Queries, actor: string, deviceId: string, newName: string): Promise<void> {
  const name = checkName(newName);
  const before = await queries
    .selectFrom('devices')
    .select(['name', 'merchant_id as merchantId'])
    .where('id', '=', deviceId)
    .executeTakeFirst();
  if (!before) throw noSuchDevice();
  if (before.name === name) return;
  await queries.updateTable('devices').set({ name }).where('id', '=', deviceId).execute();
  const { merchantId } = before;
  await writeAudit(queries, { actor, action: 'device.rename', subject: deviceId, merchantId, detail: { from: before.name, to: name } });
}

/** There is no pairing code. */
export const noPairing = { pairing_hash: null, pairing_expires_at: null, pairing_used_at: null } as const;

/** A disabled device can neither log in nor pair, and counts as offline. Idempotent. */
export async function setDisabled(queries: Queries, actor: string, deviceId: string, isDisabled: boolean): Promise<void> {
  const changed = await queries
    .updateTable('devices')
    .set(isDisabled ? { disabled_at: nowMs, ...noPairing } : { disabled_at: null })
    .where('id', '=', deviceId)
    .where('disabled_at', isDisabled ? 'is' : 'is not', null)
    .returning('merchant_id as merchantId')
    .executeTakeFirst();
  const action = isDisabled ? 'device.disable' : 'device.enable';
  if (changed) await writeAudit(queries, { actor, action, subject: deviceId, merchantId: changed.merchantId });
  else await requireDevice(queries, deviceId);
}

async function requireDevice(queries: Queries, deviceId: string): Promise<void> {
  const row = await queries.selectFrom('devices').select('id').where('id', '=', deviceId).executeTakeFirst();
  if (!row) throw noSuchDevice();
}

export interface LoginState {
  secretHash: string | null;
  isDisabled: boolean;
}

/** The state that a device's login at a broker must match. */
export async function readLoginState(queries: Queries, deviceId: string): Promise<LoginState> {
  const row = await queries.selectFrom('devices').select(['secret_hash', 'disabled_at']).where('id', '=', deviceId).executeTakeFirst();
  if (!row) throw noSuchDevice();
  return { secretHash: row.secret_hash, isDisabled: row.disabled_at !== null };
}

/** Replaces the device's secret; the old one ends here. With `before`, only if the login state has not changed since it was read. */
export async function replaceSecret(queries: Queries, actor: string, deviceId: string, secret: string, before?: LoginState): Promise<void> {
  let update = queries
    .updateTable('devices')
    .set({ secret_hash: hashSecret(secret), ...noPairing })
    .where('id', '=', deviceId);
  if (before)
    update = update
      .where('secret_hash', before.secretHash === null ? 'is' : '=', before.secretHash)
      .where('disabled_at', before.isDisabled ? 'is not' : 'is', null);
  const changed = await update.returning('merchant_id as merchantId').executeTakeFirst();
  if (!changed && before)
    throw new GatewayError(
      'The_status_cannot_be_applied',
      'Another call changed the device at the same moment; request a new secret again.',
    );
  if (!changed) throw noSuchDevice();
  await writeAudit(queries, { actor, action: 'device.secret', subject: deviceId, merchantId: changed.merchantId });
}

/** All devices, or one merchant's, without secrets; oldest first. */
export async function listDevices(queries: Queries, merchantId?: string) {
  const rows = await queries
    .selectFrom('devices')
    .select(['id', 'merchant_id as merchantId', 'kind', 'name', 'bank', 'point_of_sales_code as pointOfSalesCode', 'secret_hash'])
    .select([
      'journal_id',
      'created_at as createdAtMs',
      'last_seen_at as lastSeenAtMs',
      'disabled_at',
      'pairing_expires_at',
      'pairing_used_at',
    ])
    .select(nowMs.as('now'))
    .$if(merchantId !== undefined, (query) => query.where('merchant_id', '=', merchantId ?? ''))
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  return rows.map(({ secret_hash, journal_id, disabled_at, pairing_expires_at, pairing_used_at, now, ...device }) => ({
    ...device,
    state: disabled_at !== null ? 'disabled' : secret_hash === null ? 'new' : 'paired',
    hasJournal: journal_id !== null,
    // The expiry of an unused pairing code.
    pairingExpiresAtMs: pairing_used_at === null && pairing_expires_at !== null && pairing_expires_at > now ? pairing_expires_at : null,
  }));
}
