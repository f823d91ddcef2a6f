import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { longHost } from '../support/long-host.ts';
import { anybody, codeOf, openShop, receipt, type Shop } from './shop.ts';

describe.each(engines)('Create on %s', (engine) => {
  let database: TestDatabase;
  let shop: Shop;

  beforeEach(async () => {
    database = await openTestDatabase(engine);
    shop = await openShop(database);
  });
  afterEach(() => database.close());

  const create = (more: object = {}) => shop.invoices.create({ merchantId: shop.merchantId, receipt, ...more });
  const count = async () => (await database.queries.selectFrom('invoices').select('oid').execute()).length;
  const under = (key: string, requestHash = 'h') => ({ idempotency: { key, requestHash } });

  it('stores the receipt unchanged', async () => {
    const odd = { Zed: 1, Items: [{ Price: 0.1, Name: '\u0000 “pâine” \u{1f956}', Quantity: 0.333, x: null }], Alpha: [[], {}, 1e-21] };
    const { qr } = await create({ receipt: odd });
    expect((await shop.invoices.scan(qr, anybody)).receipt).toBe(JSON.stringify(odd));
  });

  it.each([
    ['they add up to 0.00', [[1, 0]]],
    [
      'they add up to -5.50',
      [
        [2, 1],
        [1, '-7.50'],
      ],
    ],
    [
      'they add up to 19999999998.00',
      [
        [1, 9_999_999_999],
        [1, 9_999_999_999],
      ],
    ],
    ['comes to more than 9999999999.99', [[2, 9_999_999_999]]],
  ])('refuses a total that no customer can pay: %s', async (sentence, lines) => {
    const Items = lines.map(([Quantity, Price]) => ({ Name: 'Line', Quantity, Price }));
    await expect(create({ receipt: { Items } })).rejects.toMatchObject({
      errorName: 'Invalid_Request',
      message: expect.stringContaining(sentence),
    });
  });

  it.each([
    ['Receipt', { receipt: { Items: [] } }],
    ['CallbackURI', { callbackUri: 'ftp://erp.example/' }],
    ['CallbackURI', { callbackUri: 'http://#OID#.example/' }],
    ['ValidTo', { validTo: 'soon' }],
    ['ValidTo', { validTo: '2020-01-01T00:00:00Z' }],
    ['PointOfSalesCode', { pointOfSalesCode: '' }],
    ['PointOfSalesCode', { pointOfSalesCode: 'a\nb' }],
    ['PointOfSalesCode', { pointOfSalesCode: 'x'.repeat(65) }],
    ['DeviceID', { deviceId: 'Till 4' }],
  ])('refuses a bad %s: %j', async (field, more) => {
    await expect(create(more)).rejects.toThrow(field);
    expect(await codeOf(create(more))).toBe(40);
    expect(await count()).toBe(0);
  });

  it('refuses a host name that is too long for DNS and for an index of PostgreSQL', async () => {
    const callbackUri = `http://${longHost}/x?o=#OID#`;
    await expect(create({ callbackUri })).rejects.toThrow('CallbackURI must not have a host longer than 253 characters');
    expect([await codeOf(create({ callbackUri })), await count()]).toEqual([40, 0]);
  });

  it('refuses a receipt of more than 256 KiB, and stores nothing of it', async () => {
    const large = { ...receipt, Note: 'x'.repeat(256 * 1024) };
    await expect(create({ receipt: large })).rejects.toThrow('Receipt must not be larger than 262144 bytes');
    expect(await codeOf(create({ receipt: large }))).toBe(40);
    expect(await count()).toBe(0);
  });

  it('judges ValidTo by the database clock', async () => {
    const validTo = new Date(Date.now() + 60_000).toISOString();
    expect(await codeOf(create({ validTo }))).toBe(0);
    database.shiftClock(60_001);
    expect(await codeOf(create({ validTo }))).toBe(40);
  });

  it('accepts a preferred terminal that is not registered: it is only a preference', async () => {
    const { qr } = await create({ deviceId: shop.foreignDeviceId });
    expect((await shop.invoices.scan(qr, anybody)).preferredDeviceId).toBe(shop.foreignDeviceId);
  });

  describe('under an Idempotency-Key', () => {
    it('answers the same request the same, and another 22', async () => {
      const first = await create(under('order-1'));
      expect(await create(under('order-1'))).toEqual(first);
      expect(await codeOf(create(under('order-1', 'other')))).toBe(22);
      expect(await create(under('order-2'))).not.toEqual(first);
      expect(await count()).toBe(2);
    });

    it('answers the same after the secret was rotated, the invoice paid and its limit passed', async () => {
      const validTo = new Date(Date.now() + 60_000).toISOString();
      const first = await create({ ...under('order-1'), validTo });
      await shop.invoices.rotateQrSecret('test');
      await shop.invoices.scan(first.qr, anybody);
      await shop.invoices.pay(first.qr, { receiptId: 'F-1', deviceId: shop.deviceId }, anybody);
      database.shiftClock(120_000);
      expect(await create({ ...under('order-1'), validTo })).toEqual(first);
    });

    it('stores no refusal: the key is free for the corrected request', async () => {
      expect(await codeOf(create({ ...under('order-1', 'bad'), validTo: '2020-01-01T00:00:00Z' }))).toBe(40);
      expect(await codeOf(create({ ...under('order-1', 'bad'), callbackUri: 'nonsense' }))).toBe(40);
      expect(await codeOf(create(under('order-1', 'good')))).toBe(0);
    });

    it('is another merchant’s own key', async () => {
      const first = await create(under('order-1'));
      const second = await create({ ...under('order-1'), merchantId: shop.otherMerchantId });
      expect(second.oid).not.toBe(first.oid);
    });
  });
});
