// Creates, looks and moves that share a statement, on both engines: each has its own outcome, and one that cannot be written hurts none of the
// others. And what a batch that breaks in the middle leaves behind.
import { randomUUID } from 'node:crypto';
import { type KyselyPlugin, sql } from 'kysely';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { ConstraintViolation, databaseDown } from '../../src/database/errors.ts';
import { createInvoiceInserts } from '../../src/invoices/insert-batch.ts';
import { createMoveGroup, type Move, moveInvoices } from '../../src/invoices/move-batch.ts';
import { states, transitions } from '../../src/invoices/rules.ts';
import { core } from '../support/core.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { longHost } from '../support/long-host.ts';
import { until } from '../support/until.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { anybody, callbackRows, codeOf, countStatements, eventRows, openShop, receipt, type Shop, template, toldUrl } from './shop.ts';

const startMs = 1_000_000;
const scan = transitions.find(({ trigger, from, to }) => trigger === 'scan' && from !== to) ?? ({} as never);
const pay = transitions.find(({ trigger, from, to }) => trigger === 'pay' && from !== to) ?? ({} as never);
const twenty = Array.from({ length: 20 }, (_, at) => at);

describe.each(engines)('a batch of invoices on %s', (engine) => {
  let database: TestDatabase;
  let shop: Shop;

  beforeEach(async () => {
    const clock = createVirtualClock(startMs);
    database = await openTestDatabase(engine, clock);
    shop = await openShop(database, { clock });
    await shop.invoices.start();
  });
  afterEach(async () => {
    await shop.invoices.stop();
    await database.close();
  });

  const create = (more: object = {}, { invoices, merchantId } = shop) =>
    invoices.create({ merchantId, receipt, callbackUri: template, ...more });
  const stateOf = async (qr: string) => (await shop.invoices.status(qr, anybody)).state;
  const groupOf = (of: Database = database) => {
    const woken: string[] = [];
    const group = createMoveGroup({
      database: of,
      graceMs: 0,
      callbacks: { wake: (written) => woken.push(...written.map(({ host }) => host)) },
    });
    return { group, woken };
  };
  const moveOf = (oid: string, more: Partial<Move> = {}): Move => ({
    ...{ oid, transition: scan, detail: { by: oid }, payment: undefined },
    callback: { id: randomUUID(), merchantId: shop.merchantId, url: `http://erp/${oid}`, host: 'erp', traceparent: null },
    ...more,
  });

  it('of Create, Status, Get and Payd takes few statements, and each call gets what is its own', async () => {
    const { watched, count } = countStatements(database);
    const quick = await openShop(watched, { clock: createVirtualClock(startMs), seed: 5 });
    await quick.invoices.start();
    const cost = async <Result>(calls: () => Promise<Result>[]): Promise<[Result[], number]> => {
      const before = count();
      return [await Promise.all(calls()), count() - before];
    };
    const numbered = (at: number) => ({ ...receipt, Number: `N-${at}` });
    const [made, creating] = await cost(() => twenty.map((at) => create({ receipt: numbered(at) }, quick)));
    const [asked, asking] = await cost(() => made.map(({ qr }) => quick.invoices.status(qr, anybody)));
    const [seen, scanning] = await cost(() => made.map(({ qr }) => quick.invoices.scan(qr, { merchantId: quick.merchantId, name: qr })));
    const payment = (at: number) => ({ receiptId: `F-${at}`, deviceId: quick.deviceId });
    const [, paying] = await cost(() => made.map(({ qr }, at) => quick.invoices.pay(qr, payment(at), anybody)));
    await quick.invoices.stop();

    expect(new Set(asked.map(({ state }) => state))).toEqual(new Set([states.newItem]));
    for (const [at, { oid, qr }] of made.entries()) {
      expect(JSON.parse(seen[at]?.receipt ?? '')).toEqual(numbered(at));
      expect(seen[at]).toMatchObject({ oid, state: states.scanned });
      expect(await shop.invoices.status(qr, anybody)).toEqual({ state: states.paid, receiptId: `F-${at}` });
      expect(await eventRows(database, oid)).toEqual([
        { event: 'Scanned', detail: { by: qr } },
        { event: 'Payed', detail: { by: 'caller without a key', ...payment(at) } },
      ]);
      const told = await callbackRows(database, oid);
      expect(told.map(({ url, sequence }) => [sequence, url])).toEqual([
        [1, toldUrl(oid, 'Scanned')],
        [2, toldUrl(oid, 'Payed', `F-${at}`, quick.deviceId)],
      ]);
      expect(told[0]).toMatchObject({ merchant_id: quick.merchantId, subject_kind: 'invoice', state: 'pending', attempts: 0 });
    }
    // They came in one moment: one trip for all, and a second where some were a step behind.
    if (core === 'old') expect(Math.max(creating, asking, scanning, paying)).toBeLessThanOrEqual(2);
  });

  it('tells who asks within which merchant apart, though they ask for one invoice', async () => {
    const { qr } = await create();
    const within = (merchantId: string | undefined) => codeOf(shop.invoices.status(qr, { merchantId, name: 'key' }));
    const codes = await Promise.all([shop.merchantId, undefined, shop.otherMerchantId, shop.merchantId].map(within));
    expect(codes).toEqual([0, 0, 20, 0]);
    await shop.invoices.scan(qr, anybody);
    const payWith = (deviceId: string) => codeOf(shop.invoices.pay(qr, { receiptId: 'F-1', deviceId }, anybody));
    expect(await Promise.all([shop.foreignDeviceId, shop.deviceId, randomUUID()].map(payWith))).toEqual([20, 0, 20]);
  });

  it('leaves out the Create whose limit has passed, and no other', async () => {
    const past = new Date(startMs - 1).toISOString();
    const future = new Date(startMs + 1).toISOString();
    const limits = [undefined, past, future, past, undefined];
    expect(await Promise.all(limits.map((validTo) => codeOf(create({ validTo }))))).toEqual([0, 40, 0, 40, 0]);
    expect(await database.queries.selectFrom('invoices').select('oid').execute()).toHaveLength(3);
  });

  it('fails a bad row alone', async () => {
    const insert = createInvoiceInserts(database);
    const fresh = (merchantId: string | null) => ({
      ...{
        oid: randomUUID(),
        merchantId: merchantId as string,
        qrSecretId: 1,
        receipt: '{}',
        amountBani: 1,
        callbackUri: null,
        validToMs: null,
      },
      ...{ pointOfSalesCode: null, preferredDeviceId: null },
    });
    const merchants = [shop.merchantId, shop.merchantId, null, shop.otherMerchantId];
    const outcomes = await Promise.allSettled(merchants.map((merchantId) => insert(fresh(merchantId))));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[2]).toMatchObject({ reason: expect.any(ConstraintViolation) });

    const made = await Promise.all(twenty.slice(0, 4).map(() => create()));
    const { group, woken } = groupOf();
    await Promise.all(made.map(({ oid }) => group.add(moveOf(oid))));
    const paidBy = [shop.deviceId, shop.deviceId, shop.deviceId, null] as string[];
    const paid = await Promise.allSettled(
      made.map(({ oid }, at) => group.add(moveOf(oid, { transition: pay, payment: { receiptId: 'F', deviceId: paidBy[at] as string } }))),
    );
    expect(paid.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected']);
    expect(await Promise.all(made.map(({ qr }) => stateOf(qr)))).toEqual([2, 2, 2, 1]);
    for (const [at, { oid }] of made.entries()) expect(await callbackRows(database, oid)).toHaveLength(at === 3 ? 1 : 2);
    expect(woken).toHaveLength(7);
  });

  it('of which one row is too large for an index of PostgreSQL moves all the others', async () => {
    const made = await Promise.all(twenty.slice(0, 4).map(() => create()));
    const { group } = groupOf();
    const host = new URL(`http://${longHost}`).host;
    const tooLarge = { id: randomUUID(), merchantId: shop.merchantId, url: `http://${host}/`, host, traceparent: null };
    const moves = made.map(({ oid }, at) => group.add(moveOf(oid, at === 1 ? { callback: tooLarge } : {})));
    const moved = (await Promise.allSettled(moves)).map(({ status }) => status === 'fulfilled');
    expect(moved).toEqual([true, engine === 'sqlite', true, true]);
    expect(await Promise.all(made.map(({ qr }) => stateOf(qr)))).toEqual(moved.map(Number));
  });

  it('moves one invoice once: the second waits, and finds that it has moved', async () => {
    const [first, second, third] = [await create(), await create(), await create()];
    const { group, woken } = groupOf();
    // Of two callbacks with one number the database would refuse the second; a move without one has only its own guard.
    const untold = () => moveOf(third.oid, { callback: undefined });
    const moves = [moveOf(first.oid), moveOf(second.oid), untold(), untold()];
    expect(await Promise.all(moves.map((move) => group.add(move)))).toEqual([true, true, true, false]);
    expect(await group.add(moveOf(first.oid))).toBe(false);
    for (const { oid } of [first, third]) expect(await eventRows(database, oid)).toHaveLength(1);
    expect(woken).toEqual(['erp', 'erp']);
  });

  it('writes history and callback only for what has moved', async () => {
    const [late, good] = [await create({ validTo: new Date(startMs + 5).toISOString() }), await create({ callbackUri: undefined })];
    database.shiftClock(10);
    const { group } = groupOf();
    const moves = [moveOf(late.oid), moveOf(good.oid, { callback: undefined }), moveOf(randomUUID())];
    expect(await Promise.all(moves.map((move) => group.add(move)))).toEqual([false, true, false]);
    expect([await eventRows(database, late.oid), await callbackRows(database, late.oid)]).toEqual([[], []]);
    expect(await eventRows(database, good.oid)).toEqual([{ event: 'Scanned', detail: { by: good.oid } }]);
    expect(await database.queries.selectFrom('callbacks').select('id').execute()).toEqual([]);

    const next = await create();
    const both = [moveOf(late.oid), moveOf(next.oid)];
    const moved = database.transaction((queries) => moveInvoices(engine, queries, 0, both, 'statement'));
    expect(await moved).toEqual([false, true]);
    expect([await eventRows(database, late.oid), await callbackRows(database, late.oid)]).toEqual([[], []]);
    expect([(await eventRows(database, next.oid)).length, (await callbackRows(database, next.oid)).length]).toEqual([1, 1]);
  });

  it('lets a payment and nothing else make an invoice paid', async () => {
    const { oid, qr } = await create();
    await shop.invoices.scan(qr, anybody);
    const { group } = groupOf();
    const payment = { receiptId: 'F-1', deviceId: shop.deviceId };
    const again = transitions.find(({ condition }) => condition === 'same-payment') ?? ({} as never);
    await expect(group.add(moveOf(oid, { transition: pay }))).rejects.toThrow('A move to paid needs a payment');
    await expect(group.add(moveOf(oid, { payment }))).rejects.toThrow('A move to paid needs a payment');
    await expect(group.add(moveOf(oid, { transition: again, payment }))).rejects.toThrow('an earlier payment');
    expect(await stateOf(qr)).toBe(states.scanned);
    expect(await group.add(moveOf(oid, { transition: pay, payment }))).toBe(true);
  });

  it('carries a long receipt and an odd address unharmed, in a statement of its own', async () => {
    const long = { ...receipt, Extra: 'ț'.repeat(40_000) };
    const odd = `${template}&odd=\ud800`;
    const made = await Promise.all([create(), create({ receipt: long }), create({ callbackUri: odd }), create({ receipt: long })]);
    const seen = await Promise.all(made.map(({ qr }) => shop.invoices.scan(qr, anybody)));
    expect(seen.map((each) => JSON.parse(each.receipt))).toEqual([receipt, long, receipt, long]);
    expect((await callbackRows(database, made[2]?.oid ?? '')).map(({ url }) => url)).toEqual([
      `${toldUrl(made[2]?.oid ?? '', 'Scanned')}&odd=%EF%BF%BD`,
    ]);
  });

  it('whose answer is lost is read again by each call: nothing happens twice, and no caller gets a wrong answer', async () => {
    const lost = losingAnswers(database);
    const careful = await openShop(lost.database, { clock: createVirtualClock(startMs), seed: 11 });
    await careful.invoices.start();
    lost.loseNext('insert into "invoices"');
    const made = await Promise.all(twenty.map(() => create({}, careful)));
    expect(lost.isDone()).toBe(true);
    expect(new Set(made.map(({ oid }) => oid)).size).toBe(20);
    lost.loseNext('update "invoices"');
    await Promise.all(made.map(({ qr }) => careful.invoices.scan(qr, anybody)));
    expect(lost.isDone()).toBe(true);
    lost.loseNext('update "invoices"');
    await Promise.all(made.map(({ qr }) => careful.invoices.pay(qr, { receiptId: 'F', deviceId: careful.deviceId }, anybody)));
    await careful.invoices.stop();
    expect(lost.isDone()).toBe(true);
    for (const { oid, qr } of made) {
      expect(await stateOf(qr)).toBe(states.paid);
      expect((await callbackRows(database, oid)).map(({ sequence }) => sequence)).toEqual([1, 2]);
      expect((await eventRows(database, oid)).map(({ event }) => event)).toEqual(['Scanned', 'Payed']);
    }
  });

  it('that cannot be written is answered as written to no caller', async () => {
    const broken = losingAnswers(database);
    const unlucky = await openShop(broken.database, { clock: createVirtualClock(startMs), seed: 12 });
    await unlucky.invoices.start();
    const made = await Promise.all(twenty.map(() => create({}, unlucky)));
    const pays = () => made.map(({ qr }) => codeOf(unlucky.invoices.scan(qr, anybody)));
    broken.refuse('insert into "invoices"');
    expect(await Promise.all(twenty.map(() => codeOf(create({}, unlucky))))).toEqual(twenty.map(() => 2));
    broken.refuse('update "invoices"');
    expect(await Promise.all(pays())).toEqual(twenty.map(() => 2));
    expect(await database.queries.selectFrom('callbacks').select('id').execute()).toEqual([]);
    broken.refuse(undefined);
    expect(await Promise.all(pays())).toEqual(twenty.map(() => 0));
    await unlucky.invoices.stop();
    expect(await database.queries.selectFrom('invoices').select('oid').execute()).toHaveLength(20);
    expect(await database.queries.selectFrom('callbacks').select('id').execute()).toHaveLength(20);
  });

  it('is not needed to tell what was scanned and paid before, while the database can only be read', async () => {
    const broken = losingAnswers(database);
    const standby = await openShop(broken.database, { clock: createVirtualClock(startMs), seed: 13 });
    await standby.invoices.start();
    const [scanned, paid] = [await create({}, standby), await create({}, standby)];
    const payment = { receiptId: 'F-1', deviceId: standby.deviceId };
    for (const { qr } of [scanned, paid]) await standby.invoices.scan(qr, anybody);
    await standby.invoices.pay(paid.qr, payment, anybody);
    broken.refuse('update "invoices"');
    expect((await standby.invoices.scan(scanned.qr, anybody)).oid).toBe(scanned.oid);
    expect(await codeOf(standby.invoices.pay(paid.qr, payment, anybody))).toBe(0);
    expect(await codeOf(standby.invoices.pay(scanned.qr, payment, anybody))).toBe(2);
    await standby.invoices.stop();
    expect(await stateOf(scanned.qr)).toBe(states.scanned);
  });

  // A file of SQLite serves one gateway.
  if (engine === 'postgres') {
    it('is not kept by an invoice that another transaction holds', async () => {
      const made = await Promise.all(twenty.slice(0, 4).map(() => create()));
      const holder = new pg.Client({ connectionString: database.place.url });
      await holder.connect();
      await holder.query('begin');
      await holder.query('select 1 from invoices where oid = $1 for update', [made[1]?.oid]);
      const { group } = groupOf();
      const moves = made.map(({ oid }) => group.add(moveOf(oid)));
      expect(await Promise.all([moves[0], moves[2], moves[3]])).toEqual([true, true, true]);
      const waiting = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await until(async () => (await waiting.execute(database.queries)).rows.length > 0);
      await holder.query('commit');
      expect(await moves[1]).toBe(true);
      await holder.end();
    });
  }
});

