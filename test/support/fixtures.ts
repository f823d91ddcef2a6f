// Rows that tests start from. Each function writes one row that every constraint accepts; overrides replace single columns.
import { createHash, randomUUID } from 'node:crypto';
import { type Insertable, sql } from 'kysely';
import type { Queries } from '../../src/database/database.ts';
import { nowMs } from '../../src/database/dialect.ts';
import type { Schema } from '../../src/database/schema.ts';
import { kindOf, type OperationName } from '../../src/kernel/operations.ts';
import { claimContent, reclaimNumbers } from '../../src/ledger/claims.ts';
import { type Command, isOpen } from '../../src/ledger/command.ts';
import { openDocument } from '../../src/ledger/device-lock.ts';
import { lateAfterMs, recordSettlement } from '../../src/ledger/settlements.ts';
import { findCommand, nameOperation } from '../../src/ledger/store.ts';

type Row<Table extends keyof Schema> = Partial<Insertable<Schema[Table]>>;

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

export async function seedMerchant(db: Queries, overrides: Row<'merchants'> = {}): Promise<{ id: string; callbackSecret: string }> {
  const id = overrides.id ?? randomUUID();
  const callbackSecret = overrides.callback_secret ?? Buffer.from(randomUUID()).toString('base64');
  await db
    .insertInto('merchants')
    .values({ name: 'Test shop', created_at: nowMs, ...overrides, id, callback_secret: callbackSecret })
    .execute();
  return { id, callbackSecret };
}

/** A key that opens all modules; `key` is what a caller shows. */
export async function seedKey(db: Queries, merchantId: string, overrides: Row<'api_keys'> = {}): Promise<{ id: string; key: string }> {
  const id = overrides.id ?? randomUUID();
  const key = randomUUID();
  await db
    .insertInto('api_keys')
    .values({
      name: 'test key',
      key_hash: sha256(key),
      opens_pos: 1,
      opens_qr: 1,
      opens_fiscal: 1,
      created_at: nowMs,
      ...overrides,
      id,
      merchant_id: merchantId,
    })
    .execute();
  return { id, key };
}

/** A terminal unless told otherwise; `secret` is what the device shows. */
export async function seedDevice(db: Queries, merchantId: string, overrides: Row<'devices'> = {}): Promise<{ id: string; secret: string }> {
  const id = overrides.id ?? randomUUID();
  const secret = randomUUID();
  const kind = overrides.kind ?? 'terminal';
  await db
    .insertInto('devices')
    .values({
      name: `Test ${kind}`,
      bank: kind === 'terminal' ? 'bank1' : null,
      secret_hash: sha256(secret),
      created_at: nowMs,
      ...overrides,
      id,
      kind,
      merchant_id: merchantId,
    })
    .execute();
  await db.insertInto('device_locks').values({ device_id: id }).execute();
  return { id, secret };
}

/** An unpaid invoice without end of validity and without callback. */
export async function seedInvoice(db: Queries, merchantId: string, overrides: Row<'invoices'> = {}): Promise<{ oid: string }> {
  const oid = overrides.oid ?? randomUUID();
  const qrSecretId = overrides.qr_secret_id ?? (await seedQrSecret(db)).id;
  await db
    .insertInto('invoices')
    .values({
      state: 0,
      receipt: '{"Items":[{"Name":"Bread","Quantity":1,"Price":12.5}]}',
      callback_sequence: 0,
      created_at: nowMs,
      ...overrides,
      oid,
      qr_secret_id: qrSecretId,
      merchant_id: merchantId,
    })
    .execute();
  return { oid };
}

/** A callback that is due now. */
export async function seedCallback(db: Queries, merchantId: string, overrides: Row<'callbacks'> = {}): Promise<{ id: string }> {
  const id = overrides.id ?? randomUUID();
  await db
    .insertInto('callbacks')
    .values({
      subject_kind: 'invoice',
      subject_id: randomUUID(),
      sequence: 1,
      url: 'http://erp.example/callback',
      host: 'erp.example',
      state: 'pending',
      attempts: 0,
      next_attempt_at: nowMs,
      created_at: nowMs,
      ...overrides,
      id,
      merchant_id: merchantId,
    })
    .execute();
  return { id };
}

/** A Pay of 10.00 that was sent and has no outcome yet. */
export async function seedCommand(
  db: Queries,
  merchantId: string,
  deviceId: string,
  overrides: Row<'commands'> = {},
): Promise<{ id: string }> {
  const id = overrides.id ?? randomUUID();
  await db
    .insertInto('commands')
    .values({
      instance_id: 'test-instance',
      name: 'Pay',
      ...kindOf((overrides.name ?? 'Pay') as OperationName),
      args: '{"amount":10,"currency":"MDL"}',
      state: 'sent',
      amount_bani: 1000,
      issued_at: nowMs,
      answer_by: nowMs,
      recalls: 0,
      ...(overrides.state === 'disputed' ? disputeColumns : {}),
      ...overrides,
      id,
      merchant_id: merchantId,
      device_id: deviceId,
    })
    .execute();
  await lockAsSeeded(db, id);
  return { id };
}

/** The lock of its device, its claims and its numbers, as if the command had come to its state by itself. */
export async function lockAsSeeded(db: Queries, id: string): Promise<void> {
  const command = (await findCommand(db, id)) as Command;
  const lock = db.updateTable('device_locks').where('device_id', '=', command.deviceId);
  if (isOpen(command)) await lock.set({ command_id: id }).execute();
  if (command.documentState === 'open') await openDocument(db, command);
  if (command.removedAtMs !== null || !['refused', 'never'].includes(command.state)) await reclaimNumbers(db, command);
  await claimContent(db, command);
  await nameOperation(db, command);
  if (command.removedAtMs === null) await recordSettlement(db, command);
  if (command.settledBy === 'person' && command.outcome === null && command.state !== 'disputed') {
    await db.insertInto('decisions').values({ command_id: id, device_id: command.deviceId }).execute();
    const at = command.settledAtMs ?? 0;
    if (command.state === 'refused')
      await lock
        .where((where) => where.or([where('decided_at', 'is', null), where('decided_at', '<', at)]))
        .set({ decided_at: at })
        .execute();
  }
}

const disputeColumns = { disputed_from: 'refused', review_since: 1, review_reason: 'The device says that it did it.' } as const;

/** The secret that signs QR texts: one for the whole test, made at first use. */
export async function seedQrSecret(db: Queries, id = 1): Promise<{ id: number; secret: string }> {
  await db
    .insertInto('qr_secrets')
    .values({ id, secret: sha256(randomUUID()), created_at: nowMs })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
  return await db.selectFrom('qr_secrets').select(['id', 'secret']).where('id', '=', id).executeTakeFirstOrThrow();
}

/** The settlements and bank numbers of commands that a test has written or changed by a statement of its own. */
export async function recordSeeded(db: Queries): Promise<void> {
  const failed = sql`state in ('refused', 'never')`;
  await sql`delete from settlements`.execute(db);
  await sql`insert into settlements (settled_at, command_id, failed_merchant_id, failed_issued_at, changes_past)
    select settled_at, id, case when ${failed} then merchant_id end, case when ${failed} then issued_at end,
      case when settled_at - issued_at > ${sql.lit(lateAfterMs)} then 1 end
    from commands where settled_at is not null and removed_at is null`.execute(db);
  await sql`insert into bank_operations (device_id, operation_id, payment_id) select device_id, operation_id, id
    from commands where is_payment = 1 and operation_id is not null on conflict do nothing`.execute(db);
}
