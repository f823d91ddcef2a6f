// What a batch tells of its commands is what stands in the table, though the database is asked for little of it: a field that is left out,
// or believed from before, would go into answers, callbacks and sums.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Command } from '../../src/ledger/command.ts';
import { createInsertGroup, type InsertedCommand } from '../../src/ledger/insert-batch.ts';
import { putOnReview } from '../../src/ledger/review-store.ts';
import { createSettleGroup } from '../../src/ledger/settle-batch.ts';
import { findCommand, markAccepted, markUnknown, takeOver } from '../../src/ledger/store.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { seedDevice, seedMerchant } from '../support/fixtures.ts';

describe.each(engines)('a command of a batch on %s', (engine) => {
  let database: TestDatabase;
  let merchantId: string;

  beforeAll(async () => {
    database = await openTestDatabase(engine);
    merchantId = (await seedMerchant(database.queries)).id;
  });
  afterAll(() => database.close());

  async function given(more: Partial<InsertedCommand> = {}): Promise<InsertedCommand> {
    const deviceId = more.deviceId ?? (await seedDevice(database.queries, merchantId)).id;
    const own = { id: randomUUID(), merchantId, deviceId, instanceId: 'first', name: 'Pay', args: { amount: 1 } } as const;
    return { ...own, answerWithinMs: 300_000, journalId: undefined, ...more };
  }
  const insert = (command: InsertedCommand) => createInsertGroup(database).add(command);
  const stands = (id: string) => findCommand(database.queries, id);
  const settle = async (command: Command) =>
    createSettleGroup(database).add({
      command,
      settlement: {
        state: 'done',
        by: 'answer',
        outcome: 'done',
        report: '{"rrn":"7"}',
        reason: 'because',
        operationId: '000000001',
        rrn: '7',
        receiptId: 'R-1',
        wasAccepted: true,
      },
    });

  it('with every field set is returned as written', async () => {
    const everything = await given({
      name: 'PrintReceipt',
      args: { receipt: { lines: ['Bread', 'Ĳsberg "…"'] }, cash: null },
      journalId: 'journal',
      amountBani: 15_050,
      cashBani: 50,
      cardBani: 15_000,
      documentNr: 'D-1',
      receiptUid: 'U-1',
      contentHash: 'content',
      callbackUri: 'https://erp.example/#State#',
      requestHash: 'request',
      isOutcomeMissed: true,
      origin: { caller: 'key', request: 'POST' },
      idempotency: { key: 'K-1', requestHash: 'request' },
    });
    const told = await insert(everything);
    expect(told).toEqual(await stands(everything.id));
    expect(told).toMatchObject({
      state: 'sent',
      recalls: 0,
      noticeSequence: 0,
      outcomeMissedAtMs: expect.any(Number),
      journalId: 'journal',
    });
  });

  it('with almost no fields set is returned as written', async () => {
    const little = await given({ name: 'CloseDay', args: {} });
    expect(await insert(little)).toEqual(await stands(little.id));
  });

  it('that finds its payment by itself is returned with it', async () => {
    const paid = await settle((await insert(await given({ documentNr: 'D-2' }))) as Command);
    const { id: targetId, deviceId } = paid as Command;
    const closes = await given({
      name: 'CloseDoc',
      deviceId,
      documentNr: 'D-2',
      operationId: '000000001',
      beside: 'the document it names',
    });
    const told = (await insert(closes)) as Command;
    expect(told).toEqual(await stands(closes.id));
    expect(told.targetId).toBe(targetId);
    expect(await settle(told)).toEqual(await stands(closes.id));
    expect((await stands(targetId))?.documentState).toBe('closed');
  });

  it('that changed since its caller read it is returned as it is now', async () => {
    const seen = (await insert(await given({ documentNr: 'D-3', requestHash: 'request' }))) as Command;
    await markAccepted(database, [seen.id]);
    await markUnknown(database.queries, seen.id, 0);
    await takeOver(database.queries, seen, 'second', 1_000);
    await putOnReview(database.queries, seen.id, 'nobody knows');
    const told = await settle(seen);
    expect(told).toEqual(await stands(seen.id));
    expect(told).toMatchObject({ state: 'done', instanceId: 'second', recalls: 1, reviewReason: 'nobody knows', operationId: '000000001' });
  });
});
