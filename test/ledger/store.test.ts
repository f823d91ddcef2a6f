// The ledger's statements one by one, on both engines: what each of them writes, and what it leaves as it was.
import { randomUUID } from 'node:crypto';
import type { KyselyPlugin } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { voidDocument } from '../../src/cards/store.ts';
import type { Queries } from '../../src/database/database.ts';
import type { Command } from '../../src/ledger/command.ts';
import { documentNow, findHolder, lastDecisionOn } from '../../src/ledger/device-lock.ts';
import * as reviews from '../../src/ledger/review-store.ts';
import * as store from '../../src/ledger/store.ts';
import * as sweeps from '../../src/ledger/sweep-store.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { insertSent, settle } from '../support/ledger-statements.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const startMs = 1_000_000;
const settled = { settled_at: 1, settled_by: 'answer' } as const;
const paid = { ...settled, state: 'done', document_state: 'open' } as const;

describe.each(engines)('on %s', (engine) => {
  let database: TestDatabase;
  let merchantId: string;
  let deviceId: string;

  beforeAll(async () => {
    const opened = await openTestDatabase(engine, createVirtualClock(startMs));
    // Anew for each call: a statement that is kept from before would hide a mistake from `npm run mutation`.
    const built: KyselyPlugin = { transformQuery: ({ node }) => node, transformResult: async ({ result }) => result };
    database = { ...opened, queries: opened.queries.withPlugin(built) };
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    await database.queries.deleteFrom('claims').execute();
    await database.queries.deleteFrom('commands').execute();
    merchantId = (await seedMerchant(database.queries)).id;
    deviceId = (await seedDevice(database.queries, merchantId)).id;
  });

  const read = async (id: string) => (await store.findCommand(database.queries, id)) as Command;
  /** On a device of its own. */
  async function command(overrides: object = {}, of = merchantId): Promise<Command> {
    const device = (await seedDevice(database.queries, of)).id;
    return read((await seedCommand(database.queries, of, device, { answer_by: startMs + 300_000, ...overrides })).id);
  }
  const rowOf = (id: string) => database.queries.selectFrom('commands').selectAll().where('id', '=', id).executeTakeFirstOrThrow();

  describe('a new command', () => {
    const least = () => ({
      ...{ id: randomUUID(), merchantId, deviceId, instanceId: 'here', name: 'Refund' as const, args: { amount: 1 } },
      ...{ answerWithinMs: 60_000, journalId: undefined },
    });
    const nothing = { amount_bani: null, document_nr: null, operation_id: null, rrn: null, target_id: null, receipt_uid: null };
    const nobody = { content_hash: null, callback_uri: null, request_hash: null, journal_id: null, cash_bani: null, card_bani: null };

    it('is written with all its fields, and no others', async () => {
      const bare = least();
      await insertSent(database, bare);
      expect(await rowOf(bare.id)).toMatchObject({
        ...{ ...nothing, ...nobody, caller: null, request: null, outcome_missed_at: null },
        ...{ merchant_id: merchantId, device_id: deviceId, instance_id: 'here', name: 'Refund', args: '{"amount":1}', state: 'sent' },
        ...{ recalls: 0, issued_at: startMs, answer_by: startMs + 60_000 },
      });
      await database.queries.updateTable('device_locks').set({ command_id: null }).execute();
      const target = await command();
      const whole = {
        ...{ ...least(), journalId: 'j', amountBani: 300, cashBani: 100, cardBani: 200, documentNr: 'd', operationId: 'o', rrn: 'r' },
        ...{ targetId: target.id, receiptUid: 'u', contentHash: 'c', callbackUri: 'http://erp.example', requestHash: 'h' },
        ...{ isOutcomeMissed: true, origin: { caller: 'till', request: '{}' } },
      };
      const inserted = await insertSent(database, whole);
      expect(inserted).toEqual(await read(whole.id));
      expect(await rowOf(whole.id)).toMatchObject({
        ...{ amount_bani: 300, document_nr: 'd', operation_id: 'o', rrn: 'r', target_id: target.id, receipt_uid: 'u', content_hash: 'c' },
        ...{ callback_uri: 'http://erp.example', request_hash: 'h', journal_id: 'j', cash_bani: 100, card_bani: 200 },
        ...{ caller: 'till', request: '{}', outcome_missed_at: startMs },
      });
    });

    it('on a locked device is rejected', async () => {
      await insertSent(database, least());
      const second = least();
      expect(await insertSent(database, second)).toBeUndefined();
      expect(await read(second.id)).toBeUndefined();
    });
  });

  describe('what is looked up', () => {
    it('by several ids is returned in the order of issue; by none nothing is', async () => {
      const late = await command({ issued_at: 20 });
      const early = await command({ issued_at: 10 });
      expect(await store.findCommands(database.queries, [late.id, early.id])).toEqual([early, late]);
      // Without asking anybody.
      expect(await store.findCommands({} as Queries, [])).toEqual([]);
    });

    it('as operations that refer to a command are those of an approved payment: nothing else has any', async () => {
      const payment = await command(paid);
      await command({ name: 'Refund', target_id: payment.id, amount_bani: 300 });
      expect(await store.followersOf(database.queries, payment)).toEqual([{ name: 'Refund', state: 'sent', amountBani: 300 }]);
      // Without asking anybody.
      expect(await store.followersOf({} as Queries, { ...payment, documentState: null })).toEqual([]);
    });

    it('as the last issue is the command that it was sent as again, if there is one', async () => {
      const second = await command();
      const first = await command({ ...settled, state: 'never', reissued_as: second.id });
      expect(await store.lastIssueOf(database.queries, first)).toEqual(second);
      expect(await store.lastIssueOf(database.queries, second)).toBe(second);
      const lost = { ...first, reissuedAs: randomUUID() };
      expect(await store.lastIssueOf(database.queries, lost)).toBe(lost);
      expect(await store.latestOf(database.queries, { ...first, state: 'sent' })).toEqual(first);
      expect(await store.latestOf(database.queries, { ...first, id: lost.reissuedAs })).toMatchObject({ id: lost.reissuedAs });
    });

    it('as the holder of a device is the running command, else the payment that awaits CloseDoc, else nothing', async () => {
      const holder = () => findHolder(database.queries, deviceId);
      await seedCommand(database.queries, merchantId, deviceId, { ...settled, state: 'refused' });
      await command();
      expect(await holder()).toBeUndefined();
      const payment = await seedCommand(database.queries, merchantId, deviceId, paid);
      expect(await holder()).toMatchObject({ id: payment.id });
      const closing = await seedCommand(database.queries, merchantId, deviceId, { name: 'CloseDoc', target_id: payment.id });
      expect(await holder()).toMatchObject({ id: closing.id });
      expect(await lastDecisionOn(database.queries, 'no device')).toBeUndefined();
      // The CloseDoc turns out not to be made, a second time: the document is open, as it was left the first time.
      const lock = { commandId: null, documentId: payment.id, decidedAtMs: null };
      expect(await documentNow(database.queries, lock, await read(payment.id))).toBe('open');
    });
  });

  describe('a settlement', () => {
    const said = { outcome: 'done', report: '{"rrn":"1"}', reason: 'because' } as const;
    const done = { ...said, state: 'done', by: 'answer' } as const;

    it('writes all known fields, once', async () => {
      const open = await command({ next_recall_at: 5, recalls: 1 });
      const whole = { ...done, operationId: 'o', rrn: 'r', receiptId: 'x', wasAccepted: true, reissuedAs: open.id };
      const latest = await settle(database, open, whole);
      expect(latest).toEqual({
        ...open,
        ...{ state: 'done', settledAtMs: startMs, settledBy: 'answer', ...said, operationId: 'o', rrn: 'r', documentState: 'open' },
        ...{ acceptedAtMs: startMs, reissuedAs: open.id },
      });
      expect(await rowOf(open.id)).toMatchObject({ next_recall_at: null, receipt_id: 'x', reviewed_at: null });
      expect(await settle(database, open, { ...done, state: 'refused' })).toBeUndefined();
      expect(await read(open.id)).toEqual(latest);
    });

    it('leaves other fields unchanged, and opens a document only for a done payment', async () => {
      const open = await command({ name: 'Refund', operation_id: 'of the payment', rrn: 'its', accepted_at: 7, receipt_id: 'x' });
      const bare = {
        state: 'refused',
        by: 'recall',
        outcome: undefined,
        report: undefined,
        reason: undefined,
      } as const;
      expect(await settle(database, open, bare)).toEqual({
        ...open,
        ...{ state: 'refused', settledAtMs: startMs, settledBy: 'recall' },
      });
      expect((await rowOf(open.id)).receipt_id).toBe('x');
      const accepted = await command({ accepted_at: 7 });
      expect(await settle(database, accepted, { ...done, wasAccepted: true })).toMatchObject({ acceptedAtMs: 7 });
      const withdrawal = await command({ name: 'MoneyOut' });
      expect(await settle(database, withdrawal, done)).toMatchObject({
        ...{ state: 'done', documentState: null, acceptedAtMs: null },
      });
    });

    it('removes a command from the review list, and writes nothing about a review if there was none', async () => {
      const listed = await command({ review_since: 5, review_reason: 'why' });
      expect(await settle(database, listed, done)).toMatchObject({ reviewSinceMs: 5, reviewedAtMs: startMs });
    });

    it('closes an open document once and frees its terminal', async () => {
      const payment = await command(paid);
      const documentOnLock = async () => {
        const lock = database.queries.selectFrom('device_locks').select('document_id').where('device_id', '=', payment.deviceId);
        return (await lock.executeTakeFirstOrThrow()).document_id;
      };
      expect(await documentOnLock()).toBe(payment.id);
      expect(await store.closeDocument(database.queries, payment.id)).toBe(true);
      expect(await documentOnLock()).toBeNull();
      // By hand: no caller has the outcome [D309].
      expect(await read(payment.id)).toEqual({ ...payment, documentState: 'closed', outcomeReceivedAtMs: null });
      expect(await store.closeDocument(database.queries, payment.id)).toBe(false);
    });

    it.each([
      ['key k', null, startMs],
      [null, null, startMs],
      ['key k', 5, 5],
      ['person ana', null, null],
      ['person ana', 5, 5],
    ])('a CloseDoc of %s delivers the outcome to its caller, and a person’s to no caller [D309]', async (caller, before, after) => {
      const ending = { name: 'CloseDoc', caller } as const;
      const byItself = await command({ ...paid, outcome_received_at: before });
      const close = await command({ ...ending, target_id: byItself.id });
      expect(await settle(database, close, done)).toMatchObject({ state: 'done' });
      expect(await read(byItself.id)).toMatchObject({ documentState: 'closed', outcomeReceivedAtMs: after });
      const afterAll = await command({ ...paid, outcome_received_at: before });
      const wrong = await command({ ...ending, target_id: afterAll.id, state: 'refused', settled_at: 1, settled_by: 'answer' });
      await store.closeDocument(database.queries, afterAll.id, wrong.id);
      expect(await read(afterAll.id)).toMatchObject({ documentState: 'closed', outcomeReceivedAtMs: after });
      const voided = await command({ ...paid, outcome_received_at: before });
      await voidDocument(database.queries, voided.id, wrong.id);
      expect(await read(voided.id)).toMatchObject({ documentState: 'voided', outcomeReceivedAtMs: after });
    });

    it.each([
      ['person', undefined, 'closed'],
      ['person', '7', 'open'],
      ['answer', undefined, 'open'],
    ] as const)('a payment that is done by %s with operationId %s has its document %s [D308]', async (by, operationId, documentState) => {
      const payment = await command({ answer_by: 1 });
      const settled = await settle(database, payment, { ...done, by, operationId });
      expect(settled).toMatchObject({ state: 'done', documentState });
      const lock = database.queries.selectFrom('device_locks').select('document_id').where('device_id', '=', payment.deviceId);
      expect((await lock.executeTakeFirstOrThrow()).document_id).toBe(documentState === 'open' ? payment.id : null);
    });
  });

  describe('a settlement that proves wrong', () => {
    const closing = { name: 'CloseDoc', state: 'refused', settled_at: 1, settled_by: 'person', reason: 'It is said so.' } as const;
    const reported = { state: 'done', by: 'recall', outcome: 'done', report: '{"day":1}', reason: 'late' } as const;

    it('becomes done with all that the device reported, once, and leaves the review list', async () => {
      const wrong = await command({ ...closing, review_since: 5, review_reason: 'why' });
      const corrected = { state: 'done', settledAtMs: startMs, settledBy: 'recall', outcome: 'done', report: '{"day":1}', reason: 'late' };
      expect(await store.correctToDone(database.queries, wrong, reported)).toEqual({ ...wrong, ...corrected, reviewedAtMs: startMs });
      expect(await store.correctToDone(database.queries, wrong, reported)).toBeUndefined();
    });

    it('keeps nothing of what it was settled with', async () => {
      const wrong = await command({ ...closing, outcome: 'refused', report: '{"error":1}' });
      const bare = { ...reported, outcome: undefined, report: undefined, reason: undefined };
      const nothing = { state: 'done', outcome: null, report: null, reason: null, reviewedAtMs: null };
      expect(await store.correctToDone(database.queries, wrong, bare)).toMatchObject(nothing);
    });
  });

  it('an outcome becomes unknown from `sent` alone, and the time since when no caller waits for it stays', async () => {
    const open = await command();
    expect(await store.markUnknown(database.queries, open.id, 2_000)).toEqual({ ...open, state: 'unknown', outcomeMissedAtMs: startMs });
    expect((await rowOf(open.id)).next_recall_at).toBe(startMs + 2_000);
    expect(await store.markUnknown(database.queries, open.id, 9_000)).toBeUndefined();
    const left = await command({ outcome_missed_at: 5 });
    expect(await store.markUnknown(database.queries, left.id, 0)).toMatchObject({ outcomeMissedAtMs: 5 });
    const over = await command({ ...settled, state: 'refused' });
    expect(await store.markUnknown(database.queries, over.id, 0)).toBeUndefined();
  });

  it('many that were accepted are marked by one statement, those that were not before, and none that never began', async () => {
    const [fresh, known, never] = [await command(), await command({ accepted_at: 5 }), await command({ ...settled, state: 'never' })];
    expect(await store.markAccepted(database, [fresh.id, known.id, never.id])).toEqual([{ ...fresh, acceptedAtMs: startMs }]);
  });

  describe('the review list', () => {
    const put = (id: string, entry?: reviews.ReviewEntry) => reviews.putOnReview(database.queries, id, 'newer', entry);

    it('gives a command its place once, with the newest reason; what was reviewed comes anew', async () => {
      const fresh = await command();
      expect(await put(fresh.id)).toBe(true);
      expect(await read(fresh.id)).toEqual({ ...fresh, reviewSinceMs: startMs, reviewReason: 'newer' });
      const listed = await command({ review_since: 5, review_reason: 'older' });
      await put(listed.id);
      expect(await read(listed.id)).toEqual({ ...listed, reviewReason: 'newer' });
      const reviewed = await command({ review_since: 5, review_reason: 'older', reviewed_at: 6 });
      await put(reviewed.id);
      expect(await read(reviewed.id)).toMatchObject({ reviewSinceMs: startMs, reviewedAtMs: null });
      expect(await put(randomUUID())).toBe(false);
    });

    it('accepts a settled command only if requested, and notes once that the device ended it', async () => {
      const over = await command({ ...settled, state: 'refused' });
      expect(await put(over.id, { unless: 'settled' })).toBe(false);
      expect(await read(over.id)).toEqual(over);
      expect(await put(over.id)).toBe(true);
      const open = await command();
      expect(await put(open.id, { unless: 'settled', isEnded: true })).toBe(true);
      expect((await read(open.id)).endedUnknownAtMs).toBe(startMs);
      const ended = await command({ ended_unknown_at: 5 });
      await put(ended.id, { isEnded: true });
      expect((await read(ended.id)).endedUnknownAtMs).toBe(5);
    });

    it('gets commands that are open long after their deadline and not listed yet', async () => {
      const overdue = await command({ answer_by: startMs - 1_001 });
      await command({ answer_by: startMs - 1_000 });
      await command({ answer_by: startMs - 2_000, ...settled, state: 'refused' });
      const listed = await command({ answer_by: startMs - 2_000, review_since: 5, review_reason: 'older' });
      expect(await reviews.putOverdueOnReview(database.queries, 1_000)).toEqual([overdue.id]);
      expect(await read(overdue.id)).toMatchObject({ reviewSinceMs: startMs, reviewReason: expect.stringContaining('has not reported') });
      expect(await read(listed.id)).toEqual(listed);
    });

    it('is listed oldest first, of one merchant or of all, and without what was reviewed', async () => {
      const other = (await seedMerchant(database.queries)).id;
      const listed = (since: number, of = merchantId) => command({ review_since: since, review_reason: 'why' }, of);
      const [second, first, third] = [await listed(20), await listed(10), await listed(30, other)];
      await command({ review_since: 1, review_reason: 'why', reviewed_at: 2 });
      await command();
      const told = async (limit: number, of?: string) => (await reviews.listReview(database.queries, limit, of)).map(({ id }) => id);
      expect(await told(10)).toEqual([first.id, second.id, third.id]);
      expect(await told(1)).toEqual([first.id]);
      expect(await told(10, merchantId)).toEqual([first.id, second.id]);
      expect(await told(10, other)).toEqual([third.id]);
      expect(await told(10, '')).toEqual([]);
    });

    it('loses a settled command once', async () => {
      const listed = { review_since: 5, review_reason: 'why' };
      const close = (found: Command) => reviews.closeReview(database.queries, found);
      const over = await command({ ...settled, ...listed, state: 'refused', contradiction: 'done 1' });
      for (const before of [null, 'done 2']) expect(await close({ ...over, contradiction: before })).toBeUndefined();
      expect(await close(over)).toEqual({ ...over, reviewedAtMs: startMs });
      expect(await close(over)).toBeUndefined();
      expect(await close(await command({ ...settled, ...listed, state: 'disputed', disputed_from: 'refused' }))).toBeUndefined();
      expect(await close(await command(listed))).toBeUndefined();
      expect(await close(await command({ ...settled, state: 'refused' }))).toBeUndefined();
    });
  });

  it('commands due for Recall are open and past their time, oldest first, a bounded number', async () => {
    const [late, early, now] = [
      await command({ issued_at: 20 }),
      await command({ issued_at: 10 }),
      await command({ next_recall_at: startMs }),
    ];
    await command({ next_recall_at: startMs + 1 });
    await command({ ...settled, state: 'refused' });
    expect(await sweeps.dueForRecall(database.queries, 'test-instance', 1, 10)).toEqual([early.id, late.id, now.id]);
    expect(await sweeps.dueForRecall(database.queries, 'test-instance', 1, 1)).toEqual([early.id]);
  });

  it('an unconfirmed decision is due at once, and then when it is twice as old; one instance takes it', async () => {
    const decision = { state: 'refused', settled_by: 'person', settled_at: startMs - 5_000, journal_id: 'j' } as const;
    const decided = await command(decision);
    const answered = await command({ ...decision, outcome: 'refused' });
    const due = async () => (await sweeps.dueDecisions(database.queries, 'test-instance', 1, 10_000, 10)).map(({ id }) => id);
    const take = (of: Command, firstMs = 1_000, maxMs = 9_000) => sweeps.takeDueDecision(database.queries, of, 'here', { firstMs, maxMs });
    expect(await due()).toEqual([decided.id]);
    expect([await take(decided), await take(decided), await take(answered)]).toEqual([true, false, false]);
    expect(await rowOf(decided.id)).toMatchObject({ instance_id: 'here', next_recall_at: startMs + 5_000 });
    expect(await due()).toEqual([]);
    const [young, old] = [await command(decision), await command(decision)];
    await take(young, 7_000);
    await take(old, 1_000, 2_000);
    expect((await rowOf(young.id)).next_recall_at).toBe(startMs + 7_000);
    expect((await rowOf(old.id)).next_recall_at).toBe(startMs + 2_000);
  });

  it('an abandoned command is still `sent` long after its deadline', async () => {
    const over = await command({ answer_by: startMs - 1_001 });
    await command({ answer_by: startMs - 1_000 });
    await command({ answer_by: startMs - 2_000, state: 'unknown' });
    await command({ answer_by: startMs - 2_000, ...settled, state: 'refused' });
    expect(await sweeps.abandoned(database.queries, 'test-instance', 1, 1_000, 10)).toEqual([over]);
    await command({ answer_by: startMs - 2_000 });
    expect(await sweeps.abandoned(database.queries, 'test-instance', 1, 1_000, 1)).toHaveLength(1);
  });

  it('a gateway that takes a command over sets when the next Recall is due, and that no caller waits for it', async () => {
    const orphan = await command({ recalls: 2 });
    expect(await store.takeOver(database.queries, orphan, 'here', 3_000)).toBe(true);
    expect(await rowOf(orphan.id)).toMatchObject({
      instance_id: 'here',
      recalls: 3,
      outcome_missed_at: startMs,
      next_recall_at: startMs + 3_000,
    });
    const left = await command({ outcome_missed_at: 5 });
    await store.takeOver(database.queries, left, 'here', 0);
    expect((await read(left.id)).outcomeMissedAtMs).toBe(5);
  });
});
