// The Attention list: every case that needs a person, no other, none of another merchant; and a note settles it once.
import { randomUUID } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listOrphans } from '../../../src/cabinet/sales/orphans.ts';
import { closeWithinMs, readAttention } from '../../../src/cabinet/views/figures/attention.ts';
import { createMismatches } from '../../../src/cabinet/views/figures/mismatches.ts';
import { writeNote } from '../../../src/cabinet/views/figures/notes.ts';
import { kindOf, type OperationName } from '../../../src/kernel/operations.ts';
import { engines, openQuickDatabase, type TestDatabase } from '../../support/engines.ts';
import { recordSeeded, seedCallback, seedCommand, seedDevice, seedInvoice, seedMerchant } from '../../support/fixtures.ts';

const nowMs = Date.UTC(2026, 0, 20, 12);
const all = { merchantId: undefined };

describe.each(engines)('Attention on %s', (engine) => {
  let database: TestDatabase;
  let merchantId: string;
  let otherId: string;
  beforeEach(async () => {
    database = await openQuickDatabase(engine);
    merchantId = (await seedMerchant(database.queries)).id;
    otherId = (await seedMerchant(database.queries)).id;
  });
  afterEach(() => database.close());

  const device = async (kind: 'terminal' | 'register' = 'terminal') => (await seedDevice(database.queries, merchantId, { kind })).id;
  const at = (minutesAgo: number) => ({ issued_at: nowMs - minutesAgo * 60_000, answer_by: nowMs - minutesAgo * 60_000 });
  const settled = (minutesAgo: number) => ({ ...at(minutesAgo), settled_at: nowMs - minutesAgo * 60_000, settled_by: 'answer' as const });
  const seed = async (deviceId: string, row: Parameters<typeof seedCommand>[3]) =>
    (await seedCommand(database.queries, merchantId, deviceId, row)).id;
  const read = async (scope: { merchantId: string | undefined } = all) =>
    await readAttention(database.queries, scope, nowMs, createMismatches());
  const kinds = async () => (await read()).items.map(({ kind, subjectId }) => [kind, subjectId]);
  const note = (kind: Parameters<typeof writeNote>[2]['kind'], subjectId: string, scope: { merchantId: string | undefined } = all) =>
    writeNote(database, scope, { kind, subjectId, reason: 'seen', actor: 'Ana' });

  it('is empty without problems', async () => {
    await seed(await device(), { ...settled(60), state: 'done', document_state: 'closed' });
    await seed(await device(), { ...settled(1), state: 'done', document_state: 'open' });
    await seed(await device(), { ...settled(60), state: 'refused' });
    expect((await read()).items).toEqual([]);
  });

  it('lists unclear operations, contradictions and open documents, each with its next step, amount and time', async () => {
    const unclear = await seed(await device(), { ...at(3), state: 'unknown', amount_bani: 8_900 });
    const overdue = await seed(await device(), { ...at(30), state: 'unknown', review_since: nowMs - 60_000, review_reason: 'Silent.' });
    const contradicted = await seed(await device(), {
      ...settled(40),
      state: 'refused',
      review_since: nowMs - 1,
      review_reason: 'It says done.',
    });
    const open = await seed(await device(), {
      ...settled(closeWithinMs / 60_000 + 1),
      state: 'done',
      document_state: 'open',
      amount_bani: 18_620,
    });
    const { items, counts, sumsBani } = await read();
    const byId = new Map(items.map((item) => [item.commandId, item]));
    expect(items).toHaveLength(4);
    expect(byId.get(unclear)).toMatchObject({ kind: 'unknown', nextStep: { action: 'ask' }, amountBani: 8_900 });
    expect(byId.get(overdue)).toMatchObject({ kind: 'unknown', nextStep: { action: 'decide' } });
    expect(byId.get(contradicted)).toMatchObject({ kind: 'contradiction', known: { params: { reason: 'It says done.' } } });
    expect(byId.get(open)).toMatchObject({ kind: 'notClosed', nextStep: { action: 'close' } });
    expect(counts).toMatchObject({ unknown: 2, contradiction: 1, notClosed: 1, paydRefused: 0 });
    expect(sumsBani).toMatchObject({ notClosed: 18_620 });
  });

  it('counts a sale that is listed twice once, with its amount', async () => {
    const documentNr = randomUUID();
    const [terminal, register] = [await device(), await device('register')];
    const open = { state: 'done' as const, document_state: 'open' as const, amount_bani: 5_000 };
    await seed(terminal, { ...settled(30), ...open, document_nr: documentNr });
    await seed(register, {
      ...settled(20),
      name: 'PrintReceipt',
      state: 'refused',
      receipt_uid: documentNr.toUpperCase(),
      amount_bani: 5_000,
    });
    await seed(await device(), { ...settled(40), ...open, amount_bani: 700 });
    const { items, sales } = await read();
    expect(items.map(({ kind }) => kind).sort()).toEqual(['notClosed', 'notClosed', 'paymentWithoutReceipt']);
    expect(sales).toEqual({ count: 2, bani: 5_700 });
  });

  it('lists refused payments of invoices, and dead callbacks about money, until a person notes them', async () => {
    const deviceId = await device();
    const { oid } = await seedInvoice(database.queries, merchantId, { state: 3, ended_at: nowMs, valid_to: nowMs, amount_bani: 31_250 });
    await database.queries
      .insertInto('orphan_payments')
      .values({ merchant_id: merchantId, oid, receipt_id: 'R-1', device_id: deviceId, reason: 'expired', at: nowMs })
      .execute();
    const paid = await seedInvoice(database.queries, merchantId, {
      state: 2,
      ended_at: nowMs,
      receipt_id: 'R-2',
      paid_device_id: deviceId,
      amount_bani: 25_000,
    });
    const dead = { state: 'dead', next_attempt_at: null, ended_at: nowMs } as const;
    await seedCallback(database.queries, merchantId, { ...dead, subject_id: paid.oid, sequence: 1 });
    const told = await seedCallback(database.queries, merchantId, { ...dead, subject_id: paid.oid, sequence: 2 });
    const heard = await seedInvoice(database.queries, merchantId, {
      state: 2,
      ended_at: nowMs,
      receipt_id: 'R-3',
      paid_device_id: deviceId,
      amount_bani: 700,
    });
    await seedCallback(database.queries, merchantId, { ...dead, subject_id: heard.oid, sequence: 1 });
    await seedCallback(database.queries, merchantId, { ...dead, state: 'delivered', subject_id: heard.oid, sequence: 2 });
    await seedCallback(database.queries, merchantId, { ...dead, subject_id: oid });
    const { items } = await read();
    expect(items).toMatchObject([
      { kind: expect.stringMatching(/paydRefused|erpNotNotified/) },
      { kind: expect.stringMatching(/paydRefused|erpNotNotified/) },
    ]);
    const orphan = items.find(({ kind }) => kind === 'paydRefused');
    expect(orphan).toMatchObject({ oid, amountBani: 31_250, nextStep: { action: 'note' } });
    expect(items.find(({ kind }) => kind === 'erpNotNotified')).toMatchObject({ callbackId: told.id, oid: paid.oid, amountBani: 25_000 });

    await expect(note('paydRefused', orphan?.subjectId ?? '', { merchantId: otherId })).rejects.toThrow(/no item of that kind/);
    await note('paydRefused', orphan?.subjectId ?? '');
    await expect(note('paydRefused', orphan?.subjectId ?? '')).rejects.toThrow(/the first one counts/);
    await expect(note('paydRefused', 'x')).rejects.toThrow(/no item of that kind/);
    await note('erpNotNotified', told.id);
    expect((await read()).items).toEqual([]);
    const audited = await database.queries.selectFrom('audit_log').select(['action', 'actor']).execute();
    expect(audited).toEqual([
      { action: 'attention.note', actor: 'Ana' },
      { action: 'attention.note', actor: 'Ana' },
    ]);
  });

  it('lists money that a device reported and no record has, for its merchant alone, until a person notes it', async () => {
    const deviceId = await device();
    const reported = { merchant_id: merchantId, device_id: deviceId, at: nowMs, outcome: 'done', receipt_id: '' } as const;
    const [command, oid] = [randomUUID(), randomUUID()];
    const numbers = { rrn: '4073', operation_id: '147', amount_bani: 15_050 };
    await database.queries
      .insertInto('unmatched_reports')
      .values([
        { ...reported, subject_kind: 'command', subject_id: command, ...numbers },
        { ...reported, subject_kind: 'command', subject_id: randomUUID(), outcome: 'unknown' },
        { ...reported, subject_kind: 'invoice', subject_id: oid, receipt_id: 'R-1' },
      ])
      .execute();
    const { items, counts } = await read({ merchantId });
    expect(counts.unmatched).toBe(3);
    expect(items.map(({ known }) => known)).toEqual(
      expect.arrayContaining([
        { key: 'attention.unmatched.done', params: { id: command, rrn: '4073', operationId: '147' } },
        expect.objectContaining({ key: 'attention.unmatched.maybe' }),
        { key: 'attention.unmatched.invoice', params: { id: oid, receiptId: 'R-1' } },
      ]),
    );
    const found = items.find(({ amountBani }) => amountBani === 15_050);
    expect(found).toMatchObject({ deviceId, deviceName: expect.any(String), sinceMs: nowMs, nextStep: { action: 'note' } });
    expect((await read({ merchantId: otherId })).items).toEqual([]);
    // One for an invoice is on the orphan board, too.
    const board = { kind: 'unmatched', merchantId, oid, receiptId: 'R-1', deviceId, reason: 'unknown-invoice', atMs: nowMs };
    expect(await listOrphans(database.queries, 10, merchantId)).toEqual([{ id: expect.any(Number), ...board }]);
    expect(await listOrphans(database.queries, 10, otherId)).toEqual([]);

    await expect(note('unmatched', found?.subjectId ?? '', { merchantId: otherId })).rejects.toThrow(/no item of that kind/);
    for (const { subjectId } of items) await note('unmatched', subjectId);
    await expect(note('unmatched', found?.subjectId ?? '')).rejects.toThrow(/the first one counts/);
    await expect(note('unmatched', 'x')).rejects.toThrow(/no item of that kind/);
    expect([(await read()).items, await listOrphans(database.queries, 10)]).toEqual([[], []]);
  });

  it('lists a payment or receipt whose counterpart failed, if one document links them', async () => {
    const terminal = await device();
    const register = await device('register');
    const print = { name: 'PrintReceipt', document_nr: null, amount_bani: null } as const;
    const [unprinted, unpaid, retried, alone] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
    const charged = await seed(terminal, { ...settled(60), state: 'done', document_state: 'closed', document_nr: unprinted });
    await seed(register, { ...settled(59), ...print, state: 'refused', receipt_uid: unprinted });
    await seed(terminal, { ...settled(50), state: 'refused', document_nr: unpaid });
    const printed = await seed(register, { ...settled(49), ...print, state: 'done', receipt_uid: unpaid });
    // A voided payment needs no receipt.
    const taken = randomUUID();
    await seed(terminal, { ...settled(45), state: 'done', document_state: 'voided', document_nr: taken });
    await seed(register, { ...settled(44), ...print, state: 'refused', receipt_uid: taken });
    // The second attempt succeeded, and a payment alone needs none.
    await seed(terminal, { ...settled(40), state: 'done', document_state: 'closed', document_nr: retried });
    await seed(register, { ...settled(39), ...print, state: 'refused', receipt_uid: retried });
    await seed(register, { ...settled(38), ...print, state: 'done', receipt_uid: retried });
    await seed(terminal, { ...settled(30), state: 'done', document_state: 'closed', document_nr: alone });
    expect(await kinds()).toEqual([
      ['paymentWithoutReceipt', charged],
      ['receiptWithoutPayment', printed],
    ]);
    await note('paymentWithoutReceipt', charged);
    await note('receiptWithoutPayment', printed);
    expect(await kinds()).toEqual([]);
  });

  it('lists a payment that was voided after its receipt was printed, until a person notes it [D146]', async () => {
    const terminal = await device();
    const print = { name: 'PrintReceipt', document_nr: null, amount_bani: null } as const;
    const link = async (state: 'done' | 'refused') => {
      const payment_id = await seed(terminal, { ...settled(60), state: 'done', document_state: 'voided', document_nr: randomUUID() });
      const print_id = await seed(await device('register'), { ...settled(59), ...print, state, receipt_uid: randomUUID() });
      await database.queries.insertInto('receipt_payments').values({ payment_id, print_id, amount_bani: 1_000, voided_at: 5 }).execute();
      return payment_id;
    };
    const voided = await link('done');
    await link('refused');
    expect(await kinds()).toEqual([['voidedAfterReceipt', voided]]);
    await note('voidedAfterReceipt', voided);
    expect(await kinds()).toEqual([]);
  });

  it('links a receipt and its payment even if the ERP writes the Uid in capitals', async () => {
    const [terminal, register] = [await device(), await device()];
    const print = { name: 'PrintReceipt', amount_bani: 1_000 } as const;
    const [unpaid, paidLater] = ['3b241101-e2bb-4255-8caf-4136c566a962', '8f241101-e2bb-4255-8caf-4136c566a9cd'];
    await seed(terminal, { ...settled(50), state: 'refused', document_nr: unpaid });
    const printed = await seed(register, { ...settled(49), ...print, state: 'done', receipt_uid: unpaid.toUpperCase() });
    await seed(terminal, { ...settled(45), state: 'refused', document_nr: paidLater });
    await seed(register, { ...settled(44), ...print, state: 'done', receipt_uid: paidLater.toUpperCase() });
    await seed(terminal, { ...settled(43), state: 'done', document_state: 'closed', document_nr: paidLater });
    expect(await kinds()).toEqual([['receiptWithoutPayment', printed]]);
  });

  it('shows a merchant nothing of another', async () => {
    await seed(await device(), { ...at(3), state: 'unknown' });
    await seed(await device(), { ...settled(60), state: 'done', document_state: 'open' });
    expect((await read({ merchantId })).items).toHaveLength(2);
    expect((await read({ merchantId: otherId })).items).toEqual([]);
  });

  describe('with more payments without a receipt than one read returns', () => {
    const found = 2_000;
    /** One statement each, one second apart, the newest an hour ago. */
    beforeEach(async () => {
      const [terminal, register] = [await device(), await device('register')];
      const insert = (name: OperationName, deviceId: string, columns: RawBuilder<unknown>) => sql`
        insert into commands (id, merchant_id, device_id, instance_id, name, mode, is_payment, closes_day, args, recalls, issued_at, answer_by, settled_at, settled_by,
          state, document_state, operation_id, rrn, document_nr, receipt_uid)
        with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${sql.lit(found)}),
        times as (select n, cast(${nowMs - 3_600_000} as bigint) - n * 1000 as at from numbers)
        select ${sql.lit(name)} || n, cast(${merchantId} as text), cast(${deviceId} as text), 'x', ${sql.lit(name)}, ${sql.lit(kindOf(name).mode)}, ${sql.lit(kindOf(name).is_payment)}, 0, '{}', 0, at, at, at, 'answer',
          ${columns} from times`;
      await insert('Pay', terminal, sql`'done', 'closed', '1', '1', 'sale-' || n, null`).execute(database.queries);
      await insert('PrintReceipt', register, sql`'refused', null, null, null, null, 'sale-' || n`).execute(database.queries);
      await recordSeeded(database.queries);
      await sql`analyze`.execute(database.queries);
    });
    const mismatch = async (owner: string, minutesAgo: number) => {
      const [terminal, register] = [
        await seedDevice(database.queries, owner),
        await seedDevice(database.queries, owner, { kind: 'register' }),
      ];
      const documentNr = randomUUID();
      const paid = { ...settled(minutesAgo), state: 'done', document_state: 'closed', document_nr: documentNr } as const;
      const refused = {
        ...settled(minutesAgo),
        name: 'PrintReceipt',
        document_nr: null,
        state: 'refused',
        receipt_uid: documentNr,
      } as const;
      const { id } = await seedCommand(database.queries, owner, terminal.id, paid);
      await seedCommand(database.queries, owner, register.id, refused);
      return id;
    };

    it('lists those of another merchant, and tells a user who sees all that the list is cut', async () => {
      const older = await mismatch(otherId, 180);
      const mismatches = createMismatches();
      const look = (scope: { merchantId: string | undefined }) => readAttention(database.queries, scope, nowMs, mismatches);
      expect(await look({ merchantId: otherId })).toMatchObject({ items: [{ subjectId: older }], isCut: false });
      const everything = await look(all);
      expect([everything.items.length, everything.isCut]).toEqual([200, true]);
    });

    it('lists a new one at once, and the oldest once the others are noted', async () => {
      const mismatches = createMismatches();
      const look = async (agoMs = 0) => {
        const { items, isCut } = await readAttention(database.queries, { merchantId }, nowMs - agoMs, mismatches);
        return { ids: items.map(({ subjectId }) => subjectId), isCut };
      };
      const oldest = await mismatch(merchantId, 600);
      expect((await look(60_000)).ids).not.toContain(oldest);
      const fresh = await mismatch(merchantId, 1);
      expect((await look()).ids).toContain(fresh);
      await sql`insert into notes (kind, subject_id, merchant_id, at, actor, reason)
        select 'paymentWithoutReceipt', id, merchant_id, 1, 'Ana', 'seen' from commands where document_nr like 'sale-%'`.execute(
        database.queries,
      );
      await sql`analyze`.execute(database.queries);
      // Until the month is searched again.
      expect(await look()).toEqual({ ids: [fresh], isCut: true });
      expect(await look(-700_000)).toEqual({ ids: [oldest, fresh], isCut: false });
    });
  });
});
