// The sum of refunds is taken in the transaction that commits the refund: what was refunded since the call came in counts. The old core's;
// meanwhile.test.ts and parallel-refunds.test.ts have the promise for both.
import { expect, it } from 'vitest';
import { lockUndisputed } from '../../src/cards/store.ts';
import { insertWithin } from '../../src/ledger/insert-batch.ts';
import { committedRefundsOf } from '../../src/ledger/standing.ts';
import { engines, openQuickDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';

it.each(engines)('a second sum waits until the first refund is committed, however long that takes, on %s', async (engine) => {
  const database = await openQuickDatabase(engine);
  const { id: merchantId } = await seedMerchant(database.queries);
  const { id: deviceId } = await seedDevice(database.queries, merchantId);
  const settled = { state: 'done', document_state: 'closed', settled_at: 1, settled_by: 'answer' } as const;
  const { id: payment } = await seedCommand(database.queries, merchantId, deviceId, settled);
  const sums: number[] = [];
  const first = Promise.withResolvers<void>();
  /** As cards/refund.ts does it; what each sees is noted, and the first is held up between its sum and its insert. */
  const refund = (id: string, heldUp: Promise<unknown>) =>
    database.transaction(async (queries) => {
      sums.push(committedRefundsOf((await lockUndisputed(database, queries, payment)).followers));
      first.resolve();
      await heldUp;
      await insertWithin(engine, queries, {
        ...{ id, merchantId, deviceId, instanceId: 'i', args: {}, answerWithinMs: 1, journalId: undefined },
        ...{ name: 'Refund', targetId: payment, amountBani: 600 },
      });
    });
  const hold = Promise.withResolvers<void>();
  const slow = refund('slow', hold.promise);
  await first.promise;
  const quick = refund('quick', Promise.resolve());
  // Many round trips: without the lock the second would have its sum by now.
  for (let turns = 0; turns < 20; turns += 1)
    await (engine === 'postgres' ? database.checkWrite() : new Promise((resolve) => setImmediate(resolve)));
  hold.resolve();
  await Promise.all([slow, quick]);
  expect(sums).toEqual([0, 600]);
  await database.close();
});
