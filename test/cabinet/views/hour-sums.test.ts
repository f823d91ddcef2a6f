// Past hours are summed once and stored; later changes of an hour are still included.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createHourKeeper } from '../../../src/cabinet/overview/hour-keeper.ts';
import { addUp, hourMs, readFigures } from '../../../src/cabinet/views/figures/hour-figures.ts';
import { createHourSums, type HourSums, sumIdleHours } from '../../../src/cabinet/views/figures/hour-sums.ts';
import { modesOf } from '../../../src/cabinet/views/figures/overview-figures.ts';
import { engines, memoryDatabase, openQuickDatabase, type TestDatabase } from '../../support/engines.ts';
import { recordSeeded, seedCommand, seedDevice, seedInvoice, seedMerchant } from '../../support/fixtures.ts';
import { quietLogger } from '../../support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';
import { fillLedger, startMs as monthStartMs } from './ledger-of-a-month.ts';

const noonMs = Date.UTC(2026, 10, 12, 12);
/** The hour under test: three hours before noon. */
const hour = noonMs - 3 * hourMs;

describe.each(engines)('sums of hours on %s', (engine) => {
  let clock: VirtualClock;
  let database: TestDatabase;
  let sums: HourSums;
  let merchantId: string;
  let terminal: string;
  beforeEach(async () => {
    clock = createVirtualClock(noonMs);
    database = await openQuickDatabase(engine, clock);
    sums = createHourSums();
    merchantId = (await seedMerchant(database.queries)).id;
    terminal = (await seedDevice(database.queries, merchantId)).id;
  });
  afterEach(() => database.close());

  const answered = (atMs: number) => ({ issued_at: atMs, answer_by: atMs, settled_at: atMs + 900, settled_by: 'answer' as const });
  const pay = (row: Parameters<typeof seedCommand>[3] = {}) =>
    seedCommand(database.queries, merchantId, terminal, {
      state: 'done',
      document_state: 'closed',
      amount_bani: 1_000,
      ...answered(hour + 60_000),
      ...row,
    });
  const read = async (scope: string | undefined = merchantId, book = sums) => {
    const hours = await book.read(database, { merchantId: scope }, hour, hour + hourMs, clock.now());
    return modesOf(hours);
  };
  const cards = async (scope?: string) => (await read(scope)).card;
  const spoil = () =>
    database.queries
      .updateTable('hour_sums')
      .set({ figures: JSON.stringify(addUp([])) })
      .execute();

  it('are stored: a second read reads no commands, in any scope and any process', async () => {
    await pay();
    expect(await cards()).toEqual({ count: 1, amount: 10 });
    await spoil();
    expect(await cards()).toEqual({ count: 0, amount: 0 });
    expect((await read(undefined)).card.count, 'the sum of all merchants was kept with it').toBe(0);
    expect((await read(merchantId, createHourSums())).card.count, 'by another process too').toBe(0);
  });

  it('of the current or just ended hour are computed each time', async () => {
    const thisHour = noonMs + hourMs / 2;
    await clock.advance(hourMs / 2 + 10 * 60_000);
    const live = async () => modesOf(await sums.read(database, { merchantId }, noonMs, clock.now(), clock.now())).card.count;
    expect(await live()).toBe(0);
    await pay(answered(thisHour));
    expect(await live()).toBe(1);
    expect(await database.queries.selectFrom('hour_sums').select('start_ms').execute()).toEqual([]);
  });

  it('are zero for merchants without operations, and separate from others', async () => {
    await pay();
    const other = (await seedMerchant(database.queries)).id;
    expect(await cards(other)).toEqual({ count: 0, amount: 0 });
    expect(await cards()).toEqual({ count: 1, amount: 10 });
    expect(await cards(other)).toEqual({ count: 0, amount: 0 });
  });

  it('include a payment that is settled long after its hour was summed', async () => {
    const { id } = await pay({ state: 'unknown', document_state: null, settled_at: null, settled_by: null });
    expect((await cards()).count).toBe(0);
    await clock.advance(5 * 60_000);
    const late = { state: 'done', document_state: 'closed', settled_at: clock.now(), settled_by: 'person' } as const;
    await database.queries.updateTable('commands').set(late).where('id', '=', id).execute();
    await recordSeeded(database.queries);
    expect(await cards()).toEqual({ count: 1, amount: 10 });
    // Stored again, finally.
    await clock.advance(5 * 60_000);
    expect((await cards()).count).toBe(1);
    await spoil();
    expect((await cards()).count).toBe(0);
  });

  it('include a payment that was settled before the sum and became visible after it', async () => {
    const { id } = await pay({ state: 'unknown', document_state: null, settled_at: null, settled_by: null });
    expect((await cards()).count).toBe(0);
    await clock.advance(1_000);
    const late = { state: 'done', document_state: 'closed', settled_at: clock.now() - 20_000, settled_by: 'person' } as const;
    await database.queries.updateTable('commands').set(late).where('id', '=', id).execute();
    await recordSeeded(database.queries);
    expect((await cards()).count).toBe(1);
  });

  it('include a void hours later, in other processes too', async () => {
    const { id } = await pay();
    expect((await cards()).count).toBe(1);
    const other = createHourSums();
    expect((await read(merchantId, other)).card.count).toBe(1);
    await clock.advance(60_000);
    await database.queries.updateTable('commands').set({ document_state: 'voided' }).where('id', '=', id).execute();
    await seedCommand(database.queries, merchantId, terminal, {
      name: 'CancelTransaction',
      state: 'done',
      target_id: id,
      ...answered(clock.now()),
    });
    expect((await cards()).count).toBe(0);
    await clock.advance(10 * 60_000);
    expect((await read(merchantId, other)).card.count).toBe(0);
  });

  it('of a process that was frozen are not stored, because others no longer check for changes that it missed', async () => {
    const { id } = await pay({ state: 'unknown', document_state: null, settled_at: null, settled_by: null });
    const other = createHourSums();
    const standsStill = {
      ...database,
      transaction: (async (work) => {
        await clock.advance(1_000);
        const late = { state: 'done', document_state: 'closed', settled_at: clock.now(), settled_by: 'person' } as const;
        await database.queries.updateTable('commands').set(late).where('id', '=', id).execute();
        await recordSeeded(database.queries);
        await clock.advance(5 * 60_000);
        expect((await read(merchantId, other)).card.count).toBe(1);
        return database.transaction(work);
      }) as TestDatabase['transaction'],
    };
    await sums.read(standsStill, { merchantId }, hour, hour + hourMs, clock.now());
    await clock.advance(60_000);
    expect((await read(merchantId, other)).card.count).toBe(1);
  });

  it.each([true, false])('include a settlement after the clock was set back (in the process that read before: %s)', async (isSame) => {
    const { id } = await pay({ state: 'unknown', document_state: null, settled_at: null, settled_by: null });
    clock.setWallClock(noonMs + 2 * hourMs);
    expect((await cards()).count).toBe(0);
    clock.setWallClock(noonMs + 60_000);
    const late = { state: 'done', document_state: 'closed', settled_at: clock.now(), settled_by: 'person' } as const;
    await database.queries.updateTable('commands').set(late).where('id', '=', id).execute();
    await recordSeeded(database.queries);
    expect((await read(merchantId, isSame ? sums : createHourSums())).card.count).toBe(1);
  });

  it('no longer count an invoice when its payment turns out to be done', async () => {
    const { oid } = await seedInvoice(database.queries, merchantId, {
      state: 2,
      created_at: hour,
      ended_at: hour + 60_000,
      receipt_id: 'R',
      paid_device_id: terminal,
      amount_bani: 1_000,
    });
    // The payment itself is in the hour before.
    const open = { state: 'unknown', document_state: null, settled_at: null, settled_by: null, document_nr: oid } as const;
    const { id } = await pay({ ...open, issued_at: hour - 60_000 });
    expect(await read()).toMatchObject({ qr: { count: 1 } });
    await clock.advance(60_000);
    const late = { state: 'done', document_state: 'closed', settled_at: clock.now(), settled_by: 'person' } as const;
    await database.queries.updateTable('commands').set(late).where('id', '=', id).execute();
    await recordSeeded(database.queries);
    expect(await read()).toMatchObject({ qr: { count: 0 } });
  });

  it('equal the sums of the commands, for all scopes and any start of an hour', async () => {
    const { merchants } = await fillLedger(database.queries);
    for (const fromMs of [monthStartMs, monthStartMs + hourMs / 2]) {
      for (const scope of [undefined, ...merchants]) {
        const toMs = fromMs + 3 * hourMs;
        const live = addUp((await readFigures(database.queries, { merchantId: scope }, fromMs, toMs)).values());
        expect(live.cards.length).toBeGreaterThan(0);
        for (let times = 0; times < 2; times += 1) {
          const kept = addUp(await sums.read(database, { merchantId: scope }, fromMs, toMs, clock.now()));
          const sorted = ({ cards: rows, durations, ...rest }: typeof kept) => ({
            ...rest,
            cards: rows.map((row) => JSON.stringify(row)).sort(),
            durations: durations.map((row) => JSON.stringify(row)).sort(),
          });
          expect(sorted(kept)).toEqual(sorted(live));
        }
      }
    }
  });
});

