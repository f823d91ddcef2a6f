// The figures of the Overview: money counted once, days in the viewer's time zone, and percentiles of real answers.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMismatches } from '../../../src/cabinet/views/figures/mismatches.ts';
import { createOverviewBook } from '../../../src/cabinet/views/figures/overview.ts';
import { percentilesOf } from '../../../src/cabinet/views/figures/overview-figures.ts';
import { isZone, periodOf, startOfDay } from '../../../src/cabinet/views/figures/period.ts';
import { addEvents } from '../../../src/ledger/timeline.ts';
import { engines, openQuickDatabase, type TestDatabase } from '../../support/engines.ts';
import { seedCallback, seedCommand, seedDevice, seedInvoice, seedMerchant } from '../../support/fixtures.ts';

describe('a day', () => {
  const at = (text: string) => Date.parse(text);
  it("starts at the viewer's midnight", () => {
    expect(startOfDay(at('2026-11-12T14:32:00Z'), 'Europe/Chisinau')).toBe(at('2026-11-11T22:00:00Z'));
    expect(startOfDay(at('2026-11-12T23:32:00Z'), 'Europe/Chisinau')).toBe(at('2026-11-12T22:00:00Z'));
    expect(startOfDay(at('2026-11-12T23:32:00Z'), 'UTC')).toBe(at('2026-11-12T00:00:00Z'));
    expect(startOfDay(at('2026-07-12T10:00:00Z'), 'Asia/Kolkata')).toBe(at('2026-07-11T18:30:00Z'));
  });
  it('is 25 hours long at the end of summer time', () => {
    // Summer time ended on 25 October.
    const noon = at('2026-10-25T12:00:00Z');
    expect(startOfDay(noon, 'Europe/Chisinau', 1) - startOfDay(noon, 'Europe/Chisinau')).toBe(25 * 3_600_000);
  });
  it('is compared with the same day a week before', () => {
    const nowMs = at('2026-11-12T14:32:00Z');
    const { fromMs, toMs, before } = periodOf('today', nowMs, 'UTC');
    expect([fromMs, toMs, before.fromMs, before.toMs]).toEqual(
      ['2026-11-12T00:00:00Z', '2026-11-12T14:32:00Z', '2026-11-05T00:00:00Z', '2026-11-05T14:32:00Z'].map(at),
    );
    expect(periodOf('7d', nowMs, 'UTC').fromMs).toBe(at('2026-11-06T00:00:00Z'));
  });
  it('needs an existing time zone', () => {
    expect(isZone('Europe/Chisinau')).toBe(true);
    expect(isZone('Mars/Olympus')).toBe(false);
    for (const zone of ['UTC', 'Asia/Kathmandu', 'Etc/GMT+3', ...Intl.supportedValuesOf('timeZone')])
      expect([zone, isZone(zone)]).toEqual([zone, true]);
  });
  it('accepts an offset as time zone if a real place has it, as some browsers send it', () => {
    for (const zone of ['+03:00', '+0300', '+03', '+05:45', '-03:30', '+14:00', '-12:00', '+00:00'])
      expect([zone, isZone(zone)]).toEqual([zone, true]);
    for (const zone of [
      '+00:01',
      '+00:59',
      '-03:20',
      '+14:15',
      '-12:15',
      '+23:45',
      '+03:75',
      '+3',
      '+',
      '-',
      '',
      '03:00',
      '\u221203:01',
      'GMT+00:01',
      '+03:00 ',
    ])
      expect([zone, isZone(zone)]).toEqual([zone, false]);
    expect(startOfDay(Date.UTC(2026, 10, 12, 14), '+05:45')).toBe(Date.UTC(2026, 10, 11, 18, 15));
  });
});

describe('percentiles', () => {
  it('are computed from the counts', () => {
    expect(percentilesOf([])).toEqual({});
    expect(percentilesOf([{ step: 3, count: 1 }])).toEqual({ p50Ms: 700, p95Ms: 700 });
    expect(
      percentilesOf([
        { step: 100, count: 1 },
        { step: 5, count: 10 },
        { step: 50, count: 9 },
      ]),
    ).toEqual({ p50Ms: 1_100, p95Ms: 10_100 });
  });
});

