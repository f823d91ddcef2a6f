import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { states } from '../../src/invoices/rules.ts';
import { core } from '../support/core.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { interruptible } from '../support/interruptible.ts';
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

const hourMs = 3_600_000;
const hundred = Array.from({ length: 100 }, (_, index) => index);

describe.each(engines)('many at once on %s', (engine) => {
  let database: TestDatabase;
  let shop: Shop;

  beforeEach(async () => {
    database = await openTestDatabase(engine);
    shop = await openShop(database);
  });
  afterEach(() => database.close());

  const create = (more: object = {}) => shop.invoices.create({ merchantId: shop.merchantId, receipt, callbackUri: template, ...more });
  const pay = (qr: string, receiptId: string) => shop.invoices.pay(qr, { receiptId, deviceId: shop.deviceId }, anybody);
  const urls = async (oid: string) => (await callbackRows(database, oid)).map(({ url }) => url);

  it('a hundred Get are one move, one callback and one answer', async () => {
    const { oid, qr } = await create();
    const answers = await Promise.all(hundred.map(() => shop.invoices.scan(qr, anybody)));
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(answers[0]?.state).toBe(states.scanned);
    expect(await urls(oid)).toEqual([toldUrl(oid, 'Scanned')]);
    expect(await eventRows(database, oid)).toHaveLength(1);
  });

  it('a hundred equal Payd are one move and one callback, and all are answered 0', async () => {
    const { oid, qr } = await create();
    await shop.invoices.scan(qr, anybody);
    expect(await Promise.all(hundred.map(() => codeOf(pay(qr, 'F-1'))))).toEqual(hundred.map(() => 0));
    expect(await urls(oid)).toEqual([toldUrl(oid, 'Scanned'), toldUrl(oid, 'Payed', 'F-1', shop.deviceId)]);
    expect(await eventRows(database, oid)).toHaveLength(2);
    expect(await orphanRows(database, oid)).toEqual([]);
  });

  it('of different Payd one wins; every other is answered 22 and listed among the orphans', async () => {
    const { oid, qr } = await create();
    await shop.invoices.scan(qr, anybody);
    const names = hundred.slice(0, 40).map((index) => `F-${index}`);
    const codes = await Promise.all(names.map((name) => codeOf(pay(qr, name))));
    expect(codes.filter((code) => code === 0)).toHaveLength(1);
    expect(codes.filter((code) => code === 22)).toHaveLength(39);
    const winner = names[codes.indexOf(0)] ?? '';
    expect(await shop.invoices.status(qr, anybody)).toEqual({ state: states.paid, receiptId: winner });
    const board = (await orphanRows(database, oid)).map(({ receipt_id }) => receipt_id);
    expect(board.sort()).toEqual(names.filter((name) => name !== winner).sort());
    expect(await urls(oid)).toEqual([toldUrl(oid, 'Scanned'), toldUrl(oid, 'Payed', winner, shop.deviceId)]);
  });

  it('Get, Payd, Status, cancel and the sweep all at once leave one consistent story', async () => {
    for (let round = 0; round < 15; round += 1) {
      const { oid, qr } = await create();
      if (round % 2 === 0) await shop.invoices.scan(qr, anybody);
      const calls = hundred
        .slice(0, 20)
        .flatMap((index) => [
          codeOf(shop.invoices.scan(qr, anybody)),
          codeOf(pay(qr, `F-${index % 3}`)),
          codeOf(shop.invoices.status(qr, anybody)),
          ...(index === 10 ? [shop.cancel(oid).then(() => 0), shop.invoices.expireOverdue()] : []),
        ]);
      const codes = new Set(await Promise.all(calls));
      expect([...codes].every((code) => code === 0 || code === 22)).toBe(true);
      await checkStory(oid, qr);
    }
  });

  /** The callbacks, numbered without a gap, tell a legal life that ends where the invoice is. */
  async function checkStory(oid: string, qr: string): Promise<void> {
    const rows = await callbackRows(database, oid);
    expect(rows.map(({ sequence }) => sequence)).toEqual(rows.map((_, index) => index + 1));
    const told = rows.map(({ url }) => new URL(url).searchParams.get('state'));
    const { state } = await shop.invoices.status(qr, anybody);
    const names = ['NewItem', 'Scanned', 'Payed', 'Expired', 'Cancelled'];
    expect(told.at(-1) ?? 'NewItem').toBe(names[state]);
    expect([
      [],
      ['Scanned'],
      ['Scanned', 'Payed'],
      ['Scanned', 'Expired'],
      ['Scanned', 'Cancelled'],
      ['Expired'],
      ['Cancelled'],
    ]).toContainEqual(told);
    const events = (await eventRows(database, oid)).map(({ event }) => event).filter((event) => event !== 'payment-refused');
    expect(events).toEqual(told);
  }

  it('Payd against the moment of expiry: either Payed, or Expired with the payment on the board', async () => {
    const outcomes = new Set<number>();
    for (let round = 0; round < 30; round += 1) {
      const { oid, qr } = await create({ validTo: new Date(Date.now() + hourMs).toISOString() });
      await shop.invoices.scan(qr, anybody);
      const work = [0, 1, 2].map(() => codeOf(pay(qr, 'F-1')));
      // Time passes while the calls are under way.
      if (round % 3 !== 0) await Promise.resolve();
      database.shiftClock(hourMs + 1);
      const sweeps = [shop.invoices.expireOverdue(), shop.invoices.status(qr, anybody)];
      const codes = await Promise.all(work);
      await Promise.all(sweeps);
      database.shiftClock(-hourMs - 1);
      const { state } = await shop.invoices.status(qr, anybody);
      expect(codes).toEqual(codes.map(() => (state === states.paid ? 0 : 22)));
      expect(await orphanRows(database, oid)).toHaveLength(state === states.paid ? 0 : 1);
      expect(await urls(oid)).toEqual([
        toldUrl(oid, 'Scanned'),
        state === states.paid ? toldUrl(oid, 'Payed', 'F-1', shop.deviceId) : toldUrl(oid, 'Expired'),
      ]);
      outcomes.add(state);
    }
    for (const state of outcomes) expect([states.paid, states.expired]).toContain(state);
  });

  describe('a call that loses a race between its look and its move', () => {
    // The invoices are made by another gateway, and their callbacks are not known to the one that loses: it moves nothing before it has looked.
    const openRace = async () => {
      const race = interruptible(database);
      return { ...race, shop: await openShop(race.database, { seed: 7 }) };
    };
    const make = (more: object = {}) => create(more);
    const scan = (qr: string) => shop.invoices.scan(qr, anybody);

    // The new core decides by the time of its look [D300].
    it('Payd against expiry is 22, Expired, and on the board, or in time', async () => {
      const race = await openRace();
      const { oid, qr } = await make({ validTo: new Date(Date.now() + hourMs).toISOString() });
      await scan(qr);
      race.afterNextLook(() => database.shiftClock(hourMs + 1));
      const code = await codeOf(race.shop.invoices.pay(qr, { receiptId: 'F-1', deviceId: shop.deviceId }, anybody));
      const { state } = await race.shop.invoices.status(qr, anybody);
      expect([code, state]).toEqual(core === 'new' ? [0, states.paid] : [22, states.expired]);
      expect(await orphanRows(database, oid)).toMatchObject(core === 'new' ? [] : [{ receipt_id: 'F-1', reason: 'expired' }]);
      expect(await urls(oid)).toEqual([
        toldUrl(oid, 'Scanned'),
        core === 'new' ? toldUrl(oid, 'Payed', 'F-1', shop.deviceId) : toldUrl(oid, 'Expired'),
      ]);
    });

    it('Get against expiry is 22, or in time', async () => {
      const race = await openRace();
      const { oid, qr } = await make({ validTo: new Date(Date.now() + hourMs).toISOString() });
      race.afterNextLook(() => database.shiftClock(hourMs + 1));
      expect(await codeOf(race.shop.invoices.scan(qr, anybody))).toBe(core === 'new' ? 0 : 22);
      expect(await urls(oid)).toEqual([toldUrl(oid, core === 'new' ? 'Scanned' : 'Expired')]);
    });

    it('Payd against another Payd is 22 and on the board; against its own double it is 0', async () => {
      const race = await openRace();
      const { invoices } = race.shop;
      const { deviceId } = shop;
      for (const [rival, code] of [
        ['F-2', 22],
        ['F-1', 0],
      ] as const) {
        const { oid, qr } = await make();
        await scan(qr);
        race.afterNextLook(() => shop.invoices.pay(qr, { receiptId: rival, deviceId }, anybody));
        expect(await codeOf(invoices.pay(qr, { receiptId: 'F-1', deviceId }, anybody))).toBe(code);
        expect(await orphanRows(database, oid)).toHaveLength(code === 22 ? 1 : 0);
        expect(await urls(oid)).toEqual([toldUrl(oid, 'Scanned'), toldUrl(oid, 'Payed', rival, deviceId)]);
      }
    });

    it('Payd against a cancellation is 22 and on the board; a cancellation against Payd does nothing', async () => {
      const race = await openRace();
      const { invoices } = race.shop;
      const { deviceId } = shop;
      const first = await make();
      await scan(first.qr);
      race.afterNextLook(() => shop.cancel(first.oid));
      expect(await codeOf(invoices.pay(first.qr, { receiptId: 'F-1', deviceId }, anybody))).toBe(22);
      expect(await orphanRows(database, first.oid)).toMatchObject([{ reason: 'cancelled' }]);

      const second = await make();
      await scan(second.qr);
      race.beforeNextTransaction(() => shop.invoices.pay(second.qr, { receiptId: 'F-1', deviceId }, anybody));
      expect(await race.shop.cancel(second.oid, shop.merchantId)).toBe(false);
      expect((await invoices.status(second.qr, anybody)).state).toBe(states.paid);
    });

    it('a cancellation against a scan still cancels', async () => {
      const race = await openRace();
      const { oid, qr } = await make();
      race.beforeNextTransaction(() => scan(qr));
      expect(await race.shop.cancel(oid, shop.merchantId)).toBe(true);
      expect(await urls(oid)).toEqual([toldUrl(oid, 'Scanned'), toldUrl(oid, 'Cancelled')]);
    });
  });

  it('each call needs few round trips', async () => {
    const { watched, count } = countStatements(database);
    const quick = await openShop(watched, { seed: 9 });
    await quick.invoices.start();
    // The new core does not know the time of the database before.
    await quick.invoices.create({ merchantId: quick.merchantId, receipt });
    const cost = async (call: () => Promise<unknown>) => {
      const before = count();
      await call();
      return count() - before;
    };
    let qr = '';
    const named = () => quick.invoices.pay(qr, { receiptId: 'F-1', deviceId: quick.deviceId }, anybody);
    const costs = {
      create: await cost(async () => {
        ({ qr } = await quick.invoices.create({ merchantId: quick.merchantId, receipt, callbackUri: template }));
      }),
      status: await cost(() => quick.invoices.status(qr, anybody)),
      get: await cost(() => quick.invoices.scan(qr, anybody)),
      getAgain: await cost(() => quick.invoices.scan(qr, anybody)),
      payd: await cost(named),
      paydAgain: await cost(named),
    };
    await quick.invoices.stop();
    const inOneStatement = { create: 1, status: 1, get: 1, getAgain: 1, payd: 1, paydAgain: 1 };
    expect(costs).toEqual(core === 'new' ? { ...inOneStatement, get: 2, payd: 2 } : inOneStatement);
  });

  it('a Create under one Idempotency-Key, a hundred times, makes one invoice and gives one answer', async () => {
    const answers = await Promise.all(hundred.map(() => create({ idempotency: { key: 'order-1', requestHash: 'h' } })));
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(await database.queries.selectFrom('invoices').select('oid').execute()).toHaveLength(1);
  });

  it('two sweeps at once expire each invoice once', async () => {
    const made = [];
    for (let count = 0; count < 150; count += 1) made.push(await create({ validTo: new Date(Date.now() + hourMs).toISOString() }));
    database.shiftClock(hourMs + 1000);
    const counts = await Promise.all([shop.invoices.expireOverdue(), shop.invoices.expireOverdue(), shop.invoices.expireOverdue()]);
    const rest = await shop.invoices.expireOverdue();
    expect(counts.reduce((sum, count) => sum + count, rest)).toBe(150);
    expect(await database.queries.selectFrom('callbacks').select('id').execute()).toHaveLength(150);
  });
});
