// Lists of invoices and callbacks: each row once, exactly the rows of the filter, none of another merchant, and by an index.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CallbackFilter, listCallbackPage } from '../../../src/cabinet/views/lists/callbacks-list.ts';
import type { Place } from '../../../src/cabinet/views/lists/cursor.ts';
import { type InvoiceFilter, listInvoices } from '../../../src/cabinet/views/lists/invoices-list.ts';
import { engines, openNewDatabase, type TestDatabase } from '../../support/engines.ts';
import { seedCallback, seedDevice, seedInvoice, seedMerchant } from '../../support/fixtures.ts';
import { firstPlan } from './plans.ts';

const startMs = Date.UTC(2026, 0, 5);

describe.each(engines)('other lists on %s', (engine) => {
  let database: TestDatabase;
  const merchants: string[] = [];
  const invoices: { oid: string; merchantId: string; state: number; amount: number; receiptId: string | null; atMs: number }[] = [];
  const callbacks: { id: string; merchantId: string; state: string; subjectId: string; host: string; atMs: number }[] = [];
  beforeAll(async () => {
    database = await openNewDatabase(engine);
    merchants.length = 0;
    invoices.length = 0;
    callbacks.length = 0;
    for (let count = 0; count < 2; count += 1) merchants.push((await seedMerchant(database.queries)).id);
    const devices = await Promise.all(merchants.map((id) => seedDevice(database.queries, id)));
    for (let index = 0; index < 60; index += 1) {
      const merchantId = merchants[index % 2] ?? '';
      const atMs = startMs + Math.floor(index / 4) * 1_000;
      const state = index % 5;
      const amount = 100 + (index % 7);
      const receiptId = state === 2 ? `R-${index}` : null;
      const { oid } = await seedInvoice(database.queries, merchantId, {
        state,
        amount_bani: amount,
        created_at: atMs,
        scanned_at: atMs,
        valid_to: atMs,
        ended_at: state >= 2 ? atMs : null,
        receipt_id: receiptId,
        paid_device_id: state === 2 ? (devices[index % 2]?.id ?? null) : null,
      });
      invoices.push({ oid, merchantId, state, amount, receiptId, atMs });
      const callbackState = (['pending', 'delivered', 'dead'] as const)[index % 3] ?? 'dead';
      const host = `erp${index % 4}.example`;
      const { id } = await seedCallback(database.queries, merchantId, {
        subject_id: oid,
        state: callbackState,
        host,
        created_at: atMs,
        next_attempt_at: callbackState === 'pending' ? atMs : null,
        ended_at: callbackState === 'pending' ? null : atMs,
      });
      callbacks.push({ id, merchantId, state: callbackState, subjectId: oid, host, atMs });
    }
  });
  afterAll(() => database.close());

  async function pages<Row>(read: (after: Place | undefined) => Promise<{ rows: Row[]; next: Place | undefined }>): Promise<Row[]> {
    const all: Row[] = [];
    let after: Place | undefined;
    do {
      const page = await read(after);
      all.push(...page.rows);
      after = page.next;
    } while (after !== undefined);
    return all;
  }
  const readInvoices = (filter: InvoiceFilter, merchantId?: string, limit = 7) =>
    pages(async (after) => {
      const page = await listInvoices(database.queries, { merchantId }, filter, { limit, after });
      return { rows: page.invoices.map(({ oid }) => oid), next: page.next };
    });
  const readCallbacks = (filter: CallbackFilter, merchantId?: string, limit = 7) =>
    pages(async (after) => {
      const page = await listCallbackPage(database.queries, { merchantId }, filter, { limit, after });
      return { rows: page.callbacks.map(({ id }) => id), next: page.next };
    });
  const newest = <Row extends { atMs: number }>(rows: Row[], idOf: (row: Row) => string) =>
    [...rows].sort((one, other) => other.atMs - one.atMs || (idOf(one) < idOf(other) ? 1 : -1)).map(idOf);
  const oids = (matches: (invoice: (typeof invoices)[number]) => boolean) => newest(invoices.filter(matches), ({ oid }) => oid);
  const ids = (matches: (callback: (typeof callbacks)[number]) => boolean) => newest(callbacks.filter(matches), ({ id }) => id);

  it('return invoices by filter, in pages', async () => {
    const [one = '', other = ''] = merchants;
    expect(await readInvoices({})).toEqual(oids(() => true));
    expect(await readInvoices({}, one, 1)).toEqual(oids(({ merchantId }) => merchantId === one));
    for (const state of [0, 1, 2, 3, 4])
      expect(await readInvoices({ state }, other)).toEqual(oids((row) => row.state === state && row.merchantId === other));
    const span = { fromMs: startMs + 3_000, toMs: startMs + 9_000 };
    expect(await readInvoices(span)).toEqual(oids(({ atMs }) => atMs >= span.fromMs && atMs < span.toMs));
    const paid = invoices.find(({ receiptId, merchantId }) => receiptId !== null && merchantId === one);
    expect(await readInvoices({ q: paid?.receiptId ?? '' })).toEqual([paid?.oid]);
    expect(await readInvoices({ q: paid?.oid.slice(0, 8) ?? '' })).toEqual([paid?.oid]);
    expect(await readInvoices({ q: '1.03' })).toEqual(oids(({ amount }) => amount === 103));
    for (const q of [paid?.receiptId, paid?.oid]) expect(await readInvoices({ q: q ?? '' }, other)).toEqual([]);
  });

  it('return callbacks by filter, in pages', async () => {
    const [one = '', other = ''] = merchants;
    expect(await readCallbacks({})).toEqual(ids(() => true));
    for (const state of ['pending', 'delivered', 'dead'] as const) {
      expect(await readCallbacks({ state }, one)).toEqual(ids((row) => row.state === state && row.merchantId === one));
    }
    const sample = callbacks.find(({ merchantId }) => merchantId === one);
    expect(await readCallbacks({ subjectId: sample?.subjectId })).toEqual([sample?.id]);
    expect(await readCallbacks({ q: sample?.subjectId })).toEqual([sample?.id]);
    expect(await readCallbacks({ q: sample?.id.slice(0, 8) })).toEqual([sample?.id]);
    expect(await readCallbacks({ q: 'ERP1.example' })).toEqual(ids(({ host }) => host === 'erp1.example'));
    for (const q of [sample?.id, sample?.subjectId]) expect(await readCallbacks({ q }, other)).toEqual([]);
    expect(await readCallbacks({ subjectId: sample?.subjectId }, other)).toEqual([]);
  });

  it('use an index', async () => {
    const page = { limit: 50, after: { atMs: startMs + 5_000, id: invoices[0]?.oid ?? '' } };
    const plan = (view: Parameters<typeof firstPlan>[1], table: string) => firstPlan(database, view, { table, isSmall: true });
    const all = { merchantId: undefined };
    const own = { merchantId: merchants[0] };
    const listed = await plan((queries) => listInvoices(queries, all, {}, page), 'invoices');
    expect(listed).toMatch(/invoices_by_time/);
    expect(listed).not.toMatch(/Sort Key|TEMP B-TREE FOR ORDER BY/);
    expect(await plan((queries) => listInvoices(queries, own, {}, page), 'invoices')).toMatch(/invoices_by_merchant|invoices_by_time/);
    const found = await plan((queries) => listInvoices(queries, own, { q: '123456' }, page), 'invoices');
    expect(found).toMatch(/invoices_by_receipt_id/);
    expect(found).toMatch(/invoices_by_amount/);
    for (const [state, index] of [
      ['pending', /callbacks_pending/],
      ['dead', /callbacks_dead/],
    ] as const) {
      expect(await plan((queries) => listCallbackPage(queries, all, { state }, page), 'callbacks')).toMatch(index);
    }
  });
});
