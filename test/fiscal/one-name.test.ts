// A UUID is one name in every letter case, wherever it enters [D306]: the same receipt with its Uid in capitals is printed once. Also a
// receipt that an older version stored as the ERP wrote it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { migrationsDir, statementsFor } from '../../src/database/migration-files.ts';
import { contentHashOf } from '../../src/fiscal/rules.ts';
import { findClaimant } from '../../src/ledger/claims.ts';
import { operationStatus } from '../../src/ledger/operation-status.ts';
import { findCommand } from '../../src/ledger/store.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { createSaleWorld } from '../support/sale-world.ts';

const uid = '9d1e6b0c-3f2a-4c7b-8d5e-1a2b3c4d5e6f';
const capitals = uid.toUpperCase();
const mixed = `9D1E6B0C${uid.slice(8)}`;
const receiptOf = (Uid: string, payments: object[] = [{ PaymentCode: 0, Amount: 10 }]) => ({
  Uid,
  Items: [{ Name: 'Goods', Quantity: 1, Price: 10 }],
  Payments: payments,
});

describe('in a shop', () => {
  let world: Awaited<ReturnType<typeof createSaleWorld>>;
  beforeEach(async () => {
    world = await createSaleWorld();
  });
  afterEach(() => world.stop());
  const print = (deviceId: string, Uid: string, payments?: object[]) =>
    world.run(world.fiscal.printReceipt({ merchantId: world.merchantId, deviceId, receipt: receiptOf(Uid, payments) }));
  const statusOf = (receiptUid: string) =>
    world.told(operationStatus(world.life, { merchantId: world.merchantId, modules: new Set(['Fiscal'] as const), receiptUid }));

  it.each([
    [uid, capitals],
    [capitals, uid],
    [mixed, capitals],
  ])('a receipt %s is not printed again as %s, on whatever register', async (first, second) => {
    const [register, other] = [await world.register(), await world.register()];
    const printed = await print(register.id, first);
    expect(printed.code).toBe(0);
    expect(await print(register.id, second)).toMatchObject({ code: 0, oid: printed.oid });
    expect(await print(other.id, second)).toMatchObject({ code: 0, oid: printed.oid });
    expect([register, other].map((each) => each.fiscalMemory().documents().length)).toEqual([1, 0]);
    expect(await world.lastCommand('PrintReceipt')).toMatchObject({ receiptUid: uid, args: { receipt: { Uid: uid } } });
    expect(
      await world.run(
        world.fiscal.printReceipt({ merchantId: world.merchantId, deviceId: register.id, receipt: { ...receiptOf(second), Number: '2' } }),
      ),
    ).toMatchObject({ code: 22 });
  });

  it('a text that is no UUID is as it was sent', async () => {
    const register = await world.register();
    expect((await print(register.id, 'Bon-1')).oid).not.toBe((await print(register.id, 'BON-1')).oid);
    expect((await print(register.id, `{${uid}}`)).oid).not.toBe((await print(register.id, `{${capitals}}`)).oid);
    expect(register.fiscalMemory().documents()).toHaveLength(4);
  });

  it('a payment is on one receipt, however the receipt spells its number', async () => {
    const [terminal, register] = [await world.terminal(), await world.register()];
    expect((await world.run(world.pay(terminal.id, 10, uid))).code).toBe(0);
    const named = (documentNr: string) => [{ PaymentCode: 1, documentNr }];
    const printed = await print(register.id, 'bon', named(capitals));
    expect(printed.code).toBe(0);
    expect(await print(register.id, 'bon', named(uid))).toMatchObject({ code: 0, oid: printed.oid });
    expect(register.fiscalMemory().documents()).toHaveLength(1);
  });

  it('a receipt that was stored in capitals by an older version gets its answer in either spelling', async () => {
    const register = await world.register();
    const printed = await print(register.id, uid);
    const { queries } = world.database;
    const { args } = await world.lastCommand('PrintReceipt');
    const old = { ...(args['receipt'] as object), Uid: capitals };
    await queries
      .updateTable('commands')
      .set({ receipt_uid: capitals, args: JSON.stringify({ receipt: old }), content_hash: contentHashOf(old) })
      .where('id', '=', printed.oid ?? '')
      .execute();
    await queries.updateTable('claims').set({ value: capitals }).where('kind', '=', 'receipt').execute();
    for (const statement of statementsOf('sqlite')) await sql.raw(statement).execute(queries);
    for (const Uid of [uid, capitals, mixed]) {
      expect(await print(register.id, Uid)).toMatchObject({ code: Uid === mixed ? 0 : 0, oid: printed.oid });
    }
    expect(register.fiscalMemory().documents()).toHaveLength(1);
    expect(await statusOf(uid)).toMatchObject({ code: 0, oid: printed.oid });
  });
});

const statementsOf = (engine: 'sqlite' | 'postgres') =>
  statementsFor(engine, readFileSync(join(migrationsDir, '0004_one_name_per_uid.sql'), 'utf8'));

describe.each(engines)('the rows of an older version on %s', (engine) => {
  let database: TestDatabase;
  let merchantId: string;
  let deviceId: string;
  beforeEach(async () => {
    database = await openTestDatabase(engine);
    merchantId = (await seedMerchant(database.queries)).id;
    deviceId = (await seedDevice(database.queries, merchantId)).id;
  });
  afterEach(() => database.close());

  const at = { name: 'PrintReceipt', state: 'done', settled_at: 9, settled_by: 'answer' } as const;
  async function stored(value: string, issuedAt: number) {
    const { id } = await seedCommand(database.queries, merchantId, deviceId, { ...at, receipt_uid: value, issued_at: issuedAt });
    await database.queries.deleteFrom('claims').where('command_id', '=', id).execute();
    const claim = { merchant_id: merchantId, kind: 'receipt', value, command_id: id } as const;
    await database.queries.insertInto('claims').values(claim).execute();
    return id;
  }
  const migrate = async () => {
    for (const statement of statementsOf(engine)) await sql.raw(statement).execute(database.queries);
  };
  const holderOf = async (value: string) => (await findClaimant(database.queries, merchantId, 'receipt', value))?.id;
  const read = (id: string) => findCommand(database.queries, id);

  it('are found in lower case, and by the older version as before', async () => {
    const id = await stored(capitals, 1);
    const text = await stored('BON-1', 2);
    await migrate();
    await migrate();
    expect([await holderOf(uid), await holderOf(capitals), await holderOf('BON-1'), await holderOf('bon-1')]).toEqual([
      id,
      id,
      text,
      undefined,
    ]);
    expect(await read(id)).toMatchObject({ receiptUid: uid, reviewSinceMs: null });
    expect(await read(text)).toMatchObject({ receiptUid: 'BON-1' });
  });

  it.each([
    ['capitals first', capitals, uid, mixed],
    ['capitals last', uid, mixed, capitals],
    ['no lower case', mixed, capitals, undefined],
  ])('that become one name: the oldest one has it, a person looks at the others (%s)', async (_what, oldest, second, third) => {
    const first = await stored(oldest, 1);
    const others = [await stored(second, 2), ...(third === undefined ? [] : [await stored(third, 3)])];
    await migrate();
    expect(await holderOf(uid)).toBe(first);
    expect(await read(first)).toMatchObject({ receiptUid: uid, reviewSinceMs: null });
    for (const id of others)
      expect(await read(id)).toMatchObject({ receiptUid: uid, reviewReason: expect.stringContaining('printed twice'), reviewedAtMs: null });
  });
});
