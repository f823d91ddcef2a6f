// A payment that its invoice accepted beside a card payment is listed for as long as the shop has both. The card payments are rows of the old
// core, so this goes with it; paid-twice.test.ts and test/money/qr-two-card-payments.txt have the same by events.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listOrphans } from '../../../src/cabinet/sales/orphans.ts';
import { readAttention } from '../../../src/cabinet/views/figures/attention.ts';
import { createMismatches } from '../../../src/cabinet/views/figures/mismatches.ts';
import { writeNote } from '../../../src/cabinet/views/figures/notes.ts';
import { countWaiting } from '../../../src/cabinet/views/figures/waiting-figures.ts';
import { readInvoicePage } from '../../../src/cabinet/views/sale/invoice-page.ts';
import { endWithout } from '../../../src/invoices/cancel.ts';
import { insertOrphan } from '../../../src/invoices/store.ts';
import { anybody, codeOf, openShop, orphanRows, receipt, type Shop, template } from '../../invoices/shop.ts';
import { engines, openNewDatabase, type TestDatabase } from '../../support/engines.ts';
import { seedCommand } from '../../support/fixtures.ts';

const all = { merchantId: undefined };

describe.each(engines)('money that was taken twice, with card payments as rows of the old core, on %s', (engine) => {
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

  describe('beside a card payment', () => {
    const setPayment = (id: string, row: object) => database.queries.updateTable('commands').set(row).where('id', '=', id).execute();
    const ended = { settled_at: Date.now(), settled_by: 'answer' } as const;
    const approved = { ...ended, state: 'done', document_state: 'closed' } as const;
    const reasons = async () => (await listOrphans(database.queries, 10)).map(({ reason }) => reason);
    async function chargeBegins(oid: string, deviceId: string) {
      await database.queries.updateTable('invoices').set({ payment_begun_at: 1 }).where('oid', '=', oid).execute();
      return seedCommand(database.queries, shop.merchantId, deviceId, { document_nr: oid });
    }

    it('that is approved afterwards is listed, because the customer paid twice; until then, or once it is voided, it is not', async () => {
      const { oid, qr } = await create();
      await scan(qr);
      const { id } = await chargeBegins(oid, shop.secondDeviceId);
      expect([await pay(qr), await told(oid)]).toEqual([0, settled]);
      await setPayment(id, approved);
      const paidTwice = { ...orphaned('F-1'), outcome: 'outcome.invoice.paidTwice' };
      expect([await told(oid), await reasons()]).toEqual([paidTwice, ['paid-by-card-too']]);
      expect((await attention()).map(({ known }) => known.key)).toEqual(['attention.paydRefused.paidByCardToo']);
      await setPayment(id, { document_state: 'voided' });
      expect(await told(oid)).toEqual(settled);
    });

    it('is listed as such also if it was refused before, and a person can note what was done', async () => {
      const { oid, qr } = await create();
      expect([await pay(qr), await scan(qr)]).toEqual([22, 0]);
      const { id } = await chargeBegins(oid, shop.secondDeviceId);
      expect(await pay(qr)).toBe(0);
      await setPayment(id, approved);
      expect(await reasons()).toEqual(['paid-by-card-too']);
      const [seen] = await attention();
      await writeNote(database, all, { kind: 'paydRefused', subjectId: seen?.subjectId ?? '', reason: 'Given back.', actor: 'Ana' });
      expect(await attention()).toEqual([]);
    });

    it('that fails, or that is the same payment, needs no person', async () => {
      const [one, other] = [await create(), await create()];
      await scan(one.qr);
      await scan(other.qr);
      const failed = await chargeBegins(one.oid, shop.secondDeviceId);
      const same = await chargeBegins(other.oid, shop.deviceId);
      expect([await pay(one.qr), await pay(other.qr)]).toEqual([0, 0]);
      await setPayment(failed.id, { ...ended, state: 'refused' });
      await setPayment(same.id, approved);
      expect([await told(one.oid), await told(other.oid)]).toEqual([settled, settled]);
      expect(await orphanRows(database, other.oid)).toEqual([]);
    });
  });

  describe('beside a card payment, and whatever is on the board,', () => {
    const approved = { settled_at: Date.now(), settled_by: 'answer', state: 'done', document_state: 'closed' } as const;
    async function charged(oid: string, deviceId: string, row: object = approved) {
      await database.queries.updateTable('invoices').set({ payment_begun_at: 1 }).where('oid', '=', oid).execute();
      return seedCommand(database.queries, shop.merchantId, deviceId, { document_nr: oid, ...row });
    }
    const approve = (id: string) => database.queries.updateTable('commands').set(approved).where('id', '=', id).execute();
    const paidTwice = async () => (await listOrphans(database.queries, 10)).filter(({ reason }) => reason === 'paid-by-card-too');

    it('is listed although callers without a key have filled the board of its invoice with refused payments', async () => {
      const { oid, qr } = await create();
      for (let count = 0; count < 100; count += 1)
        await insertOrphan(database.queries, { oid, merchantId: shop.merchantId }, { receiptId: `${count}`, deviceId: 'none' }, 'expired');
      await scan(qr);
      const { id } = await charged(oid, shop.secondDeviceId, {});
      expect(await pay(qr)).toBe(0);
      await approve(id);
      expect(await paidTwice()).toMatchObject([{ oid, receiptId: 'F-1', deviceId: shop.deviceId }]);
    });

    it('of which one is in doubt and another approved: either terminal completes the invoice, and the second charge is listed', async () => {
      for (const [inDoubt, done] of [
        [shop.deviceId, shop.secondDeviceId],
        [shop.secondDeviceId, shop.deviceId],
      ] as const) {
        const { oid, qr } = await create();
        await scan(qr);
        await charged(oid, done);
        const { id } = await charged(oid, inDoubt, {});
        expect(await pay(qr)).toBe(0);
        await approve(id);
        expect((await paidTwice())[0]).toMatchObject({ oid, receiptId: 'F-1', deviceId: shop.deviceId });
      }
    });

    it.each([0, 1])('of which two were approved: each of both terminals completes the invoice, and it is listed (%d)', async (at) => {
      const { oid, qr } = await create();
      await scan(qr);
      await charged(oid, shop.deviceId);
      await charged(oid, shop.secondDeviceId);
      const deviceId = [shop.deviceId, shop.secondDeviceId][at] ?? '';
      expect([await pay(qr, 'F-1', deviceId), await pay(qr, 'F-1', deviceId)]).toEqual([0, 0]);
      expect(await paidTwice()).toMatchObject([{ oid, deviceId }]);
    });

    it('and that was noted before its card payment stands again is listed again', async () => {
      const { oid, qr } = await create();
      await scan(qr);
      const { id } = await charged(oid, shop.secondDeviceId, {});
      await pay(qr);
      await approve(id);
      const [seen] = await attention();
      const subjectId = seen?.subjectId ?? '';
      const note = () => writeNote(database, all, { kind: 'paydRefused', subjectId, reason: 'Card voided.', actor: 'Ana' });
      await note();
      expect(await attention()).toEqual([]);
      const card = { merchantId: shop.merchantId, deviceId: shop.secondDeviceId };
      await database.transaction((queries) => endWithout(queries, oid, card));
      expect((await attention()).map((item) => item.subjectId)).toEqual([subjectId]);
      await note();
      expect(await attention()).toEqual([]);
    });
  });
});
