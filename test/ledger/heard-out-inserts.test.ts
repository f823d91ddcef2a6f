// The insert itself lets nothing pass that a person settled as not done and that its device was not asked about [D129]: whoever has asked
// may stand still until another one is settled so, or come in the moment in which that is committed.
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Schema } from '../../src/database/schema.ts';
import { linkPayment } from '../../src/fiscal/store.ts';
import type { CommandRequest } from '../../src/ledger/calls/call.ts';
import { createFirstCommits } from '../../src/ledger/calls/first-commit.ts';
import { createInsertGroup, type InsertedCommand } from '../../src/ledger/insert-batch.ts';
import { settleWithin } from '../../src/ledger/settle-batch.ts';
import { findCommand } from '../../src/ledger/store.ts';
import { unconfirmedDecisions } from '../../src/ledger/tried-before.ts';
import type { Link } from '../../src/link/link.ts';
import { engines, openTestDatabase, type TestDatabase, waitsForLock } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { withNumbers } from '../support/ledger-statements.ts';
import { until } from '../support/until.ts';

const settledAt = 1_000;
const decided = { state: 'refused', settled_by: 'person', settled_at: settledAt, journal_id: 'j' } as const;

describe.each(engines)('on %s', (engine) => {
  let database: TestDatabase;
  let merchantId: string;
  let deviceId: string;
  beforeEach(async () => {
    database = await openTestDatabase(engine);
    merchantId = (await seedMerchant(database.queries)).id;
    deviceId = (await seedDevice(database.queries, merchantId)).id;
  });
  afterEach(() => database.close());

  const seed = (overrides: Partial<Schema['commands']> = {}) =>
    seedCommand(database.queries, merchantId, deviceId, { ...decided, document_nr: 'd', ...overrides } as never);
  const fresh = (more: Partial<InsertedCommand> = {}): InsertedCommand => {
    const own = { id: randomUUID(), merchantId, deviceId, instanceId: 'i', name: 'Pay', args: {}, documentNr: 'd' } as const;
    return withNumbers({ ...own, answerWithinMs: 1, journalId: 'j', ...more });
  };
  /** Whether it goes in, with others and under locks of its own; nothing of it stays. */
  async function goesIn(more: Partial<InsertedCommand> = {}): Promise<[together: boolean, underLocks: boolean]> {
    const insertGroup = createInsertGroup(database);
    const link = { presence: { journalOf: () => 'j' } } as unknown as Link;
    const commits = createFirstCommits({ database, link, instanceId: 'i', outcomeDelivery: { statusOf: () => undefined }, insertGroup });
    const gone = async ({ id } = { id: '' }) => {
      await database.queries.deleteFrom('claims').where('command_id', '=', id).execute();
      await database.queries.updateTable('device_locks').set({ command_id: null }).where('command_id', '=', id).execute();
      await database.queries.deleteFrom('commands').where('id', '=', id).execute();
    };
    const together = await insertGroup.add(fresh(more));
    await gone(together);
    const request = { ...fresh(more), preferredChannel: 'mqtt', guard: async () => {} } as CommandRequest;
    const underLocks = await commits.begin(request, randomUUID());
    await gone(underLocks);
    return [together !== undefined, underLocks !== undefined];
  }
  const both = [true, true];
  const neither = [false, false];

  it('no insert passes an unconfirmed decision, whatever was looked up before', async () => {
    await seed();
    expect(await goesIn()).toEqual(neither);
    expect(await goesIn({ confirmedUntilMs: settledAt })).toEqual(both);
  });

  it('nor a decision that was made after another one was confirmed', async () => {
    await seed();
    await seed({ settled_at: settledAt + 1 });
    expect(await goesIn({ confirmedUntilMs: settledAt })).toEqual(neither);
    expect(await goesIn({ confirmedUntilMs: settledAt + 1 })).toEqual(both);
  });

  it('is found by the Uid of a receipt, and by its payment, whatever the operation', async () => {
    const asked = async (more: Partial<InsertedCommand>) => (await unconfirmedDecisions(database.queries, fresh(more))).length;
    await seed({ name: 'PrintReceipt', document_nr: null, receipt_uid: 'u' });
    expect(await asked({ name: 'PrintReceipt', documentNr: undefined, receiptUid: 'u' })).toBe(1);
    expect(await asked({ name: 'PrintReceipt', documentNr: undefined, receiptUid: 'other' })).toBe(0);
    const { id: targetId } = await seed({ state: 'done', outcome: 'done', document_state: 'closed', document_nr: 'paid' });
    await seed({ name: 'Refund', target_id: targetId, document_nr: 'abc' });
    expect(await asked({ name: 'CancelTransaction', targetId, documentNr: 'ABC' })).toBe(1);
    expect(await asked({ name: 'CancelTransaction', targetId, documentNr: undefined })).toBe(1);
    expect(await asked({ name: 'CancelTransaction', targetId: undefined, documentNr: 'ABC' })).toBe(0);
    expect(await asked({ name: 'Refund', documentNr: 'd' })).toBe(0);
  });

  it('is found by a payment on its receipt', async () => {
    const { id } = await seed({ name: 'PrintReceipt', document_nr: null, receipt_uid: 'u' });
    await linkPayment(database.queries, 'paid', id, 100);
    const print = fresh({ name: 'PrintReceipt', documentNr: undefined, receiptUid: 'other' });
    const asked = async (...printedPayments: string[]) =>
      (await unconfirmedDecisions(database.queries, { ...print, printedPayments })).map((command) => command.id);
    expect([await asked('another', 'paid'), await asked('another'), await asked()]).toEqual([[id], [], []]);
  });

  it('nor a CloseDoc that finds its payment in the insert, when a void of it was decided', async () => {
    const open = { outcome: 'done', document_state: 'open', operation_id: '7' } as const;
    const { id: paid } = await seed({ state: 'done', settled_by: 'answer', ...open });
    const closing = { name: 'CloseDoc', beside: 'the document it names', operationId: '7', args: {} } as const;
    const [before] = await goesIn(closing);
    await seed({ name: 'CancelTransaction', target_id: paid });
    const [after] = await goesIn(closing);
    const [heard] = await goesIn({ ...closing, confirmedUntilMs: settledAt });
    expect([before, after, heard]).toEqual([true, false, true]);
  });

  it.each<[string, Partial<Schema['commands']>, Partial<InsertedCommand>]>([
    ['its device has spoken', { outcome: 'refused' }, {}],
    ['it was settled as done, and its number is free for another kind', { state: 'done', name: 'Refund' }, {}],
    ['no person has decided it', { settled_by: 'answer' }, {}],
  ])('it is written when %s', async (_why, row, command) => {
    await seed(row);
    expect(await goesIn(command)).toEqual(both);
  });

  it('it is written on another device, for which the person has freed the number', async () => {
    await seed();
    const { id } = await seedDevice(database.queries, merchantId);
    expect(await goesIn({ deviceId: id })).toEqual(both);
  });

  // SQLite writes one transaction after the other.
  if (engine === 'sqlite') return;
  it('it is not written while a decision is being committed', async () => {
    const { id } = await seed({ state: 'unknown', settled_by: null, settled_at: null, answer_by: 1 });
    const settled = Promise.withResolvers<void>();
    const adding = settled.promise.then(() => createInsertGroup(database).add(fresh()));
    const waiting = settled.promise.then(() => until(() => waitsForLock(database)));
    waiting.catch(() => {});
    await database.transaction(async (queries) => {
      const command = await findCommand(queries, id);
      const decision = { state: 'refused', by: 'person', outcome: undefined, report: undefined, reason: 'Gone.' } as const;
      if (command) expect(await settleWithin(engine, queries, { command, settlement: decision })).toMatchObject({ state: 'refused' });
      settled.resolve();
      // It has either been left out by then, or waits for this commit.
      await Promise.race([adding, waiting]);
    });
    expect(await adding).toBeUndefined();
  });
});