/** The same database; the answer to the next commit of a statement with a text is lost, or every such statement is refused. */
function losingAnswers(database: TestDatabase) {
  let lost: string | undefined;
  let refused: string | undefined;
  let isFoundInTransaction = false;
  const lose = () => {
    lost = undefined;
    throw databaseDown('The connection was lost.');
  };
  const watching = (within: 'alone' | 'transaction'): KyselyPlugin => {
    const found = new WeakSet<object>();
    return {
      transformQuery({ node, queryId }) {
        const { sql: text } = database.queries.getExecutor().compileQuery(node, queryId);
        if (refused !== undefined && text.includes(refused)) throw databaseDown('The database is away.');
        if (lost !== undefined && text.includes(lost)) {
          found.add(queryId);
          isFoundInTransaction = within === 'transaction';
        }
        return node;
      },
      async transformResult({ queryId, result }) {
        return found.has(queryId) && within === 'alone' ? lose() : result;
      },
    };
  };
  const { inOneGo } = database;
  const watched: Database = {
    ...database,
    queries: database.queries.withPlugin(watching('alone')),
    async transaction(work) {
      isFoundInTransaction = false;
      const result = await database.transaction((queries) => work(queries.withPlugin(watching('transaction'))));
      return isFoundInTransaction && lost !== undefined ? lose() : result;
    },
    async inOneGo(statements) {
      const has = (text: string | undefined) => text !== undefined && statements.some((statement) => statement.sql.includes(text));
      if (has(refused)) throw databaseDown('The database is away.');
      const results = await inOneGo(statements);
      return has(lost) ? lose() : results;
    },
  };
  return {
    database: watched,
    loseNext(text: string) {
      lost = text;
    },
    refuse(text: string | undefined) {
      refused = text;
    },
    /** All that were to be lost were. */
    isDone: () => lost === undefined,
  };
}
