// A look and the move it most likely leads to, in one trip: what is believed of an invoice is never more than a guess, on both engines.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createKnownInvoices } from '../../src/invoices/known-invoices.ts';
import { states } from '../../src/invoices/rules.ts';
import { core } from '../support/core.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { seedCallback } from '../support/fixtures.ts';
import { longHost } from '../support/long-host.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import {
  anybody,
  callbackRows,
  codeOf,
  countStatements,
  eventRows,
  openShop,
  orphanRows,
  receipt,
  type Shop,
  template,
  toldUrl,
} from './shop.ts';

const startMs = 1_000_000;

describe.each(engines)('a Get or Payd on %s', (engine) => {
  let database: TestDatabase;
  let shop: Shop;
  let count: () => number;

  beforeEach(async () => {
    database = await openTestDatabase(engine, createVirtualClock(startMs));
    const counted = countStatements(database);
    count = counted.count;
    shop = await openShop(counted.watched, { clock: createVirtualClock(startMs) });
    await shop.invoices.start();
  });
  afterEach(async () => {
    await shop.invoices.stop();
    await database.close();
  });

  const create = (more: object = {}) => shop.invoices.create({ merchantId: shop.merchantId, receipt, callbackUri: template, ...more });
  /** Another gateway, which has heard of nothing. */
  const openOther = async () => {
    const counted = countStatements(database);
    const other = await openShop(counted.watched, { clock: createVirtualClock(startMs), seed: 3 });
    await other.invoices.start();
    return { other: other.invoices, count: counted.count, logger: other.logger };
  };
  const payment = (deviceId = shop.deviceId) => ({ receiptId: 'F-1', deviceId });
  const urls = async (oid: string) => (await callbackRows(database, oid)).map(({ url }) => url);
  const stateOf = async (qr: string) => (await shop.invoices.status(qr, anybody)).state;

  it('of an invoice that this gateway created is one round trip, with its history and its callback', async () => {
    const { oid, qr } = await create();
    const before = count();
    expect(await shop.invoices.scan(qr, anybody)).toMatchObject({ oid, state: states.scanned, receiptId: null });
    await shop.invoices.pay(qr, payment(), anybody);
    // The new core loads and commits.
    expect(count() - before).toBe(core === 'new' ? 4 : 2);
    expect(await urls(oid)).toEqual([toldUrl(oid, 'Scanned'), toldUrl(oid, 'Payed', 'F-1', shop.deviceId)]);
    expect(await callbackRows(database, oid)).toMatchObject([
      { merchant_id: shop.merchantId, sequence: 1 },
      { merchant_id: shop.merchantId, sequence: 2 },
    ]);
    expect((await eventRows(database, oid)).map(({ event }) => event)).toEqual(['Scanned', 'Payed']);
    expect(shop.woken()).toEqual(['erp.example', 'erp.example']);
  });

  it('of another gateway’s invoice reads it before its first move, because of the callback, and not again', async () => {
    const { other, count: trips } = await openOther();
    const { oid, qr } = await create();
    const bare = await create({ callbackUri: undefined });
    const before = trips();
    await other.scan(qr, anybody);
    expect(trips() - before).toBeGreaterThanOrEqual(2);
    const scanned = trips();
    await other.pay(qr, payment(), anybody);
    await other.scan(bare.qr, anybody);
    await other.pay(bare.qr, payment(), anybody);
    expect(trips() - scanned).toBe(core === 'new' ? 6 : 3);
    await other.stop();
    expect(await urls(oid)).toEqual([toldUrl(oid, 'Scanned'), toldUrl(oid, 'Payed', 'F-1', shop.deviceId)]);
    expect(await urls(bare.oid)).toEqual([]);
    expect((await eventRows(database, bare.oid)).map(({ event }) => event)).toEqual(['Scanned', 'Payed']);
  });

  it('sends the callback where the invoice says, though something else is accepted', async () => {
    const told = await create({ callbackUri: undefined });
    const untold = await create();
    const elsewhere = await create();
    const setUri = (oid: string, uri: string | null) =>
      database.queries.updateTable('invoices').set({ callback_uri: uri }).where('oid', '=', oid).execute();
    await setUri(told.oid, template);
    await setUri(untold.oid, null);
    await setUri(elsewhere.oid, 'http://new.example/?s=#State#');
    for (const { qr } of [told, untold, elsewhere]) await shop.invoices.scan(qr, anybody);
    expect(await urls(told.oid)).toEqual([toldUrl(told.oid, 'Scanned')]);
    expect(await urls(untold.oid)).toEqual([]);
    expect(await urls(elsewhere.oid)).toEqual(['http://new.example/?s=Scanned']);
    for (const { oid } of [told, untold, elsewhere]) expect(await eventRows(database, oid)).toHaveLength(1);
  });

  it('is limited to the caller’s merchant', async () => {
    const { oid, qr } = await create();
    const stranger = { merchantId: shop.otherMerchantId, name: 'key' };
    expect(await codeOf(shop.invoices.scan(qr, stranger))).toBe(20);
    expect(await stateOf(qr)).toBe(states.newItem);
    await shop.invoices.scan(qr, { merchantId: shop.merchantId, name: 'key' });
    expect(await codeOf(shop.invoices.pay(qr, payment(), stranger))).toBe(20);
    expect(await stateOf(qr)).toBe(states.scanned);
    expect([await eventRows(database, oid), await orphanRows(database, oid)]).toMatchObject([[{ event: 'Scanned' }], []]);
  });

  it('pays with no device that is another merchant’s, disabled or unknown', async () => {
    const { oid, qr } = await create();
    await shop.invoices.scan(qr, anybody);
    await database.queries.updateTable('devices').set({ disabled_at: 1 }).where('id', '=', shop.secondDeviceId).execute();
    for (const deviceId of [shop.foreignDeviceId, shop.secondDeviceId, 'nobody']) {
      expect(await codeOf(shop.invoices.pay(qr, payment(deviceId), anybody))).toBe(20);
    }
    expect(await stateOf(qr)).toBe(states.scanned);
    expect(await urls(oid)).toEqual([toldUrl(oid, 'Scanned')]);
    expect((await orphanRows(database, oid)).map(({ reason }) => reason)).toEqual(Array(3).fill('device-not-registered'));
  });

  it('moves only what is allowed, and otherwise writes no history or callback', async () => {
    const late = await create({ validTo: new Date(startMs + 5).toISOString() });
    const unscanned = await create();
    const paid = await create();
    await shop.invoices.scan(paid.qr, anybody);
    await shop.invoices.pay(paid.qr, payment(), anybody);
    database.shiftClock(10);
    const calls = [
      shop.invoices.scan(late.qr, anybody),
      shop.invoices.pay(unscanned.qr, payment(), anybody),
      shop.invoices.pay(paid.qr, payment(), anybody),
      shop.invoices.pay(paid.qr, { ...payment(), receiptId: 'F-2' }, anybody),
      shop.invoices.scan(paid.qr, anybody),
    ];
    expect(await Promise.all(calls.map(codeOf))).toEqual([22, 22, 0, 22, 22]);
    expect(await urls(late.oid)).toEqual([toldUrl(late.oid, 'Expired')]);
    expect(await urls(unscanned.oid)).toEqual([]);
    expect((await eventRows(database, paid.oid)).map(({ event }) => event)).toEqual(['Scanned', 'Payed', 'payment-refused']);
    expect(await urls(paid.oid)).toHaveLength(2);
  });

  it.each([
    ['is none', 'no address'],
    ['has a host that is too long for an index of PostgreSQL', `http://${longHost}/x?o=#OID#`],
  ])('goes on though the stored CallbackURI %s, and so does the sweep: no callback is sent, and the log says so', async (_, address) => {
    const hurt = async (limit: object = {}) => {
      const made = await create(limit);
      await database.queries.updateTable('invoices').set({ callback_uri: address }).where('oid', '=', made.oid).execute();
      return made;
    };
    const soon = { validTo: new Date(startMs + 5).toISOString() };
    const [paid, late, beside, dropped] = [await hurt(), await hurt(soon), await create(soon), await hurt()];
    // It did not make the invoice, so it believes what it finds. Only the first call of each kind moves anything.
    const { other, logger } = await openOther();
    for (let times = 0; times < 3; times += 1) await other.scan(paid.qr, anybody);
    for (let times = 0; times < 3; times += 1) await other.pay(paid.qr, payment(), anybody);
    expect(await codeOf(other.pay(paid.qr, { ...payment(), receiptId: 'F-2' }, anybody))).toBe(22);
    database.shiftClock(10);
    expect(await shop.invoices.expireOverdue()).toBe(2);
    expect(await shop.invoices.expireOverdue()).toBe(0);
    expect([await shop.cancel(dropped.oid), await shop.cancel(dropped.oid)]).toEqual([true, false]);
    expect(await Promise.all([paid, late, beside].map(({ qr }) => stateOf(qr)))).toEqual([states.paid, states.expired, states.expired]);
    expect((await eventRows(database, paid.oid)).map(({ event }) => event)).toEqual(['Scanned', 'Payed', 'payment-refused']);
    expect([await urls(paid.oid), await urls(late.oid), await urls(beside.oid)]).toEqual([[], [], [toldUrl(beside.oid, 'Expired')]]);
    await other.stop();
    const complaints = [...logger.lines, ...shop.logger.lines].filter(({ message }) => message.includes('can no longer be read'));
    const told = (oid: string, state: string) => ({ oid, state, merchantId: shop.merchantId, err: expect.any(Error) });
    expect(complaints.map(({ fields }) => fields)).toEqual([
      told(paid.oid, 'Scanned'),
      told(paid.oid, 'Payed'),
      told(late.oid, 'Expired'),
      told(dropped.oid, 'Cancelled'),
    ]);
  });

  /** The database will refuse the next callback of this invoice, and with it the move. */
  const takeNextNumber = (oid: string) => seedCallback(database.queries, shop.merchantId, { subject_id: oid, sequence: 1, host: 'x' });

  it('that finds its time up leaves nothing behind when the callback of that cannot be written', async () => {
    const { oid, qr } = await create({ validTo: new Date(startMs + 5).toISOString() });
    await takeNextNumber(oid);
    database.shiftClock(10);
    await expect(shop.invoices.scan(qr, anybody)).rejects.toThrow();
    await expect(shop.invoices.status(qr, anybody)).rejects.toThrow();
    const row = await database.queries.selectFrom('invoices').select(['state', 'callback_sequence']).where('oid', '=', oid).execute();
    expect(row).toEqual([{ state: states.newItem, callback_sequence: 0 }]);
    expect(await eventRows(database, oid)).toEqual([]);
  });

  it('leaves nothing behind when its callback cannot be written, and does not affect others of its batch', async () => {
    const [bad, ...good] = [await create(), await create(), await create({ callbackUri: undefined })];
    await takeNextNumber(bad?.oid ?? '');
    const ends = await Promise.allSettled([bad, ...good].map((each) => shop.invoices.scan(each?.qr ?? '', anybody)));
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    expect(await eventRows(database, bad?.oid ?? '')).toEqual([]);
    expect(await stateOf(bad?.qr ?? '')).toBe(states.newItem);
    for (const { oid } of good) expect(await eventRows(database, oid)).toHaveLength(1);
  });
});

describe('the cache of invoices', () => {
  const invoice = (oid: string, callbackUri: string | null = null) => ({ oid, merchantId: 'm', callbackUri });

  it('is bounded: the oldest is dropped first, and long addresses are not stored', () => {
    const known = createKnownInvoices(2);
    for (const name of ['a', 'b', 'c']) known.remember(name, invoice(name));
    expect(['a', 'b', 'c'].map((name) => known.get(name)?.oid)).toEqual([undefined, 'b', 'c']);
    known.remember('d', invoice('d', 'x'.repeat(513)));
    known.remember('e', invoice('e', 'x'.repeat(512)));
    expect(['b', 'c', 'd', 'e'].map((name) => known.get(name)?.oid)).toEqual([undefined, 'c', undefined, 'e']);
  });
});
