import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { states } from '../../src/invoices/rules.ts';
import { GatewayError } from '../../src/kernel/error-codes.ts';
import { memoryDatabase } from '../support/engines.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';
import { anybody, callbackRows, openShop, receipt, type Shop, template, toldUrl } from './shop.ts';

describe('the sweep', () => {
  let clock: VirtualClock;
  let database: Database;
  let shop: Shop;
  let isDown = false;

  beforeEach(async () => {
    isDown = false;
    clock = createVirtualClock(undefined, { settle: 'microtasks' });
    database = await memoryDatabase(clock);
    const fragile: Database = {
      ...database,
      async transaction(work) {
        if (isDown) throw new GatewayError('Error_Connection_Database', 'The database is offline.');
        return await database.transaction(work);
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

  it('tells the ERP within a period, with nobody polling', async () => {
    const { oid } = await create(10_000);
    await clock.advance(9_999);
    expect(await urls(oid)).toEqual([]);
    await clock.advance(1_000);
    expect(await urls(oid)).toEqual([toldUrl(oid, 'Expired')]);
    expect(shop.wakes()).toBe(1);
    await clock.advance(10_000);
    expect(await urls(oid)).toHaveLength(1);
  });

  it('wakes the worker for the hosts that have something to hear, and for no others', async () => {
    await create(1_500, null);
    await clock.advance(2_000);
    expect(shop.wakes()).toBe(0);
    const told = [await create(1_500), await create(1_500, null), await create(1_500, 'http://other.example:81/#State#')];
    await clock.advance(2_000);
    expect(shop.woken().toSorted()).toEqual(['erp.example', 'other.example:81']);
    expect(shop.wakes()).toBe(1);
    for (const { qr } of told) expect((await shop.invoices.status(qr, anybody)).state).toBe(states.expired);
  });

  it('ends all that are overdue at once, however many: it takes them by the hundred', async () => {
    await shop.invoices.stop();
    await Promise.all(Array.from({ length: 150 }, () => create(1_000, null)));
    await clock.advance(1_000);
    expect([await shop.invoices.expireOverdue(), await shop.invoices.expireOverdue()]).toEqual([150, 0]);
  });

  it('survives a database that is away, and catches up', async () => {
    const { oid } = await create(1_500);
    isDown = true;
    await clock.advance(5_000);
    expect(shop.logger.lines.filter(({ message }) => message.includes('swept'))).toHaveLength(5);
    isDown = false;
    await clock.advance(1_000);
    expect(await urls(oid)).toEqual([toldUrl(oid, 'Expired')]);
  });

  it('stops when it is told to, and leaves no timer', async () => {
    const { oid } = await create(1_500);
    await shop.invoices.stop();
    await clock.advance(10_000);
    expect(await urls(oid)).toEqual([]);
    expect(clock.pending).toBe(0);
  });
});
