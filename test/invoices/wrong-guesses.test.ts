// A Get or Payd guesses its move before it has looked. What becomes of it when the guess is wrong, another is quicker, or two come at once:
// quickly, SQLite in memory and virtual time. Both engines are asked in steps.test.ts.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { states } from '../../src/invoices/rules.ts';
import { core } from '../support/core.ts';
import { memoryDatabase } from '../support/engines.ts';
import { interruptible } from '../support/interruptible.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';
import { anybody, codeOf, countStatements, eventRows, openShop, orphanRows, receipt, type Shop, template } from './shop.ts';

let clock: VirtualClock;
let database: Database;
let shop: Shop;
let trips: () => number;
let race: ReturnType<typeof interruptible>;
/** How many statements went in one go, and what the look among them found. */
let goes: { statements: number; receipt: unknown }[];

beforeEach(async () => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  database = await memoryDatabase(clock);
  race = interruptible(database);
  goes = [];
  const counted = countStatements({
    ...race.database,
    // Whoever comes in one moment shares a statement.
    soon: (begin) => void setImmediate(begin),
    async inOneGo(statements) {
      const results = await race.database.inOneGo(statements);
      goes.push({ statements: statements.length, receipt: results[0]?.[0]?.['receipt'] });
      return results;
    },
  });
  trips = counted.count;
  shop = await openShop(counted.watched, { clock });
  await shop.invoices.start();
  await shop.invoices.stop();
});
afterEach(() => database.close());

const key7 = { ...anybody, name: 'key 7' };
const create = (callbackUri?: string) => shop.invoices.create({ merchantId: shop.merchantId, receipt, callbackUri });
const pay = (qr: string, receiptId: string, deviceId = shop.deviceId) => shop.invoices.pay(qr, { receiptId, deviceId }, key7);
const status = (qr: string) => shop.invoices.status(qr, anybody);
const events = async (oid: string) => (await eventRows(database, oid)).map(({ event }) => event);
/** By another gateway, when the next look here has been answered. */
async function payElsewhereAfterLook(qr: string, receiptId: string, deviceId: string): Promise<void> {
  const { invoices } = await openShop(database, { clock, seed: 2 });
  await invoices.start();
  await invoices.stop();
  race.afterNextLook(() => invoices.pay(qr, { receiptId, deviceId }, anybody));
}
/** Now the guess is that nobody is called back, and wrong. */
const giveAddress = (oid: string) =>
  database.queries.updateTable('invoices').set({ callback_uri: template }).where('oid', '=', oid).execute();

describe('two concurrent calls for one invoice without an address', () => {
  it('with different payments: one is 0, the other 22 and on the board', async () => {
    const { oid, qr } = await create();
    await shop.invoices.scan(qr, anybody);
    const codes = await Promise.all([codeOf(pay(qr, 'F-1')), codeOf(pay(qr, 'F-2', shop.secondDeviceId))]);
    expect(codes).toEqual([0, 22]);
    expect(await status(qr)).toEqual({ state: states.paid, receiptId: 'F-1' });
    expect(await events(oid)).toEqual(['Scanned', 'Payed', 'payment-refused']);
    expect(await orphanRows(database, oid)).toMatchObject([{ receipt_id: 'F-2', reason: 'paid-otherwise' }]);
  });

  it('to fetch it: one line in its history', async () => {
    const { oid, qr } = await create();
    const both = await Promise.all([shop.invoices.scan(qr, anybody), shop.invoices.scan(qr, anybody)]);
    expect(both.map(({ state }) => state)).toEqual([states.scanned, states.scanned]);
    expect(await events(oid)).toEqual(['Scanned']);
  });
});

describe('a wrong guess', () => {
  it('is corrected by the move itself, with the caller’s name in the history', async () => {
    const { oid, qr } = await create();
    await giveAddress(oid);
    await shop.invoices.scan(qr, key7);
    await pay(qr, 'F-1');
    expect(await eventRows(database, oid)).toEqual([
      { event: 'Scanned', detail: { by: 'key 7' } },
      { event: 'Payed', detail: { by: 'key 7', receiptId: 'F-1', deviceId: shop.deviceId } },
    ]);
  });

  it('of a Payd that loses to another after its read is 22, not the other’s success', async () => {
    const { oid, qr } = await create();
    await shop.invoices.scan(qr, anybody);
    await giveAddress(oid);
    await payElsewhereAfterLook(qr, 'F-2', shop.secondDeviceId);
    expect(await codeOf(pay(qr, 'F-1'))).toBe(22);
    expect(await status(qr)).toEqual({ state: states.paid, receiptId: 'F-2' });
    expect(await orphanRows(database, oid)).toMatchObject([{ receipt_id: 'F-1', reason: 'paid-otherwise' }]);
  });

  it('of a Payd that loses to its own repeat is 0', async () => {
    const { oid, qr } = await create();
    await shop.invoices.scan(qr, anybody);
    await giveAddress(oid);
    await payElsewhereAfterLook(qr, 'F-1', shop.deviceId);
    expect(await codeOf(pay(qr, 'F-1'))).toBe(0);
    expect(await events(oid)).toEqual(['Scanned', 'Payed']);
  });
});

// The new core guesses nothing about an invoice; test/money/qr.test.ts counts its round trips.
describe.runIf(core === 'old')('the cost of a guess', () => {
  it('is one round trip also for an invoice that had moved before: its read is enough', async () => {
    const { qr } = await create();
    await shop.invoices.scan(qr, anybody);
    await pay(qr, 'F-1');
    const before = trips();
    await pay(qr, 'F-1');
    expect(await codeOf(shop.invoices.scan(qr, anybody))).toBe(22);
    expect(trips() - before).toBe(2);
  });

  it('includes a statement for callbacks only if there are any, and the receipt only for Get', async () => {
    for (const callbackUri of [undefined, template]) {
      const { qr } = await create(callbackUri);
      await shop.invoices.scan(qr, anybody);
      await pay(qr, 'F-1');
    }
    const text = JSON.stringify(receipt);
    expect(goes).toEqual([
      { statements: 3, receipt: text },
      { statements: 3, receipt: null },
      { statements: 4, receipt: text },
      { statements: 4, receipt: null },
    ]);
  });

  it('includes no log line about an address if there is none', async () => {
    const { qr } = await create();
    await shop.invoices.scan(qr, anybody);
    expect(shop.logger.lines).toEqual([]);
  });

  it('of a move by itself is a statement for callbacks only where there are any', async () => {
    const tripsOf = async (callbackUri?: string) => {
      const { qr } = await shop.invoices.create({
        ...{ merchantId: shop.merchantId, receipt, callbackUri },
        validTo: new Date(clock.now() + 1_000).toISOString(),
      });
      await clock.advance(1_000);
      const before = trips();
      expect((await status(qr)).state).toBe(states.expired);
      return trips() - before;
    };
    expect((await tripsOf(template)) - (await tripsOf())).toBe(1);
  });
});
