import type { PluginTransformResultArgs } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { databaseDown } from '../../src/database/errors.ts';
import { states } from '../../src/invoices/rules.ts';
import { core } from '../support/core.ts';
import { engines, memoryDatabase, openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { seedCallback } from '../support/fixtures.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';
import { anybody, callbackRows, openShop, receipt, type Shop, template, toldUrl } from './shop.ts';

describe('the sweep', () => {
  let clock: VirtualClock;
  let database: Database;
  let shop: Shop;
  let isDown = false;
  /** It goes away in the middle of a transaction. */
  let isLost = false;
  /** Nothing is written, and no invoice is the reason. */
  let refusal: string | undefined;

  beforeEach(async () => {
    refusal = undefined;
    isDown = false;
    isLost = false;
    clock = createVirtualClock(undefined, { settle: 'microtasks' });
    database = await memoryDatabase(clock);
    const refusing = {
      transformQuery: () => {
        throw new Error('Permission denied.');
      },
      transformResult: async ({ result }: PluginTransformResultArgs) => result,
    };
    const refuse = () => {
      if (isDown) throw databaseDown('The database is offline.');
      if (refusal === 'before it has looked') throw new Error('Permission denied.');
    };
    const fragile: Database = {
      ...database,
      // The new core looks for ids with a statement of its own, and commits each invoice by itself.
      get queries() {
        if (core === 'new') refuse();
        return database.queries;
      },
      async inOneGo(statements) {
        if (isLost && core === 'new') throw databaseDown('The connection was lost.');
        return await database.inOneGo(statements);
      },
      async transaction(work) {
        refuse();
        return await database.transaction(async (queries) => {
          const result = await work(refusal === 'while it looks' ? queries.withPlugin(refusing) : queries);
          if (isLost) throw databaseDown('The connection was lost.');
          return result;
        });
      },
    };
    shop = await openShop(fragile, { clock, sweepPeriodMs: 1000 });
    await shop.invoices.start();
  });
  afterEach(async () => {
    await shop.invoices.stop();
    await database.close();
  });

  const create = (validForMs: number, callbackUri: string | null = template) =>
    shop.invoices.create({
      merchantId: shop.merchantId,
      receipt,
      callbackUri,
      validTo: new Date(clock.now() + validForMs).toISOString(),
    });
  const urls = async (oid: string) => (await callbackRows(database, oid)).map(({ url }) => url);

  it('notifies the ERP within a period, without any call', async () => {
    const { oid } = await create(10_000);
    await clock.advance(9_999);
    expect(await urls(oid)).toEqual([]);
    await clock.advance(1_000);
    expect(await urls(oid)).toEqual([toldUrl(oid, 'Expired')]);
    expect(shop.wakes()).toBe(1);
    await clock.advance(10_000);
    expect(await urls(oid)).toHaveLength(1);
  });

  it('wakes the worker for the hosts with new callbacks, and for no others', async () => {
    await create(1_500, null);
    await clock.advance(2_000);
    expect(shop.wakes()).toBe(0);
    const told = [await create(1_500), await create(1_500, null), await create(1_500, 'http://other.example:81/#State#')];
    await clock.advance(2_000);
    expect(shop.woken().toSorted()).toEqual(['erp.example', 'other.example:81']);
    // The new core wakes it after the commit of each invoice.
    expect(shop.wakes()).toBe(core === 'new' ? 2 : 1);
    for (const { qr } of told) expect((await shop.invoices.status(qr, anybody)).state).toBe(states.expired);
  });

  it('ends all overdue invoices at once, in batches of a hundred', async () => {
    await shop.invoices.stop();
    await Promise.all(Array.from({ length: 150 }, () => create(1_000, null)));
    await clock.advance(1_000);
    expect([await shop.invoices.expireOverdue(), await shop.invoices.expireOverdue()]).toEqual([150, 0]);
  });

  it('survives a database that is down, and catches up', async () => {
    const { oid } = await create(1_500);
    isDown = true;
    await clock.advance(5_000);
    expect(shop.logger.lines.filter(({ message }) => message.includes('swept'))).toHaveLength(5);
    isDown = false;
    await clock.advance(1_000);
    expect(await urls(oid)).toEqual([toldUrl(oid, 'Expired')]);
  });

  it('blames no invoice for a connection that is lost in the middle: the next round has them all', async () => {
    const [first, second] = [await create(1_500), await create(1_500)];
    isLost = true;
    await clock.advance(3_000);
    const told = shop.logger.lines.map(({ level, message }) => `${level}: ${message}`);
    // The first round finds no overdue invoice, so the new core writes nothing in it.
    expect(told).toEqual(Array(core === 'new' ? 2 : 3).fill('warn: overdue invoices could not be swept'));
    isLost = false;
    await clock.advance(1_000);
    for (const { oid } of [first, second]) expect(await urls(oid)).toEqual([toldUrl(oid, 'Expired')]);
  });

  // The new core looks at each invoice by itself, so it cannot tell what is the reason.
  it.each(['before it has looked', ...(core === 'old' ? ['while it looks'] : [])])('blames no invoice for a refusal %s', async (when) => {
    const { oid } = await create(1_500);
    refusal = when;
    await clock.advance(2_000);
    expect(shop.logger.lines.map(({ message }) => message)).toEqual(Array(2).fill('overdue invoices could not be swept'));
    refusal = undefined;
    await clock.advance(1_000);
    expect(await urls(oid)).toEqual([toldUrl(oid, 'Expired')]);
  });

  it('ends when the invoices stop, and leaves no timer', async () => {
    const { oid } = await create(1_500);
    await shop.invoices.stop();
    await clock.advance(10_000);
    expect(await urls(oid)).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});

describe.each(engines)('the sweep on %s, where the database refuses the callback of some invoices', (engine) => {
  let clock: VirtualClock;
  let database: TestDatabase;
  let shop: Shop;

  beforeEach(async () => {
    clock = createVirtualClock();
    database = await openTestDatabase(engine, clock);
    shop = await openShop(database, { clock });
    await shop.invoices.start();
    await shop.invoices.stop();
  });
  afterEach(() => database.close());

  const create = (validForMs: number) =>
    shop.invoices.create({
      ...{ merchantId: shop.merchantId, receipt, callbackUri: template },
      validTo: new Date(clock.now() + validForMs).toISOString(),
    });
  /** Its first callback cannot be written: the number is taken. */
  const createBad = async (validForMs: number) => {
    const { oid } = await create(validForMs);
    const { id } = await seedCallback(database.queries, shop.merchantId, { subject_id: oid, sequence: 1, host: 'x' });
    return { oid, mend: () => database.queries.deleteFrom('callbacks').where('id', '=', id).execute() };
  };
  const isExpired = async (oid: string) => {
    const row = await database.queries.selectFrom('invoices').select('state').where('oid', '=', oid).executeTakeFirstOrThrow();
    return row.state === states.expired;
  };
  const complaints = () => shop.logger.lines.filter(({ level }) => level === 'error').map(({ fields }) => fields as { oid: string });

  it('expires all others, and the log records that row with its error', async () => {
    const [before, bad, behind] = [await create(1_000), await createBad(2_000), await create(3_000)];
    await clock.advance(3_000);
    expect(await shop.invoices.expireOverdue()).toBe(2);
    expect(await Promise.all([before, bad, behind].map(({ oid }) => isExpired(oid)))).toEqual([true, false, true]);
    expect(await callbackRows(database, behind.oid)).toMatchObject([{ url: toldUrl(behind.oid, 'Expired') }]);
    expect(shop.woken()).toEqual(['erp.example', 'erp.example']);
    const [complaint, ...others] = complaints();
    expect([complaint, others]).toMatchObject([{ oid: bad.oid, retryMs: 10_000, err: expect.any(Error) }, []]);
  });

  it('retries that row with growing pauses, until it expires', async () => {
    const bad = await createBad(1_000);
    await clock.advance(1_000);
    for (let seconds = 0; seconds < 900; seconds += 30) {
      expect(await shop.invoices.expireOverdue()).toBe(0);
      await clock.advance(30_000);
    }
    // Of thirty rounds: the pauses are 10, 20, 40 ... 320 s, and ten minutes at the longest.
    expect(complaints()).toHaveLength(7);
    await bad.mend();
    const beside = await create(1);
    await clock.advance(10);
    expect([await shop.invoices.expireOverdue(), await isExpired(beside.oid), await isExpired(bad.oid)]).toEqual([1, true, false]);
    await clock.advance(600_000);
    expect([await shop.invoices.expireOverdue(), await isExpired(bad.oid)]).toEqual([1, true]);
  });

  it('moves a hundred in one transaction at most, also after such a row has been mended', async () => {
    const bad = await createBad(1_000);
    await clock.advance(1_000);
    expect(await shop.invoices.expireOverdue()).toBe(0);
    await database.queries.updateTable('invoices').set({ state: states.cancelled, ended_at: 1 }).where('oid', '=', bad.oid).execute();
    await Promise.all(Array.from({ length: 150 }, () => create(1_000)));
    await clock.advance(1_000);
    expect(await shop.invoices.expireOverdue()).toBe(150);
    // The worker is woken after each transaction; in the new core, each invoice is one.
    expect(shop.wokenTogether()).toEqual(core === 'new' ? Array(150).fill(1) : [100, 50]);
  });

  it('continues past a whole batch of them, and logs at most twenty lines about it in a minute', async () => {
    await Promise.all(Array.from({ length: 100 }, () => createBad(1_000)));
    const behind = await create(2_000);
    await clock.advance(2_000);
    expect((await shop.invoices.expireOverdue()) + (await shop.invoices.expireOverdue())).toBe(1);
    expect(await isExpired(behind.oid)).toBe(true);
    expect(complaints()).toHaveLength(20);
  });
});
