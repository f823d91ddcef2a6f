// The guards of the statements that move payments, each by itself and on both engines: a late or doubled word changes nothing.
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { confirmAbort, forgetAbortCaller, markAbortRequested, withdrawAbort } from '../../src/cards/abort-store.ts';
import { lockUndisputed, settleBankDay, voidDocument } from '../../src/cards/store.ts';
import type { Command } from '../../src/ledger/command.ts';
import * as reviews from '../../src/ledger/review-store.ts';
import { committedRefundsOf } from '../../src/ledger/standing.ts';
import * as ledger from '../../src/ledger/store.ts';
import { engines, openQuickDatabase, type TestDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { settle } from '../support/ledger-statements.ts';

const settled = { settled_at: 1, settled_by: 'answer' } as const;
const ended = {
  done: { ...settled, state: 'done', document_state: 'closed' },
  refused: { ...settled, state: 'refused' },
  never: { ...settled, state: 'never' },
} as const;
const endings = Object.keys(ended) as (keyof typeof ended)[];

describe.each(engines)('on %s', (engine) => {
  let database: TestDatabase;
  let merchantId: string;

  beforeEach(async () => {
    database = await openQuickDatabase(engine);
    merchantId = (await seedMerchant(database.queries)).id;
  });
  afterEach(() => database.close());

  async function payment(overrides: Parameters<typeof seedCommand>[3] = {}, on?: string): Promise<string> {
    const deviceId = on ?? (await seedDevice(database.queries, merchantId)).id;
    return (await seedCommand(database.queries, merchantId, deviceId, overrides)).id;
  }
  const row = (id: string) => database.queries.selectFrom('commands').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  const read = async (id: string) => (await ledger.findCommand(database.queries, id)) as Command;

  /** Whatever `change` says, the row is as it was. */
  async function expectUntouched(id: string, change: () => Promise<unknown>): Promise<void> {
    const before = await row(id);
    expect(await change()).toBeOneOf([undefined, false]);
    expect(await row(id)).toEqual(before);
  }

  describe.each(endings)('a payment that was settled as %s', (state) => {
    it('is not settled again, not unknown again, not put on review as open, and cannot be aborted', async () => {
      const id = await payment(ended[state]);
      const { queries } = database;
      const again = { state: 'refused', by: 'recall', outcome: 'refused', report: undefined, reason: undefined } as const;
      const command = { ...(await read(id)), state: 'sent' } as Command;
      await expectUntouched(id, () => settle(database, command, again));
      await expectUntouched(id, () => ledger.markUnknown(queries, id, 1));
      await expectUntouched(id, () => reviews.putOnReview(queries, id, 'why', { unless: 'settled' }));
      await expectUntouched(id, async () => ((await reviews.putOverdueOnReview(queries, 0)).length === 0 ? undefined : 'some'));
      await expectUntouched(id, () => markAbortRequested(queries, id, 'a', undefined));
    });
  });

  it('that became unknown does not become so twice: its next Recall stays where it is', async () => {
    const id = await payment({ state: 'unknown', next_recall_at: 5 });
    await expectUntouched(id, () => ledger.markUnknown(database.queries, id, 1));
  });

  it('a document is closed once, and one that was voided stays voided', async () => {
    const open = await payment({ ...ended.done, document_state: 'open' });
    expect(await ledger.closeDocument(database.queries, open)).toBe(true);
    await expectUntouched(open, () => ledger.closeDocument(database.queries, open));
    const voided = await payment({ ...ended.done, document_state: 'voided' });
    await expectUntouched(voided, () => ledger.closeDocument(database.queries, voided));
    await expectUntouched(voided, () => voidDocument(database.queries, voided, 'v'));
    const running = await payment();
    await expectUntouched(running, () => voidDocument(database.queries, running, 'v'));
  });

  it('the end of the bank day takes payments of that terminal only, none that was voided, and each once', async () => {
    const { id: terminal } = await seedDevice(database.queries, merchantId);
    const closed = await payment(ended.done, terminal);
    const open = await payment({ ...ended.done, document_state: 'open' }, terminal);
    const earlier = await payment({ ...ended.done, bank_day_closed_at: 7 }, terminal);
    const others = [await payment({ ...ended.done, document_state: 'voided' }, terminal), await payment(ended.done)];
    await settleBankDay(database.queries, { deviceId: terminal, issuedAtMs: Number.MAX_SAFE_INTEGER } as Command);
    for (const id of [closed, open]) expect((await row(id)).bank_day_closed_at).not.toBeNull();
    expect((await row(earlier)).bank_day_closed_at).toBe(7);
    for (const id of others) expect((await row(id)).bank_day_closed_at).toBeNull();
  });

  it('the refunded sum includes unresolved refunds, and no refused ones', async () => {
    const id = await payment(ended.done);
    const refund = (amount: number, state: object) =>
      payment({ name: 'Refund', target_id: id, amount_bani: amount, document_state: null, ...state });
    await refund(1, { ...settled, state: 'done' });
    await refund(10, { state: 'sent' });
    await refund(100, { state: 'unknown' });
    await refund(1_000, { ...settled, state: 'refused' });
    await refund(10_000, { ...settled, state: 'never' });
    await payment({ name: 'CancelTransaction', target_id: id, amount_bani: 100_000, ...settled, state: 'done' });
    const { followers } = await lockUndisputed(database, database.queries, id);
    expect(committedRefundsOf(followers)).toBe(111);
  });

  describe('the mark of an abort', () => {
    const marked = (abortId: string) => ({ abort_requested_at: 3, abort_id: abortId });

    it('is removed by the request that set it, and by no other', async () => {
      const id = await payment(marked('newer'));
      await expectUntouched(id, () => withdrawAbort(database.queries, id, 'older'));
      await withdrawAbort(database.queries, id, 'newer');
      expect(await row(id)).toMatchObject({ abort_requested_at: null, abort_id: null });
    });

    it('loses the id of its request when that was answered, and by no other request’s answer', async () => {
      const id = await payment({ ...marked('mine'), abort_hash: 'mine' });
      await expectUntouched(id, () => forgetAbortCaller(database.queries, id, 'other'));
      await forgetAbortCaller(database.queries, id, 'mine');
      expect(await row(id)).toMatchObject({ ...marked('mine'), abort_hash: null });
    });

    it('stays when the payment was settled under it', async () => {
      const id = await payment({ ...ended.refused, ...marked('mine') });
      await expectUntouched(id, () => withdrawAbort(database.queries, id, 'mine'));
    });

    it('is confirmed once, and never on a payment that was made or may have been', async () => {
      const refused = await payment(ended.refused);
      expect((await confirmAbort(database.queries, refused))?.id).toBe(refused);
      await expectUntouched(refused, () => confirmAbort(database.queries, refused));
      for (const overrides of [ended.done, {}, { state: 'unknown' } as const]) {
        const id = await payment({ ...overrides, document_nr: randomUUID() });
        await expectUntouched(id, () => confirmAbort(database.queries, id));
      }
    });
  });
});