describe('the background job for hour sums', () => {
  it.each(engines)('on %s stores empty sums for all hours before the first operation at once, and for no other', async (engine) => {
    const clock = createVirtualClock(noonMs);
    const database = await openQuickDatabase(engine, clock);
    const { id: merchantId } = await seedMerchant(database.queries);
    const { id: deviceId } = await seedDevice(database.queries, merchantId);
    const hours = [4, 3, 2, 1].map((ago) => noonMs - ago * hourMs);
    const idle = async () => {
      await database.queries.deleteFrom('hour_sums').execute();
      const rest = await sumIdleHours(database, hours);
      const rows = await database.queries.selectFrom('hour_sums').selectAll().orderBy('start_ms').execute();
      expect(rows.every(({ merchant_id, figures }) => merchant_id === '' && figures === JSON.stringify(addUp([])))).toBe(true);
      expect([...rows.map(({ start_ms }) => start_ms), ...rest]).toEqual(hours);
      return rows.length;
    };
    expect(await idle()).toBe(4);
    const settled = { state: 'refused', settled_at: noonMs, settled_by: 'answer' } as const;
    await seedInvoice(database.queries, merchantId, { state: 4, ended_at: noonMs - hourMs });
    expect(await idle()).toBe(3);
    await seedCommand(database.queries, merchantId, deviceId, { ...settled, name: 'Report', issued_at: noonMs - 2 * hourMs });
    expect(await idle()).toBe(2);
    await seedCommand(database.queries, merchantId, deviceId, { ...settled, issued_at: noonMs - 2 * hourMs - 1 });
    expect(await idle()).toBe(1);
    await database.close();
  });

  it('replaces sums made while the clock was ahead', async () => {
    const clock = createVirtualClock(noonMs, { settle: 'microtasks' });
    const database = await memoryDatabase(clock);
    const ahead = { merchant_id: '', start_ms: noonMs - 2 * hourMs, made_at: noonMs + 72 * hourMs, figures: 'of the future' };
    await database.queries.insertInto('hour_sums').values(ahead).execute();
    const keeper = createHourKeeper({ database, clock, logger: quietLogger, instanceId: 'one' });
    keeper.start();
    await clock.advance(60_001);
    const rows = await database.queries.selectFrom('hour_sums').selectAll().where('start_ms', '=', ahead.start_ms).execute();
    expect(rows.map(({ figures }) => figures)).toEqual([JSON.stringify(addUp([]))]);
    await keeper.stop();
    await database.close();
  });

  it('stores weeks without a sale at once', async () => {
    const clock = createVirtualClock(noonMs, { settle: 'microtasks' });
    const database = await memoryDatabase(clock);
    const keeper = createHourKeeper({ database, clock, logger: quietLogger, instanceId: 'one' });
    keeper.start();
    await clock.advance(60_001);
    expect(await database.queries.selectFrom('hour_sums').selectAll().execute()).toHaveLength(16 * 24 - 2);
    await keeper.stop();
    await database.close();
  });

  it('sums past hours, the last day again every hour, and deletes sums that no page shows', async () => {
    const clock = createVirtualClock(noonMs + 20 * 60_000, { settle: 'microtasks' });
    const database = await memoryDatabase(clock);
    const keeper = createHourKeeper({ database, clock, logger: quietLogger, instanceId: 'one' });
    const kept = async () => {
      const rows = await database.queries.selectFrom('hour_sums').select(['start_ms', 'made_at']).orderBy('start_ms').execute();
      return { count: rows.length, first: rows[0]?.start_ms ?? 0, newest: rows.at(-1) };
    };
    keeper.start();
    await clock.advance(3 * 60_000);
    const first = await kept();
    expect(first.count).toBe(16 * 24 - 1);
    expect(first.newest?.start_ms).toBe(noonMs - hourMs);
    // A second run finds nothing to do.
    await clock.advance(3 * 60_000);
    expect(await kept()).toEqual(first);
    await clock.advance(2 * hourMs);
    const later = await kept();
    expect(later.newest?.start_ms).toBe(noonMs + hourMs);
    expect(later.first).toBeGreaterThan(first.first);
    const again = await database.queries
      .selectFrom('hour_sums')
      .select('made_at')
      .where('start_ms', '=', noonMs - hourMs)
      .executeTakeFirst();
    expect(again?.made_at).toBeGreaterThan(first.newest?.made_at ?? 0);
    await keeper.stop();
    expect(clock.pending).toBe(0);
    await database.close();
  });
});
