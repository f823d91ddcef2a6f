// What an invoice's calls promise whatever else happens, quickly: SQLite in memory and virtual time. Both engines are asked in the tests beside it.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { databaseDown } from '../../src/database/errors.ts';
import { type InvoiceDeps, move, moveOf, transitionOf, withCurrent, writeMove } from '../../src/invoices/move.ts';
import { type Facts, moveBy, states } from '../../src/invoices/rules.ts';
import { holdOverdueInvoices, insertOrphan, listInvoiceEvents } from '../../src/invoices/store.ts';
import { onceMoreIfUnclear } from '../../src/invoices/unclear-commit.ts';
import { core } from '../support/core.ts';
import { memoryDatabase } from '../support/engines.ts';
import { quietLogger, recordingLogger } from '../support/quiet-logger.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';
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

const graceS = 60;
let clock: VirtualClock;
let database: Database;
let shop: Shop;
let statements: () => number;

beforeEach(async () => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  database = await memoryDatabase(clock);
  const { watched, count } = countStatements(database);
  shop = await openShop(watched, { clock, scanGraceS: graceS });
  await shop.invoices.start();
  await shop.invoices.stop();
  statements = count;
});
afterEach(() => database.close());

const inMs = (ms: number) => new Date(clock.now() + ms).toISOString();
const create = (more: object = {}) => shop.invoices.create({ merchantId: shop.merchantId, receipt, callbackUri: template, ...more });
const pay = (qr: string, receiptId = 'F-1', deviceId = shop.deviceId) => shop.invoices.pay(qr, { receiptId, deviceId }, anybody);
const status = (qr: string, merchantId?: string) => shop.invoices.status(qr, { merchantId, name: 'somebody' });

