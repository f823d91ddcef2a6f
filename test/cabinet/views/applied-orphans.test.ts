// A payment that its invoice first refused and later accepted is no orphan: the money was taken once for this sale, and a refund would
// be wrong. Every view of orphans is checked, on both engines.
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listOrphans } from '../../../src/cabinet/sales/orphans.ts';
import { readAttention } from '../../../src/cabinet/views/figures/attention.ts';
import { createMismatches } from '../../../src/cabinet/views/figures/mismatches.ts';
import { writeNote } from '../../../src/cabinet/views/figures/notes.ts';
import { countWaiting } from '../../../src/cabinet/views/figures/waiting-figures.ts';
import { readInvoicePage } from '../../../src/cabinet/views/sale/invoice-page.ts';
import { anybody, codeOf, eventRows, openShop, orphanRows, receipt, type Shop, template } from '../../invoices/shop.ts';
import { isNewCore } from '../../support/core.ts';
import { engines, openNewDatabase, type TestDatabase } from '../../support/engines.ts';
import { seedQrSecret } from '../../support/fixtures.ts';
import { firstPlan } from './plans.ts';

const all = { merchantId: undefined };

describe.each(engines)('a payment that was first refused and later applied, on %s', (engine) => {
  let database: TestDatabase;
  let shop: Shop;
  beforeEach(async () => {
    database = await openNewDatabase(engine);
    shop = await openShop(database);
  });
  afterEach(() => database.close());

  const create = () => shop.invoices.create({ merchantId: shop.merchantId, receipt, callbackUri: template });
  const scan = (qr: string) => codeOf(shop.invoices.scan(qr, anybody));
  const pay = (qr: string, receiptId = 'F-1', deviceId = shop.deviceId) => codeOf(shop.invoices.pay(qr, { receiptId, deviceId }, anybody));
  const setDisabled = (disabledAt: number | null) =>
    database.queries.updateTable('devices').set({ disabled_at: disabledAt }).where('id', '=', shop.deviceId).execute();
  const attention = async () => (await readAttention(database.queries, all, 0, createMismatches())).items;

  /** The refused payments in each view. */
  async function told(oid: string) {
    const page = await readInvoicePage(database.queries, { merchantId: shop.merchantId }, oid, 0);
    const ofMerchant = await listOrphans(database.queries, 10, shop.merchantId);
    return {
      board: (await listOrphans(database.queries, 10)).map(({ receiptId }) => receiptId),
      ofMerchant: ofMerchant.map(({ receiptId }) => receiptId),
      waiting: (await countWaiting(database.queries)).orphans,
      attention: (await attention()).map(({ known }) => String(known.params?.['receiptId'])).sort(),
      page: page?.orphans.map(({ receiptId }) => receiptId),
      outcome: page?.outcome.key,
      advice: page?.advice.key,
    };
  }
  const orphaned = (...receiptIds: string[]) => ({
    board: [...receiptIds].reverse(),
    ofMerchant: [...receiptIds].reverse(),
    waiting: receiptIds.length,
    attention: [...receiptIds].sort(),
    page: receiptIds,
    outcome: 'outcome.invoice.orphan',
    advice: 'advice.giveBackOrKeep',
  });
  const settled = { ...orphaned(), outcome: 'outcome.invoice.Payed', advice: 'advice.callbackWaits' };

  it('because the register reported it before it had fetched the invoice, needs no person', async () => {
    const { oid, qr } = await create();
    expect(await pay(qr)).toBe(22);
    expect(await told(oid)).toEqual(orphaned('F-1'));
    expect([await scan(qr), await told(oid)]).toEqual([0, orphaned('F-1')]);
    expect([await pay(qr), await told(oid)]).toEqual([0, settled]);
    // The history keeps both events.
    expect((await eventRows(database, oid)).map(({ event }) => event)).toEqual(['payment-refused', 'Scanned', 'Payed']);
    expect(await orphanRows(database, oid)).toMatchObject([{ reason: 'never-scanned' }]);
  });

  it('because its device was not enabled yet, needs no person', async () => {
    const { oid, qr } = await create();
    await scan(qr);
    await setDisabled(1);
    expect([await pay(qr), await told(oid)]).toEqual([20, orphaned('F-1')]);
    await setDisabled(null);
    expect([await pay(qr), await told(oid)]).toEqual([0, settled]);
  });

  it('leaves other payments for the invoice listed: by another receipt, or by the same one on another device', async () => {
    const { oid, qr } = await create();
    expect([await pay(qr), await pay(qr, 'F-2'), await scan(qr), await pay(qr)]).toEqual([22, 22, 0, 0]);
    expect(await told(oid)).toEqual(orphaned('F-2'));
    expect(await pay(qr, 'F-1', shop.secondDeviceId)).toBe(22);
    expect(await told(oid)).toEqual(orphaned('F-2', 'F-1'));
  });

  it('does not affect another invoice with the same receipt', async () => {
    const [one, other] = [await create(), await create()];
    expect([await pay(one.qr), await scan(other.qr), await pay(other.qr)]).toEqual([22, 0, 0]);
    expect(await told(one.oid)).toEqual(orphaned('F-1'));
  });

  it('accepts no note: recording a refund is refused, because the invoice has accepted the payment', async () => {
    const { qr } = await create();
    await pay(qr);
    const [seen] = await attention();
    const note = () =>
      writeNote(database, all, { kind: 'paydRefused', subjectId: seen?.subjectId ?? '', reason: 'Given back.', actor: 'Ana' });
    expect([await scan(qr), await pay(qr)]).toEqual([0, 0]);
    await expect(note()).rejects.toMatchObject({
      errorName: 'The_status_cannot_be_applied',
      message: expect.stringContaining('The invoice has accepted this payment in the meantime'),
    });
    expect(await database.queries.selectFrom('notes').select('id').execute()).toEqual([]);
    expect(await database.queries.selectFrom('audit_log').select('id').where('action', '=', 'attention.note').execute()).toEqual([]);
  });

  it('is identified by a look-up of its own invoice, however many there are', async () => {
    await fillMany();
    const byKey =
      engine === 'postgres' ? /Index Scan using invoices_pkey on invoices paid/ : /SEARCH paid USING INDEX sqlite_autoindex_invoices_1/;
    const views: Parameters<typeof firstPlan>[1][] = [
      (queries) => listOrphans(queries, 10),
      (queries) => listOrphans(queries, 10, shop.merchantId),
      (queries) => countWaiting(queries),
      (queries) => readAttention(queries, all, 0, createMismatches()),
      (queries) => readInvoicePage(queries, all, 'oid-7', 0),
    ];
    for (const view of views) {
      const plan = await firstPlan(database, view, { table: 'orphan_payments' });
      // The new core has stored it with the orphan.
      expect(plan).toMatch(isNewCore ? /orphan_payments|\bo\b/ : byKey);
      expect(plan).not.toMatch(/Seq Scan on invoices|SCAN (paid|i)\b/);
    }
  });

  /** Paid invoices, every tenth of which first refused its payment. */
  async function fillMany(): Promise<void> {
    const { queries } = database;
    const secret = await seedQrSecret(queries);
    const numbers = sql`with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 5000)`;
    await sql`insert into invoices (oid, merchant_id, qr_secret_id, state, receipt, receipt_id, paid_device_id, callback_sequence, created_at, ended_at)
      ${numbers} select 'oid-' || n, cast(${shop.merchantId} as text), cast(${secret.id} as bigint), 2, '{}', 'F-' || n,
        cast(${shop.deviceId} as text), 0, n, n from numbers`.execute(queries);
    await sql`insert into orphan_payments (merchant_id, oid, receipt_id, device_id, reason, at, is_listed)
      ${numbers} select cast(${shop.merchantId} as text), 'oid-' || n, 'F-' || n, cast(${shop.deviceId} as text), 'never-scanned', n, 0
      from numbers where n % 10 = 0`.execute(queries);
    await sql`analyze`.execute(queries);
  }
});
