// What QR Mode on the new core costs, and that calls about one invoice or one device do not wear each other out.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { states } from '../../src/invoices/rules.ts';
import { createTurns } from '../../src/money/turns.ts';
import { anybody, codeOf, countStatements, openShop, orphanRows, receipt, type Shop, template } from '../invoices/shop.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';

const forty = Array.from({ length: 40 }, (_, at) => at);

describe.each(engines)('QR Mode of the new core on %s', (engine) => {
  let database: TestDatabase;
  let shop: Shop;
  let trips: () => number;

  beforeEach(async () => {
    database = await openTestDatabase(engine);
    const { watched, count } = countStatements(database);
    trips = count;
    shop = await openShop(watched, { core: 'new' });
    await shop.invoices.start();
    await shop.invoices.stop();
    await create();
  });
  afterEach(() => database.close());

  const create = (more: object = {}) => shop.invoices.create({ merchantId: shop.merchantId, receipt, callbackUri: template, ...more });
  const pay = (qr: string, receiptId = 'F-1') => codeOf(shop.invoices.pay(qr, { receiptId, deviceId: shop.deviceId }, anybody));
  async function costOf<Result>(call: () => Promise<Result>): Promise<[Result, number]> {
    const before = trips();
    return [await call(), trips() - before];
  }

  it('needs one round trip for Create and Status, and two for Get and Payd: what is read, and the commit', async () => {
    const idempotency = { key: 'order-1', requestHash: 'h' };
    const limit = { validTo: new Date(Date.now() + 3_600_000).toISOString() };
    const [{ qr }, creating] = await costOf(() => create({ ...limit, idempotency }));
    const [, asking] = await costOf(() => shop.invoices.status(qr, anybody));
    const [, scanning] = await costOf(() => shop.invoices.scan(qr, anybody));
    await database.queries.updateTable('device_locks').set({ command_id: 'other', document_id: 'other' }).execute();
    const [paid, paying] = await costOf(() => pay(qr));
    expect([creating, asking, scanning, paying, paid]).toEqual([1, 1, 2, 2, 0]);
  });

  it('lets the database judge a limit that is near', async () => {
    database.shiftClock(59_000);
    expect(await codeOf(create({ validTo: new Date(Date.now() + 58_000).toISOString() }))).toBe(40);
  });

  it('pays many invoices on one device at once', async () => {
    const made = await Promise.all(forty.map(() => create()));
    await Promise.all(made.map(({ qr }) => shop.invoices.scan(qr, anybody)));
    const [codes, cost] = await costOf(() => Promise.all(made.map(({ qr }) => pay(qr))));
    expect(codes).toEqual(forty.map(() => 0));
    // Each is read by itself, and none is read again.
    expect(cost).toBeLessThan(60);
    const device = database.queries.selectFrom('device_locks').select('last_sale_id').where('device_id', '=', shop.deviceId);
    expect(made.map(({ oid }) => oid)).toContain((await device.executeTakeFirst())?.last_sale_id);
  });

  it('answers each of many different Payd of one invoice, which all write it', async () => {
    const { oid, qr } = await create();
    await shop.invoices.scan(qr, anybody);
    const codes = await Promise.all(forty.map((at) => pay(qr, `F-${at}`)));
    expect(codes.filter((code) => code === 0)).toHaveLength(1);
    expect(codes.filter((code) => code === 22)).toHaveLength(39);
    expect(await orphanRows(database, oid)).toHaveLength(39);
    expect((await shop.invoices.status(qr, anybody)).state).toBe(states.paid);
  });
});

describe('turns', () => {
  it('run in the order in which they came, whatever became of the one before; other places do not wait', async () => {
    const { take } = createTurns();
    const seen: string[] = [];
    const held = Promise.withResolvers<void>();
    const first = take('a', async () => {
      await held.promise;
      seen.push('first');
      throw new Error('failed');
    });
    const second = take('a', async () => void seen.push('second'));
    await take('b', async () => void seen.push('other'));
    expect(seen).toEqual(['other']);
    held.resolve();
    await expect(first).rejects.toThrow('failed');
    await second;
    expect(seen).toEqual(['other', 'first', 'second']);
  });
});
