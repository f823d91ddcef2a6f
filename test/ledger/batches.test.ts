// First commits and settlements that share a commit, on both engines: each has its own guarded outcome, and one that cannot be written hurts
// none of the others. And what a batch that breaks in the middle leaves behind, for the money.
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConstraintViolation } from '../../src/database/errors.ts';
import { createInsertGroup, type InsertedCommand, type InsertGroup } from '../../src/ledger/insert-batch.ts';
import { createSettleGroup, type SettleGroup } from '../../src/ledger/settle-batch.ts';
import { createAcceptances } from '../../src/ledger/settling/acceptance.ts';
import * as store from '../../src/ledger/store.ts';
import { isNewCore } from '../support/core.ts';
import { engines, openTestDatabase, type TestDatabase, untilIdle } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { insertSent, settle, withNumbers } from '../support/ledger-statements.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { until } from '../support/until.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { breakAndRepeat, loseConnection, rush } from './rush.ts';

const startMs = 1_000_000;
const done = { state: 'done', by: 'answer', outcome: 'done', report: '{"a":1}', reason: undefined } as const;

describe.each(engines)('a batch on %s', (engine) => {
  let database: TestDatabase;
  let merchantId: string;
  let inserts: InsertGroup;
  let settlements: SettleGroup;

  beforeEach(async () => {
    database = await openTestDatabase(engine, createVirtualClock(startMs));
    merchantId = (await seedMerchant(database.queries)).id;
    inserts = createInsertGroup(database);
    settlements = createSettleGroup(database);
  });
  afterEach(() => database.close());

  const device = async () => (await seedDevice(database.queries, merchantId)).id;
  const pay = (deviceId: string, overrides: Partial<InsertedCommand> = {}) =>
    withNumbers({
      ...{ id: randomUUID(), merchantId, deviceId, instanceId: 'i', name: 'Pay', args: { amount: 1.5 }, amountBani: 150 },
      ...{ answerWithinMs: 1_000, journalId: 'j', documentNr: randomUUID(), origin: { caller: 'key k', request: '{"a":"ț"}' } },
      ...overrides,
    });
  const close = (deviceId: string, overrides: Partial<InsertedCommand>) =>
    inserts.add(pay(deviceId, { name: 'CloseDoc', amountBani: undefined, ...overrides }));
  const seed = async (overrides: Parameters<typeof seedCommand>[3] = {}) =>
    read((await seedCommand(database.queries, merchantId, await device(), overrides)).id);
  async function read(id: string) {
    const found = await store.findCommand(database.queries, id);
    if (!found) throw new Error('There is no such command.');
    return found;
  }

  async function isSomebodyWaiting(): Promise<boolean> {
    const waiting = sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    return (await waiting.execute(database.queries)).rows.length > 0;
  }

  it('writes each command as a separate statement would', async () => {
    const full = {
      operationId: 'o',
      rrn: 'r',
      contentHash: 'c',
      callbackUri: 'https://a/',
      isOutcomeMissed: true,
      cashBani: 1,
      cardBani: 2,
    };
    const fresh = [pay(await device()), pay(await device(), full), pay(await device(), { documentNr: undefined, journalId: undefined })];
    const together = await Promise.all(fresh.map((command) => inserts.add(command)));
    // What is told is put together from what was given: it must be what stands there.
    for (const [at, { id }] of fresh.entries()) expect(await read(id)).toEqual(together[at]);
    const alike = fresh.map((command) => ({ ...command, claims: {}, id: randomUUID(), documentNr: command.documentNr && randomUUID() }));
    for (const [at, command] of alike.entries()) {
      await database.queries.updateTable('commands').set({ state: 'never', settled_at: 1, settled_by: 'gateway' }).execute();
      await database.queries.updateTable('device_locks').set({ command_id: null }).execute();
      const alone = await insertSent(database, command);
      expect(together[at]).toEqual({ ...alone, id: fresh[at]?.id, documentNr: fresh[at]?.documentNr ?? null });
    }
    expect(together[0]).toMatchObject({ issuedAtMs: startMs, answerByMs: startMs + 1_000, state: 'sent' });
    const origins = await database.queries.selectFrom('commands').select(['caller', 'request']).distinct().execute();
    expect(origins).toEqual([{ caller: 'key k', request: '{"a":"ț"}' }]);
  });

  it('leaves out the command that another row blocks, and no other', async () => {
    const [held, documentNr, removedNr] = [await device(), randomUUID(), randomUUID()];
    const open = { state: 'done', document_state: 'open', settled_at: 1, settled_by: 'answer' } as const;
    const refused = { state: 'refused', settled_at: 1, settled_by: 'answer' } as const;
    await seedCommand(database.queries, merchantId, held, open);
    await seed({ ...open, document_nr: documentNr, document_state: 'closed' });
    await seed({ ...refused, document_nr: removedNr, removed_at: 1 });
    const outcomes = await Promise.all([
      inserts.add(pay(await device())),
      inserts.add(pay(held)),
      inserts.add(pay(await device(), { documentNr })),
      inserts.add(pay(await device(), { documentNr: removedNr })),
      inserts.add(pay(await device())),
    ]);
    expect(outcomes.map((command) => command?.state)).toEqual(['sent', undefined, undefined, undefined, 'sent']);
  });

  it('closes only a document that is open', async () => {
    const open = { state: 'done', settled_at: 1, settled_by: 'answer' } as const;
    const payments = [await seed({ ...open, document_state: 'open' }), await seed({ ...open, document_state: 'closed' })];
    const closes = payments.map(({ id, deviceId }) => close(deviceId, { targetId: id, beside: 'its open document' }));
    expect((await Promise.all(closes)).map((command) => command?.state)).toEqual(['sent', undefined]);
  });

  it('finds its open payment, by its number on its terminal, and nothing else', async () => {
    const paid = { name: 'Pay', state: 'done', settled_at: 1, settled_by: 'answer', operation_id: '7' } as const;
    const others: Parameters<typeof seedCommand>[3][] = [
      { document_state: 'closed' },
      { document_state: 'voided' },
      { document_state: 'open', operation_id: '8' },
      { document_state: null, state: 'unknown', settled_at: null, settled_by: null },
      { document_state: null, state: 'refused' },
    ];
    const add = ({ deviceId, documentNr }: { deviceId: string; documentNr: string | null }, overrides: Partial<InsertedCommand> = {}) =>
      close(deviceId, { documentNr: documentNr ?? '', operationId: '7', beside: 'the document it names', ...overrides });
    const open = await seed({ ...paid, document_state: 'open', document_nr: randomUUID() });
    const strangers = await Promise.all(others.map((other) => seed({ ...paid, document_nr: randomUUID(), ...other })));
    const foreign = await add(open, { merchantId: (await seedMerchant(database.queries)).id });
    expect([foreign, await add(open, { deviceId: await device() })]).toEqual([undefined, undefined]);
    const outcomes = await Promise.all([...strangers, open].map((payment) => add(payment)));
    expect(outcomes.map((command) => command?.targetId)).toEqual([...others.map(() => undefined), open.id]);
    expect(await add(open)).toBeUndefined();
  });

  it('separates two of one device, one document or one command: the second waits, and loses', async () => {
    const [first, second, documentNr] = [await device(), await device(), randomUUID()];
    const outcomes = await Promise.all([
      inserts.add(pay(first)),
      inserts.add(pay(first)),
      inserts.add(pay(second, { documentNr })),
      inserts.add(pay(await device(), { documentNr })),
    ]);
    expect(outcomes.map((command) => command?.state)).toEqual(['sent', undefined, 'sent', undefined]);
    const command = await seed();
    const settled = await Promise.all(
      ['a', 'b'].map((reason) => settlements.add({ command, settlement: { ...done, state: 'refused', reason } })),
    );
    expect(settled.map((each) => each?.reason)).toEqual(['a', undefined]);
  });

  it('fails a bad row alone', async () => {
    const devices = await Promise.all(Array.from({ length: 5 }, device));
    const fresh = devices.map((deviceId, at) => pay(deviceId, at === 3 ? { amountBani: -1 } : {}));
    const outcomes = await Promise.allSettled(fresh.map((command) => inserts.add(command)));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[3]).toMatchObject({ reason: expect.any(ConstraintViolation) });
    const commands = await Promise.all([0, 1, 2, 4].map((at) => read(fresh[at]?.id ?? '')));
    // Only a Pay that is done has a document.
    const settled = await Promise.allSettled(
      commands.map((command, at) =>
        settlements.add({
          command,
          settlement: { ...done, state: at === 2 ? ('odd' as 'done') : 'done' },
        }),
      ),
    );
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect((await read(commands[2]?.id ?? '')).state).toBe('sent');
    expect((await read(commands[3]?.id ?? '')).documentState).toBe('open');
  });

  it.each([
    ['done, with all that it says', { ...done, operationId: 'o', rrn: 'r', receiptId: 'x', wasAccepted: true }],
    ['refused, though it would have opened a document', { ...done, state: 'refused', reason: 'no' }],
    ['never begun', { ...done, state: 'never', outcome: 'never', report: undefined }],
  ] as const)('settles as a statement of its own would: %s', async (_name, settlement) => {
    for (const overrides of [
      {},
      { state: 'unknown', review_since: 5, review_reason: 'why', next_recall_at: 7, operation_id: 'q' },
    ] as const) {
      const [one, other, accepted] = [await seed(overrides), await seed(overrides), await seed({ ...overrides, accepted_at: 3 })];
      const add = (command: typeof one) => settlements.add({ command, settlement });
      const [, together, ofAccepted] = await Promise.all([add(await seed(overrides)), add(one), add(accepted)]);
      const alone = await settle(database, other, settlement);
      expect(together).toEqual({ ...alone, id: one.id, deviceId: one.deviceId });
      expect(await read(one.id)).toEqual(together);
      expect(together?.state).toBe(settlement.state);
      expect(ofAccepted?.state).toBe(settlement.state === 'never' ? undefined : settlement.state);
      expect(await add(one)).toBeUndefined();
    }
  });

  it('returns the command as it is now, although it was settled from an older state: taken over, recalled, accepted, on the review list', async () => {
    const known = await seed();
    const meanwhile = {
      instance_id: 'other',
      recalls: 4,
      outcome_missed_at: 8,
      accepted_at: 9,
      abort_requested_at: 10,
      notice_sequence: 2,
    };
    await database.queries
      .updateTable('commands')
      .set({ ...meanwhile, state: 'unknown', review_since: 11, review_reason: 'why', ended_unknown_at: 12 })
      .where('id', '=', known.id)
      .execute();
    const settled = await settlements.add({
      command: known,
      settlement: { ...done, operationId: 'o' },
    });
    expect(settled).toMatchObject({ instanceId: 'other', recalls: 4, state: 'done', operationId: 'o' });
    expect(settled).toEqual(await read(known.id));
  });

  it('closes the document of what is done in the same commit, and of nothing else', async () => {
    const payments = await Promise.all(
      Array.from({ length: 4 }, () => seed({ state: 'done', document_state: 'open', settled_at: 1, settled_by: 'answer' })),
    );
    const closes = await Promise.all(
      payments.map(async ({ id, deviceId }) => {
        const close = await seedCommand(database.queries, merchantId, deviceId, { name: 'CloseDoc', target_id: id, amount_bani: null });
        return read(close.id);
      }),
    );
    await settle(database, closes[3] as (typeof closes)[number], { ...done, state: 'refused' });
    const states = ['done', 'refused', 'done', 'done'] as const;
    const settled = await Promise.all(
      closes.map((command, at) => settlements.add({ command, settlement: { ...done, state: states[at] ?? 'done' } })),
    );
    expect(settled.map((command) => command?.state)).toEqual(['done', 'refused', 'done', undefined]);
    const after = await Promise.all(payments.map(({ id }) => read(id)));
    expect(after.map(({ documentState, outcomeReceivedAtMs }) => [documentState, outcomeReceivedAtMs])).toEqual([
      ['closed', startMs],
      ['open', null],
      ['closed', startMs],
      ['open', null],
    ]);
    const locks = await database.queries.selectFrom('device_locks').select(['command_id', 'document_id']).execute();
    expect(locks.filter(({ document_id }) => document_id !== null).map(({ document_id }) => document_id)).toEqual(
      expect.arrayContaining([payments[1]?.id, payments[3]?.id]),
    );
    expect(locks.filter(({ command_id, document_id }) => command_id === null && document_id === null)).toHaveLength(2);
  });

  // A file of SQLite serves one gateway.
  if (engine === 'postgres') {
    it.each(['knows', 'finds'])(
      'closes no document a second time that another gateway is just closing, if it %s its payment',
      async (how) => {
        const other = new pg.Client({ connectionString: database.place.url });
        await other.connect();
        const documentNr = randomUUID();
        const paid = { document_nr: documentNr, operation_id: '7', settled_at: 1, settled_by: 'answer' } as const;
        const { deviceId, id: targetId } = await seed({ ...paid, state: 'done', document_state: 'open' });
        const first = await seedCommand(database.queries, merchantId, deviceId, {
          name: 'CloseDoc',
          target_id: targetId,
          amount_bani: null,
        });
        await other.query('begin');
        await other.query("update commands set state = 'done', settled_at = 1, settled_by = 'answer' where id = $1", [first.id]);
        await other.query("update commands set document_state = 'closed' where id = $1", [targetId]);
        await other.query('update device_locks set command_id = null, document_id = null where device_id = $1', [deviceId]);
        const target =
          how === 'knows'
            ? ({ targetId, beside: 'its open document' } as const)
            : ({ documentNr, operationId: '7', beside: 'the document it names' } as const);
        expect(await close(deviceId, target)).toBeUndefined();
        await other.query('commit');
        await other.end();
        expect(await close(deviceId, target)).toBeUndefined();
      },
    );

    it('delays no other command when another gateway holds one of its rows', async () => {
      const other = new pg.Client({ connectionString: database.place.url });
      await other.connect();
      const [held, free] = [await seed(), await seed()];
      await other.query('begin');
      await other.query('update commands set recalls = 1 where id = $1', [held.id]);
      const add = (command: typeof held) => settlements.add({ command, settlement: { ...done, state: 'refused' } });
      const order: string[] = [];
      const both = [
        add(held).then(() => order.push('held')),
        add(await seed()).then(() => order.push('other')),
        add(free).then(() => order.push('free')),
      ];
      await Promise.all(both.slice(1));
      expect(order).not.toContain('held');
      await other.query('commit');
      await Promise.all(both);
      expect((await read(held.id)).state).toBe('refused');
      await other.end();
    });

    it('is not blocked by acceptances of devices: they skip a row that it holds, and then wait for it alone', async () => {
      const [held, free] = [await seed(), await seed()];
      const clock = createVirtualClock(startMs, { settle: () => untilIdle(database) });
      const acceptances = createAcceptances({ database, clock, logger: quietLogger, onSettledAsNever: async () => {} });
      const other = new pg.Client({ connectionString: database.place.url });
      await other.connect();
      await other.query('begin');
      await other.query('update commands set recalls = 1 where id = $1', [held.id]);
      const quick = await seed();
      for (const { id } of [free, held, quick]) acceptances.note(id);
      // Before its never is believed, and although another's row is held.
      await acceptances.flush(quick.id);
      expect((await read(quick.id)).acceptedAtMs).toBe(startMs);
      await clock.advance(250);
      expect((await read(free.id)).acceptedAtMs).toBe(startMs);
      // Whoever holds the one can have the other: nobody waits for him with that in his hands.
      await other.query("set local lock_timeout = '1s'");
      await other.query('update commands set recalls = 1 where id = $1', [free.id]);
      const flushed = acceptances.flush(held.id);
      await until(isSomebodyWaiting);
      await other.query('commit');
      await flushed;
      expect((await read(held.id)).acceptedAtMs).toBe(startMs);
      await other.end();
    });
  }
});

