// A Payd whose QR is genuine and whose invoice is not there: after a restored backup, or of another merchant. Money was taken, so it is kept.
import { describe, expect, it } from 'vitest';
import type { Asker } from '../../src/invoices/move.ts';
import { maxUnmatchedPerDevice } from '../../src/ledger/unmatched.ts';
import { engines, openQuickDatabase } from '../support/engines.ts';
import { anybody, codeOf, openShop, orphanRows, receipt } from './shop.ts';

describe.each(engines)('a Payd for an unknown invoice, on %s', (engine) => {
  async function begin() {
    const database = await openQuickDatabase(engine);
    const shop = await openShop(database);
    await shop.invoices.start();
    await shop.invoices.stop();
    const created = await shop.invoices.create({ merchantId: shop.merchantId, receipt });
    /** As after a backup was restored. */
    const forget = () => database.queries.deleteFrom('invoices').execute();
    const pay = (asker: Asker, deviceId: string, receiptId = 'F-1', qr = created.qr) =>
      codeOf(shop.invoices.pay(qr, { receiptId, deviceId }, asker));
    const device = (deviceId: string, merchantId = shop.merchantId): Asker => ({ merchantId, name: `device ${deviceId}`, deviceId });
    const rows = () =>
      database.queries
        .selectFrom('unmatched_reports')
        .select(['merchant_id', 'device_id', 'subject_kind', 'subject_id', 'receipt_id', 'outcome'])
        .orderBy('id')
        .execute();
    return { database, shop, ...created, forget, pay, device, rows };
  }

  it('is refused with 20 and kept once for the merchant of its caller', async () => {
    const { database, shop, oid, forget, pay, device, rows } = await begin();
    await forget();
    const { deviceId, merchantId } = shop;
    for (let times = 0; times < 3; times += 1) expect(await pay(device(deviceId), deviceId)).toBe(20);
    expect(await pay(device(deviceId), deviceId, 'F-2')).toBe(20);
    const kept = { merchant_id: merchantId, device_id: deviceId, subject_kind: 'invoice', subject_id: oid, outcome: 'done' };
    expect(await rows()).toEqual([
      { ...kept, receipt_id: 'F-1' },
      { ...kept, receipt_id: 'F-2' },
    ]);
    await database.close();
  });

  it('is kept for the merchant of the named device, without a key; an unregistered device is only logged', async () => {
    const { database, shop, forget, pay, rows } = await begin();
    await forget();
    expect(await pay(anybody, shop.foreignDeviceId)).toBe(20);
    expect(await pay(anybody, 'no device')).toBe(20);
    expect(await rows()).toMatchObject([{ merchant_id: shop.otherMerchantId, device_id: shop.foreignDeviceId }]);
    expect(shop.logger.lines.at(-1)).toMatchObject({ level: 'error', fields: { deviceId: 'no device', receiptId: 'F-1' } });
    await database.close();
  });

  it('concerns its own merchant alone when the invoice is another merchant’s', async () => {
    const { database, shop, oid, pay, device, rows } = await begin();
    const { foreignDeviceId, otherMerchantId } = shop;
    expect(await pay(device(foreignDeviceId, otherMerchantId), foreignDeviceId)).toBe(20);
    expect(await rows()).toMatchObject([{ merchant_id: otherMerchantId, device_id: foreignDeviceId, subject_id: oid }]);
    expect(await orphanRows(database, oid)).toEqual([]);
    // Nor does that take the place of a report by the other merchant's device.
    expect(await pay({ merchantId: otherMerchantId, name: 'key 1', hasKey: true }, shop.deviceId)).toBe(20);
    await database.queries.deleteFrom('invoices').execute();
    expect(await pay(device(shop.deviceId), shop.deviceId)).toBe(20);
    expect((await rows()).map(({ merchant_id, device_id }) => [merchant_id, device_id])).toEqual([
      [otherMerchantId, foreignDeviceId],
      [otherMerchantId, shop.deviceId],
      [shop.merchantId, shop.deviceId],
    ]);
    await database.close();
  });

  it('is not kept without a genuine QR, and not without bound', async () => {
    const { database, shop, qr, forget, pay, rows } = await begin();
    await forget();
    const erp: Asker = { merchantId: shop.merchantId, name: 'key 1', hasKey: true };
    expect(await pay(erp, shop.deviceId, 'F-1', `${qr.slice(0, -1)}${qr.endsWith('A') ? 'B' : 'A'}`)).toBe(21);
    expect(await rows()).toEqual([]);
    for (let at = 0; at < maxUnmatchedPerDevice + 5; at += 1) expect(await pay(erp, `invented ${at}`, `F-${at}`)).toBe(20);
    expect(await rows()).toHaveLength(maxUnmatchedPerDevice);
    expect(await pay(erp, shop.deviceId)).toBe(20);
    expect(await rows()).toHaveLength(maxUnmatchedPerDevice + 1);
    await database.close();
  });
});