describe('an invoice', () => {
  it('goes from Create to Payd, and each change is notified once', async () => {
    const { oid, qr } = await create({ pointOfSalesCode: 'P', deviceId: shop.deviceId, validTo: inMs(60_000) });
    expect(await status(qr)).toEqual({ state: states.newItem, receiptId: '' });
    const content = await shop.invoices.scan(qr, { merchantId: shop.merchantId, name: 'key 1' });
    expect(content).toMatchObject({
      ...{ oid, state: states.scanned, receipt: JSON.stringify(receipt) },
      ...{ validToMs: clock.now() + 60_000, pointOfSalesCode: 'P', preferredDeviceId: shop.deviceId, receiptId: null, paidDeviceId: null },
    });
    await pay(qr);
    await pay(qr);
    await shop.invoices.status(qr, anybody);
    expect(await status(qr)).toEqual({ state: states.paid, receiptId: 'F-1' });
    expect((await callbackRows(database, oid)).map(({ sequence, url }) => [sequence, url])).toEqual([
      [1, toldUrl(oid, 'Scanned')],
      [2, toldUrl(oid, 'Payed', 'F-1', shop.deviceId)],
    ]);
    expect(await eventRows(database, oid)).toEqual([
      { event: 'Scanned', detail: { by: 'key 1' } },
      { event: 'Payed', detail: { by: 'caller without a key', receiptId: 'F-1', deviceId: shop.deviceId } },
    ]);
    expect([shop.wakes(), shop.woken()]).toEqual([2, ['erp.example', 'erp.example']]);
    expect(await codeOf(shop.invoices.scan(qr, anybody))).toBe(22);
    expect(await orphanRows(database, oid)).toEqual([]);
  });

  it('without an address writes no callback and wakes no callback worker', async () => {
    const { oid, qr } = await create({ callbackUri: null });
    await shop.invoices.scan(qr, anybody);
    expect([await callbackRows(database, oid), shop.wakes()]).toEqual([[], 0]);
    expect(await eventRows(database, oid)).toHaveLength(1);
  });

  it('ends at its limit, and a scanned one a grace later, with one callback', async () => {
    const one = await create({ validTo: inMs(10_000) });
    const scanned = await create({ validTo: inMs(10_000) });
    await shop.invoices.scan(scanned.qr, anybody);
    await clock.advance(9_999);
    expect((await status(one.qr)).state).toBe(states.newItem);
    await clock.advance(1);
    expect((await status(one.qr)).state).toBe(states.expired);
    expect((await status(scanned.qr)).state).toBe(states.scanned);
    await clock.advance(graceS * 1000 - 1);
    expect((await status(scanned.qr)).state).toBe(states.scanned);
    await clock.advance(1);
    expect(await codeOf(pay(scanned.qr))).toBe(22);
    expect((await status(scanned.qr)).state).toBe(states.expired);
    expect((await callbackRows(database, one.oid)).map(({ url }) => url)).toEqual([toldUrl(one.oid, 'Expired')]);
    expect((await eventRows(database, one.oid)).map(({ detail }) => detail)).toEqual([{}]);
    expect((await orphanRows(database, scanned.oid)).map(({ reason }) => reason)).toEqual(['expired']);
  });

  it('is visible to its merchant and to a caller with the QR, and to no other merchant', async () => {
    const { qr } = await create();
    expect((await status(qr, shop.merchantId)).state).toBe(states.newItem);
    expect(await codeOf(status(qr, shop.otherMerchantId))).toBe(20);
    expect(await codeOf(shop.invoices.scan(qr, { merchantId: shop.otherMerchantId, name: 'key 2' }))).toBe(20);
    expect(await codeOf(shop.invoices.checkQr(`${qr.slice(0, -1)}${qr.endsWith('A') ? 'B' : 'A'}`))).toBe(21);
    expect((await status(qr)).state).toBe(states.newItem);
  });

  it('is paid by a device of its merchant alone, and not by one that is disabled', async () => {
    const { oid, qr } = await create();
    await shop.invoices.scan(qr, anybody);
    expect(await codeOf(pay(qr, 'F-1', shop.foreignDeviceId))).toBe(20);
    await database.queries.updateTable('devices').set({ disabled_at: 1 }).where('id', '=', shop.secondDeviceId).execute();
    expect(await codeOf(pay(qr, 'F-2', shop.secondDeviceId))).toBe(20);
    expect((await status(qr)).state).toBe(states.scanned);
    expect((await orphanRows(database, oid)).map(({ reason }) => reason)).toEqual(['device-not-registered', 'device-not-registered']);
    expect((await eventRows(database, oid)).slice(1)).toEqual(
      [
        { receiptId: 'F-1', deviceId: shop.foreignDeviceId },
        { receiptId: 'F-2', deviceId: shop.secondDeviceId },
      ].map((payment) => ({
        event: 'payment-refused',
        detail: { by: 'caller without a key', reason: 'device-not-registered', ...payment },
      })),
    );
    expect(await codeOf(pay(qr, 'F-3'))).toBe(0);
  });

  it('is cancelled once, by its own merchant, with the reason in its history', async () => {
    const { oid, qr } = await create();
    expect(await shop.cancel(oid, shop.otherMerchantId)).toBe(false);
    expect(await shop.cancel(oid)).toBe(true);
    expect(await shop.cancel(oid)).toBe(false);
    expect((await status(qr)).state).toBe(states.cancelled);
    expect((await eventRows(database, oid)).map(({ event }) => event)).toEqual(['Cancelled']);
    expect((await callbackRows(database, oid)).map(({ url }) => url)).toEqual([toldUrl(oid, 'Cancelled')]);
  });

  it('has a QR that stays valid when the secret is replaced, which is audited', async () => {
    const { oid, qr, ...rest } = await create();
    expect(rest).toEqual({ validTo: null });
    expect(await shop.invoices.rotateQrSecret('cli')).toBe(2);
    expect((await status(qr)).state).toBe(states.newItem);
    const row = await database.queries.selectFrom('invoices').select('qr_secret_id').where('oid', '=', oid).executeTakeFirstOrThrow();
    expect(await shop.invoices.qrOf(oid, row.qr_secret_id)).toBe(qr);
    const audit = await database.queries.selectFrom('audit_log').select(['actor', 'action', 'subject']).execute();
    expect(audit).toEqual([{ actor: 'cli', action: 'qr-secret.rotate', subject: '2' }]);
  });
});