describe('a batch that breaks', () => {
  const isInsert = (sql: string) => sql.includes('insert into "commands"');
  const isSettlement = (sql: string) => sql.includes(isNewCore ? 'update "commands"' : 'update "commands" set "settled_at"');

  it.each(['before', 'after'] as const)('%s its commit sends nothing, and repeating charges each once', (when) =>
    breakAndRepeat(when, ({ sql }) => isInsert(sql)),
  );

  it('while settling leaves every outcome to be committed again, whether or not the commit was made', async () => {
    for (const when of ['before', 'after'] as const) {
      const { world, payAll, charges } = await rush();
      loseConnection(world, { when, at: 2, isStep: ({ sql }) => isSettlement(sql) });
      const codes = (await payAll()).map(({ code }) => code);
      expect(codes).toContain(3);
      await world.clock.advance(120_000);
      expect(new Set((await world.commands()).map(({ state }) => state))).toEqual(new Set(['done']));
      expect((await payAll()).map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0]);
      expect(charges()).toEqual([1, 1, 1, 1, 1, 1]);
      expect(await world.ledger.listReview(10)).toEqual([]);
      await world.stop();
    }
  });

  it('because its process dies leaves rows that were never sent, and the next process ends them', async () => {
    const { world, payAll, charges } = await rush();
    let batches = 0;
    world.hook = (step) => {
      if (!isInsert(step.sql) || step.when === 'before' || ++batches !== 3) return undefined;
      void world.crash();
      return 'hang';
    };
    void payAll().catch(() => {});
    await world.clock.advance(1_000);
    world.hook = () => undefined;
    await world.restart();
    await world.clock.advance(120_000);
    const states = (await world.commands()).map(({ state }) => state);
    expect(states).toContain('never');
    expect(charges().reduce((sum, count) => sum + count)).toBe(states.filter((state) => state === 'done').length);
    expect((await payAll()).map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(charges()).toEqual([1, 1, 1, 1, 1, 1]);
  });
});
