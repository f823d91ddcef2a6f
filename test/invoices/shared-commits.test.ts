// What shares a commit with others: new invoices and moves, many in one statement, each with its own outcome. SQLite in memory, virtual time.
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { createInvoiceInserts, type NewInvoice } from '../../src/invoices/insert-batch.ts';
import { createMoveGroup, type Move, type MoveGroup } from '../../src/invoices/move-batch.ts';
import { states, type Transition } from '../../src/invoices/rules.ts';
import { withFailingInsert } from '../support/failing-insert.ts';
import type { VirtualClock } from '../support/virtual-clock.ts';
import { anybody, callbackRows, countStatements, eventRows, openQuietShop, openShop, receipt, type Shop, template } from './shop.ts';

let clock: VirtualClock;
let database: Database;
let shop: Shop;

beforeEach(async () => {
  ({ clock, database, shop } = await openQuietShop());
});
afterEach(() => database.close());

const create = () => shop.invoices.create({ merchantId: shop.merchantId, receipt, callbackUri: template });
const status = (qr: string) => shop.invoices.status(qr, anybody);

describe('moves that share a commit', () => {
  const scan = { from: states.newItem, to: states.scanned, trigger: 'scan', condition: 'in-time' } as unknown as Transition;
  let hosts: string[];
  let commits: number;
  let moves: MoveGroup;
  beforeEach(() => {
    hosts = [];
    commits = 0;
    const counted: Database = {
      ...database,
      transaction(work) {
        commits += 1;
        return database.transaction(work);
      },
    };
    moves = createMoveGroup({
      database: counted,
      graceMs: 0,
      callbacks: { wake: (written) => hosts.push(...written.map(({ host }) => host)) },
    });
  });

  const callbackTo = (host: string, merchantId = shop.merchantId) => ({
    ...{ id: randomUUID(), merchantId, url: `http://${host}/`, host, traceparent: null },
  });
  const moveTo = (oid: string, more: Partial<Move> = {}): Move => ({
    ...{ oid, transition: scan, detail: {}, payment: undefined, callback: callbackTo('erp.example') },
    ...more,
  });
  /** The first two go by themselves and what comes meanwhile goes together. */
  const together = async (...wanted: Move[]) => {
    const first = await Promise.all([create(), create()]);
    const ended = await Promise.allSettled(
      [...first.map(({ oid }) => moveTo(oid, { callback: undefined })), ...wanted].map((each) => moves.add(each)),
    );
    return ended.slice(2).map((each) => (each.status === 'fulfilled' ? each.value : 'refused'));
  };
  const history = async (oid: string) => [(await eventRows(database, oid)).length, (await callbackRows(database, oid)).length];

  it('have each their own outcome: one that comes too late writes nothing and wakes no callback worker', async () => {
    const [good, late, quiet] = await Promise.all([create(), create(), create()]);
    await shop.cancel(late.oid);
    const results = await together(
      moveTo(good.oid, { callback: callbackTo('good.example') }),
      moveTo(late.oid, { callback: callbackTo('late.example') }),
      moveTo(quiet.oid, { callback: undefined }),
    );
    expect([results, hosts]).toEqual([[true, false, true], ['good.example']]);
    expect(commits).toBeLessThanOrEqual(3);
    expect(await Promise.all([good, late, quiet].map(({ oid }) => history(oid)))).toEqual([
      [1, 1],
      [1, 1],
      [1, 0],
    ]);
  });

  it('of one invoice go one after the other', async () => {
    const { oid } = await create();
    expect(await together(moveTo(oid), moveTo(oid))).toEqual([true, false]);
    expect(commits).toBeLessThanOrEqual(4);
    expect(await history(oid)).toEqual([1, 1]);
  });

  it('with a bad one among them are made without it', async () => {
    const [good, bad] = await Promise.all([create(), create()]);
    const results = await together(moveTo(good.oid), moveTo(bad.oid, { callback: callbackTo('erp.example', 'no merchant') }));
    expect(results).toEqual([true, 'refused']);
    expect([await history(good.oid), await history(bad.oid)]).toEqual([
      [1, 1],
      [0, 0],
    ]);
    expect(hosts).toEqual(['erp.example']);
  });

  it('are in the history and with their callback, or not at all', async () => {
    const { oid, qr } = await create();
    const failing = withFailingInsert(database);
    const shaky = createMoveGroup({ database: failing.database, graceMs: 0, callbacks: { wake: () => {} } });
    for (const table of ['invoice_events', 'callbacks']) {
      failing.failNextInsertInto(table);
      await expect(shaky.add(moveTo(oid))).rejects.toThrow('middle of a transaction');
      expect([(await status(qr)).state, await history(oid)]).toEqual([states.newItem, [0, 0]]);
    }
    expect(failing.failed()).toBe(2);
  });

  it('never depend on an earlier payment, and only a payment makes an invoice paid', async () => {
    const { oid } = await create();
    const wrong = (transition: Partial<Transition>, payment?: { receiptId: string; deviceId: string }) =>
      moves.add(moveTo(oid, { transition: { ...scan, ...transition }, payment }));
    await expect(wrong({ condition: 'same-payment' })).rejects.toThrow('an earlier payment');
    await expect(wrong({ to: states.paid })).rejects.toThrow('A move to paid needs a payment');
    await expect(wrong({}, { receiptId: 'F', deviceId: 'd' })).rejects.toThrow('A move to paid needs a payment');
    expect(await history(oid)).toEqual([0, 0]);
  });
});