describe.each(engines)('the overview on %s', (engine) => {
  const nowMs = Date.UTC(2026, 10, 12, 14, 30);
  const hourMs = 3_600_000;
  let database: TestDatabase;
  let one: string;
  let other: string;
  beforeAll(async () => {
    database = await openQuickDatabase(engine);
    const { queries } = database;
    one = (await seedMerchant(queries)).id;
    other = (await seedMerchant(queries)).id;
    for (const merchantId of [one, other]) {
      const terminal = (await seedDevice(queries, merchantId, { bank: 'maib', point_of_sales_code: 'CHI-01' })).id;
      const register = (await seedDevice(queries, merchantId, { kind: 'register' })).id;
      const at = (agoMs: number, tookMs = 10_000) => ({
        issued_at: nowMs - agoMs,
        answer_by: nowMs,
        settled_at: nowMs - agoMs + tookMs,
        settled_by: 'answer' as const,
      });
      const pay = (row: Parameters<typeof seedCommand>[3]) =>
        seedCommand(queries, merchantId, terminal, { state: 'done', document_state: 'closed', amount_bani: 10_000, ...row });
      const print = (row: Parameters<typeof seedCommand>[3]) =>
        seedCommand(queries, merchantId, register, { name: 'PrintReceipt', state: 'done', ...row });
      const paid = await pay({ ...at(hourMs), document_nr: 'linked' });
      await pay({ ...at(2 * hourMs, 31_000), settled_by: 'recall' });
      await pay({ ...at(3 * hourMs), document_state: 'voided' });
      await pay({ ...at(4 * hourMs), state: 'refused', document_state: null });
      await pay({ ...at(5 * hourMs), state: 'never', document_state: null });
      await pay({ ...at(7 * 24 * hourMs + 1) });
      await seedCommand(queries, merchantId, terminal, {
        ...at(hourMs / 2),
        name: 'Refund',
        state: 'done',
        amount_bani: 2_500,
        target_id: paid.id,
      });
      // Cash, a card charged by the register itself, and the receipt that names a payment already counted, with cash beside the card.
      await print({ ...at(hourMs), amount_bani: 5_000, cash_bani: 5_000, card_bani: 0 });
      await print({ ...at(hourMs), amount_bani: 7_000, cash_bani: 0, card_bani: 7_000, receipt_uid: 'own' });
      await print({ ...at(hourMs), amount_bani: 12_000, cash_bani: 2_000, card_bani: 0, receipt_uid: 'linked' });
      const ended = { state: 2, created_at: nowMs - hourMs, ended_at: nowMs - hourMs, receipt_id: 'R', paid_device_id: register };
      await seedInvoice(queries, merchantId, { ...ended, amount_bani: 3_000 });
      const { oid } = await seedInvoice(queries, merchantId, { ...ended, paid_device_id: terminal, amount_bani: 10_000 });
      await pay({ ...at(hourMs), document_nr: oid });
      await seedCallback(queries, merchantId, { attempts: 1, next_attempt_at: nowMs + 24_000, created_at: nowMs });
      await seedCallback(queries, merchantId, { state: 'dead', next_attempt_at: null, ended_at: nowMs, created_at: nowMs });
      await seedCallback(queries, merchantId, { state: 'delivered', next_attempt_at: null, ended_at: nowMs, created_at: nowMs - hourMs });
    }
  });
  afterAll(() => database.close());

  const read = (merchantId?: string) => createOverviewBook(createMismatches()).read(database, { merchantId }, 'today', 'UTC', nowMs);

  it('counts money once, by payment method', async () => {
    const page = await read(one);
    expect(page.modes).toEqual({
      card: { count: 4, amount: 370 },
      qr: { count: 1, amount: 30 },
      cash: { count: 2, amount: 70 },
    });
    expect(page.total).toEqual({ amount: 470, count: 7, refunded: 25 });
    expect(page.before).toMatchObject({ amount: 100, count: 1 });
    // Future hours have the figures of the same day last week.
    expect(page.hours).toHaveLength(24);
    const tries = page.hours
      .map((hour) => hour.tries)
      .reduce((one, other) => ({ paid: one.paid + other.paid, declined: one.declined + other.declined }));
    expect(tries).toEqual({ paid: page.success.paid, declined: page.success.declined });
    expect(page.hours.reduce((sum, { triesBefore }) => sum + triesBefore.paid, 0)).toBe(page.before.count);
    expect(page.hours.reduce((sum, { card, qr, cash }) => sum + card + qr + cash, 0)).toBe(470);
  });

  it('has the success rate, the durations, and how operations were settled', async () => {
    const page = await read(one);
    expect(page.success).toEqual({ tries: 5, paid: 4, declined: 1, unknown: 0, rate: 0.8 });
    expect(page.answers).toEqual({ p50Ms: 10_100, p95Ms: 31_100 });
    expect(page.settledAlone).toEqual({ recall: 1, lateAnswer: 0, lastTransaction: 0, person: 0, longestMs: 31_000 });
    expect(page.banks).toEqual([{ bank: 'maib', amount: 300, paid: 3, success: 0.8, p95Ms: 31_100 }]);
    expect(page.callbacks).toEqual({
      delivered: 1,
      dead: 1,
      waiting: 1,
      steps: [{ attempts: 1, count: 1 }],
      nextAttemptAtMs: nowMs + 24_000,
    });
    expect(new Set(page.devices.map(({ shop }) => shop))).toEqual(new Set(['CHI-01', null]));
  });

  it('measures the share of the gateway: from the row to the first copy, and from the last answer to the settlement', async () => {
    const { id: merchantId } = await seedMerchant(database.queries);
    const { id: deviceId } = await seedDevice(database.queries, merchantId);
    const payWith = async (...steps: [step: string, atMs: number][]) => {
      const fields = { state: 'done', document_state: 'closed', issued_at: nowMs, answer_by: nowMs, settled_by: 'answer' } as const;
      const { id: commandId } = await seedCommand(database.queries, merchantId, deviceId, { ...fields, settled_at: nowMs + 1_000 });
      await addEvents(
        database,
        steps.map(([step, atMs]) => ({ commandId, step, atMs: nowMs + atMs })),
      );
    };
    expect((await read(merchantId)).ownShare).toEqual({});
    await payWith();
    await payWith(['sent', 2], ['settled', 1_000]);
    expect((await read(merchantId)).ownShare).toEqual({});
    await payWith(['sent', 7], ['sent', 400], ['accepted', 410], ['answered', 500], ['answered', 992], ['settled', 1_000]);
    expect((await read(merchantId)).ownShare).toEqual({ p50Ms: 15, p95Ms: 15 });
    await payWith(['sent', 1], ['answered', 998], ['settled', 1_000]);
    await payWith(['sent', 1], ['answered', 1_004], ['settled', 1_000]);
    expect((await read(merchantId)).ownShare).toEqual({ p50Ms: 3, p95Ms: 15 });
  });

  it('shows a merchant its own figures, and the sum of both to a user who sees all', async () => {
    expect((await read(other)).total.amount).toBe(470);
    expect((await read()).total).toEqual({ amount: 940, count: 14, refunded: 50 });
    expect((await read('nobody')).total.amount).toBe(0);
  });

  it('reads once for concurrent requests, and again a few seconds later', async () => {
    const book = createOverviewBook(createMismatches());
    const ask = (atMs: number) => book.read(database, { merchantId: one }, 'today', 'UTC', atMs);
    const first = ask(nowMs);
    expect(ask(nowMs + 1_000)).toBe(first);
    expect(ask(nowMs + 4_000)).not.toBe(first);
    await first;
  });
});