describe('concurrent calls', () => {
  it('share their statements, each with its own answer', async () => {
    const made = await Promise.all(Array.from({ length: 20 }, (_, at) => create({ pointOfSalesCode: `P${at}` })));
    const before = statements();
    const found = await Promise.all(made.map(({ qr }) => status(qr)));
    if (core === 'old') expect(statements() - before).toBeLessThanOrEqual(3);
    expect(found).toEqual(made.map(() => ({ state: states.newItem, receiptId: '' })));
    const scanned = await Promise.all(made.map(({ qr }) => shop.invoices.scan(qr, anybody)));
    expect(scanned.map(({ oid, pointOfSalesCode }) => [oid, pointOfSalesCode])).toEqual(made.map(({ oid }, at) => [oid, `P${at}`]));
    expect(shop.woken()).toHaveLength(20);
  });

  it('of two Get of one invoice one moves it, and both get it', async () => {
    const { oid, qr } = await create();
    const both = await Promise.all([shop.invoices.scan(qr, anybody), shop.invoices.scan(qr, anybody)]);
    expect(both.map(({ state }) => state)).toEqual([states.scanned, states.scanned]);
    expect(await eventRows(database, oid)).toHaveLength(1);
  });

  it('with a long receipt get it whole, beside those with a short one', async () => {
    const long = { ...receipt, Extra: 'x'.repeat(20_000) };
    const [one, other] = await Promise.all([create({ receipt: long }), create()]);
    const [content, short] = await Promise.all([one, other].map(({ qr }) => shop.invoices.scan(qr, anybody)));
    expect([content?.receipt, short?.receipt]).toEqual([JSON.stringify(long), JSON.stringify(receipt)]);
    if (core === 'new') return;
    const statementsOf = async (qr: string) => {
      const before = statements();
      await shop.invoices.scan(qr, anybody);
      return statements() - before;
    };
    // A long one is fetched by itself, so that nobody waits for it.
    expect(await statementsOf(other.qr)).toBeLessThan(await statementsOf(one.qr));
  });
});

describe('overdue invoices', () => {
  it('are ended on request, and automatically from the start to the stop', async () => {
    const made = await Promise.all([create({ validTo: inMs(1_000) }), create({ validTo: inMs(2_000) })]);
    await clock.advance(1_000);
    expect(await shop.invoices.expireOverdue()).toBe(1);
    await shop.invoices.start();
    await clock.advance(10_000);
    for (const { oid } of made) expect((await eventRows(database, oid)).map(({ event }) => event)).toEqual(['Expired']);
    await shop.invoices.stop();
    expect(clock.pending).toBe(0);
  });
});

describe('a step that loses its race', () => {
  const facts = { oid: 'o', merchantId: 'm', callbackUri: null, state: states.newItem, isTimeUp: false } as never;

  it('is retried on the current state, eight times at most', async () => {
    let looks = 0;
    const find = async () => {
      looks += 1;
      return facts;
    };
    expect(await withCurrent({ database: {} } as InvoiceDeps, find, async () => (looks === 8 ? 'moved' : undefined))).toBe('moved');
    looks = 0;
    await expect(withCurrent({ database: {} } as InvoiceDeps, find, async () => undefined)).rejects.toThrow('kept changing');
    expect(looks).toBe(8);
  });

  it('is none for an invoice that is not there', async () => {
    expect(
      await codeOf(
        withCurrent(
          {} as InvoiceDeps,
          async () => undefined,
          async () => 1,
        ),
      ),
    ).toBe(20);
  });

  it('by a trigger that moves nothing is a bug', () => {
    const paid = { state: states.paid, isTimeUp: false } as Facts;
    expect(() => transitionOf(paid, 'expire')).toThrow('No move by expire from Payed.');
    expect(transitionOf({ state: states.newItem, isTimeUp: true }, 'expire')).toMatchObject({ to: states.expired });
  });
});

describe('work whose commit is unclear', () => {
  const failing = (errors: Error[]) => {
    let count = 0;
    return async () => {
      count += 1;
      const error = errors.shift();
      if (error) throw error;
      return count;
    };
  };

  it('is retried once; another failure is thrown at once', async () => {
    const down = () => databaseDown('It is away.');
    expect(await onceMoreIfUnclear(failing([]))).toBe(1);
    expect(await onceMoreIfUnclear(failing([down()]))).toBe(2);
    await expect(onceMoreIfUnclear(failing([down(), down()]))).rejects.toThrow('away');
    const work = failing([new Error('a mistake')]);
    await expect(onceMoreIfUnclear(work)).rejects.toThrow('a mistake');
    expect(await work()).toBe(2);
  });
});

