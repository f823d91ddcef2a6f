// An invoice of which only the small row is left: what its QR still answers, and where a late payment goes [D66].
import { expect, it } from 'vitest';
import { listOrphans } from '../../src/cabinet/sales/orphans.ts';
import { removableInvoices } from '../../src/removal/invoices.ts';
import { anybody, codeOf, openShop, orphanRows, receipt, template } from '../invoices/shop.ts';
import { engines, openTestDatabase } from '../support/engines.ts';

it.each(engines)(
  'tells its state, takes a duplicated Payd for one, and puts another payment on the orphan board, on %s',
  async (engine) => {
    const database = await openTestDatabase(engine);
    const shop = await openShop(database);
    const { oid, qr } = await shop.invoices.create({ merchantId: shop.merchantId, receipt, callbackUri: template });
    const payment = { receiptId: 'R-1', deviceId: shop.deviceId };
    await shop.invoices.scan(qr, anybody);
    await shop.invoices.pay(qr, payment, anybody);
    await database.queries.updateTable('callbacks').set({ state: 'delivered', next_attempt_at: null, ended_at: 1 }).execute();
    expect(await removableInvoices.remove(database, oid)).toBe(true);
    expect(await removableInvoices.remove(database, oid)).toBe(false);

    expect(await shop.invoices.status(qr, anybody)).toEqual({ state: 2, receiptId: 'R-1' });
    expect(await codeOf(shop.invoices.scan(qr, anybody))).toBe(22);
    expect(await codeOf(shop.invoices.pay(qr, payment, anybody))).toBe(0);
    expect(await codeOf(shop.invoices.pay(qr, { ...payment, receiptId: 'R-2' }, anybody))).toBe(22);
    expect(await orphanRows(database, oid)).toMatchObject([{ receipt_id: 'R-2', reason: 'paid-otherwise' }]);
    expect(await shop.cancel(oid)).toBe(false);
    await database.close();
  },
);

it.each(engines)('goes though it refused its payment first, and stays with money that it never took, on %s', async (engine) => {
  const database = await openTestDatabase(engine);
  const shop = await openShop(database);
  const { oid, qr } = await shop.invoices.create({ merchantId: shop.merchantId, receipt });
  const pay = (receiptId: string) => codeOf(shop.invoices.pay(qr, { receiptId, deviceId: shop.deviceId }, anybody));
  expect([await pay('R-1'), await codeOf(shop.invoices.scan(qr, anybody)), await pay('R-1')]).toEqual([22, 0, 0]);
  expect(await removableInvoices.filter(database.queries, [oid])).toEqual([oid]);
  expect(await pay('R-2')).toBe(22);
  expect(await removableInvoices.filter(database.queries, [oid])).toEqual([]);
  expect(await removableInvoices.remove(database, oid)).toBe(false);

  await database.queries.deleteFrom('orphan_payments').where('receipt_id', '=', 'R-2').execute();
  expect(await removableInvoices.remove(database, oid)).toBe(true);
  // The small row still says by what it was paid.
  expect([await pay('R-1'), await listOrphans(database.queries, 10)]).toEqual([0, []]);
  await database.close();
});
