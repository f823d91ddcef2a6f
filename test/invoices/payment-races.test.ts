// A card payment that begins, or an invoice that ends, between a look and the lock [D142]: forced, without luck.
import type { KyselyPlugin } from 'kysely';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { states } from '../../src/invoices/rules.ts';
import { seedCommand } from '../support/fixtures.ts';
import { interruptible } from '../support/interruptible.ts';
import type { VirtualClock } from '../support/virtual-clock.ts';
import { anybody, codeOf, ofOldCore, openQuietShop, openShop, receipt, type Shop } from './shop.ts';

let clock: VirtualClock;
let database: Database;
let shop: Shop;

beforeEach(async () => {
  ({ clock, database, shop } = await openQuietShop());
});
afterEach(() => database.close());

const create = (validTo?: string) => shop.invoices.create({ merchantId: shop.merchantId, receipt, validTo });
const begin = (oid: string) => seedCommand(database.queries, shop.merchantId, shop.deviceId, { document_nr: oid });
const stateOf = async (oid: string) =>
  (await database.queries.selectFrom('invoices').select('state').where('oid', '=', oid).executeTakeFirstOrThrow()).state;

it('a Get that was judged before a second payment began is judged again under the lock', async () => {
  const { oid, qr } = await create();
  // A first payment was not made.
  await database.queries.updateTable('invoices').set({ payment_begun_at: 1 }).where('oid', '=', oid).execute();
  const raced = interruptible(database);
  const { invoices } = await openShop(raced.database, { clock });
  raced.beforeNextTransaction(() => begin(oid));
  expect(await codeOf(invoices.scan(qr, anybody))).toBe(22);
  expect(await stateOf(oid)).toBe(states.newItem);
});

it('a payment does not begin once its invoice has ended, whatever was seen before', async () => {
  const { oid } = await create();
  expect(await ofOldCore(shop).isChargeable(oid, shop.merchantId)).toBe(true);
  expect(await shop.cancel(oid)).toBe(true);
  const hold = database.transaction((queries) => ofOldCore(shop).holdForCharge(queries, oid, shop.merchantId));
  expect(await codeOf(hold)).toBe(22);
});

it('the sweep reads an invoice again that was marked while it was being locked', async () => {
  const { oid } = await create(new Date(clock.now() + 1_000).toISOString());
  await clock.advance(2_000);
  // As PostgreSQL gives out a row that it has waited for: the row as it is now, though the payment was not there when the statement began.
  const late: Database = {
    ...database,
    transaction: (work) =>
      database.transaction((queries) => {
        const plugin: KyselyPlugin = {
          transformQuery: ({ node }) => node,
          async transformResult({ result }) {
            if (!result.rows.some((row) => 'payment_begun_at' in row)) return result;
            await seedCommand(queries, shop.merchantId, shop.deviceId, { document_nr: oid });
            return { ...result, rows: result.rows.map((row) => ({ ...row, payment_begun_at: 1 })) };
          },
        };
        return work(queries.withPlugin(plugin));
      }),
  };
  const { invoices } = await openShop(late, { clock });
  expect(await invoices.expireOverdue()).toBe(0);
  expect(await stateOf(oid)).toBe(states.newItem);
});