it('Gets that arrive together share a commit, with their moves, and each is answered its own', async () => {
  const { watched, count } = countStatements(database);
  const quick = await openShop(watched, { clock });
  await quick.invoices.start();
  const made = await Promise.all(Array.from({ length: 12 }, () => quick.invoices.create({ merchantId: quick.merchantId, receipt })));
  const before = count();
  const seen = await Promise.all(made.map(({ qr }) => quick.invoices.scan(qr, anybody)));
  // The first two go by themselves, and what comes meanwhile goes together.
  expect(count() - before).toBeLessThanOrEqual(3);
  expect(seen.map(({ oid, state }) => [oid, state])).toEqual(made.map(({ oid }) => [oid, states.scanned]));
  await quick.invoices.stop();
});

describe('new invoices', () => {
  const invoice = (length: number, more: Partial<NewInvoice> = {}): NewInvoice => ({
    ...{ oid: randomUUID(), merchantId: shop.merchantId, qrSecretId: 1, receipt: 'x'.repeat(length), amountBani: null, callbackUri: null },
    ...{ validToMs: null, pointOfSalesCode: null, preferredDeviceId: null },
    ...more,
  });
  const insertAll = async (invoices: NewInvoice[]) => {
    const { watched, count } = countStatements(database);
    const insert = createInvoiceInserts(watched);
    return { made: await Promise.allSettled(invoices.map((each) => insert(each))), statements: count() };
  };

  it('of up to 16,384 characters share a statement, longer ones have their own', async () => {
    const shared = await insertAll(Array.from({ length: 5 }, () => invoice(16_384)));
    const alone = await insertAll(Array.from({ length: 5 }, () => invoice(16_385)));
    expect(alone.statements).toBe(5);
    expect(shared.statements).toBeLessThan(5);
    expect(alone.made).toEqual(alone.made.map(() => ({ status: 'fulfilled', value: true })));
  });

  it('of more than a mebibyte together are several statements', async () => {
    const few = await insertAll(Array.from({ length: 100 }, () => invoice(1_000)));
    const many = await insertAll(Array.from({ length: 100 }, () => invoice(16_000)));
    expect(many.statements).toBeGreaterThan(few.statements);
  });

  it('whose limit has passed are not created, and do not affect others; nor does a refused one', async () => {
    const { made } = await insertAll([
      invoice(1),
      invoice(1, { validToMs: clock.now() }),
      invoice(1, { validToMs: clock.now() + 1 }),
      invoice(1, { merchantId: null as never }),
    ]);
    expect(made.map((each) => (each.status === 'fulfilled' ? each.value : 'refused'))).toEqual([true, false, true, 'refused']);
  });
});