describe('the books beside an invoice', () => {
  it('the board takes a hundred payments of one invoice, each once', async () => {
    const { oid } = await create();
    const put = (receiptId: string, deviceId = 'd') =>
      insertOrphan(database.queries, { oid, merchantId: shop.merchantId }, { receiptId, deviceId }, 'expired');
    expect([await put('0'), await put('0'), await put('0', 'e')]).toEqual(['new', 'known', 'new']);
    for (let count = 1; count <= 98; count += 1) expect(await put(String(count))).toBe('new');
    expect([await put('more'), await put('98'), await put('0', 'e')]).toEqual(['full', 'known', 'known']);
  });

  it('overdue ones are locked in the order of their limit, a bounded number at a time', async () => {
    const made = [];
    for (const ms of [3_000, 1_000, 2_000]) made.push(await create({ validTo: inMs(ms) }));
    await create();
    await clock.advance(2_500);
    const held = await holdOverdueInvoices(database.queries, 'sqlite', 0, 10);
    expect(held).toEqual(
      [made[1], made[2]].map((each) => ({
        oid: each?.oid,
        merchantId: shop.merchantId,
        state: states.newItem,
        callbackUri: template,
        hasPayments: false,
      })),
    );
    expect(await holdOverdueInvoices(database.queries, 'sqlite', 0, 1)).toEqual(held.slice(0, 1));
  });

  it('the history is listed oldest first, with its times', async () => {
    const { oid, qr } = await create();
    await clock.advance(1_000);
    await shop.invoices.scan(qr, anybody);
    await clock.advance(1_000);
    await shop.cancel(oid);
    const events = await listInvoiceEvents(database.queries, oid, 10);
    expect(events).toEqual([
      { atMs: clock.now() - 1_000, event: 'Scanned', detail: { by: 'caller without a key' } },
      { atMs: clock.now(), event: 'Cancelled', detail: expect.any(Object) },
    ]);
    expect(await listInvoiceEvents(database.queries, oid, 1)).toEqual(events.slice(0, 1));
  });
});

it('a callback that could not be written for another reason than its URI fails its move: it must not be left out in silence', () => {
  const broken = () => {
    throw new Error('no entropy');
  };
  const deps = { random: { uuid: broken }, logger: quietLogger } as unknown as Parameters<typeof moveOf>[0];
  const invoice = { oid: 'o', merchantId: 'm', callbackUri: 'http://erp.example/?id=#OID#' };
  expect(() => moveOf(deps, invoice, moveBy('scan'), {})).toThrow('no entropy');
});

it('the log records a missing callback of a moved invoice, and nothing about others', async () => {
  const { oid } = await create();
  await database.queries.updateTable('invoices').set({ callback_uri: 'no address' }).where('oid', '=', oid).execute();
  const invoice = { oid, merchantId: shop.merchantId, callbackUri: 'no address' };
  const logger = recordingLogger();
  let isQuickest = false;
  const moves = { add: async () => isQuickest, waiting: 0 };
  const deps = { database, graceMs: 0, random: seededRandom(1), logger, moves } as unknown as InvoiceDeps;
  const transition = transitionOf({ state: states.scanned, isTimeUp: false }, 'cancel');
  const tell = async () => {
    const told = logger.lines.length;
    await move(deps, invoice, transition, {});
    await writeMove(deps, database.queries, moveOf(deps, invoice, transition, {}));
    return logger.lines.length - told;
  };
  expect(await tell()).toBe(0);
  await database.queries.updateTable('invoices').set({ state: states.scanned, scanned_at: 1 }).execute();
  isQuickest = true;
  expect(await tell()).toBe(2);
  expect(logger.lines[0]).toMatchObject({ level: 'error', fields: { oid, state: 'Cancelled', merchantId: shop.merchantId } });
});
