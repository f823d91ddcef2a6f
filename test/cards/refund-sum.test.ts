// The sum of refunds is taken in the transaction that commits the refund: what was refunded since the call came in counts.
import { expect, it } from 'vitest';
import { lockUndisputed } from '../../src/cards/store.ts';
import { insertWithin } from '../../src/ledger/insert-batch.ts';
import { committedRefundsOf } from '../../src/ledger/standing.ts';
import { isNewCore } from '../support/core.ts';
import { engines, openQuickDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { createSaleWorld } from '../support/sale-world.ts';

// The old core is held up where it looks for the terminal, which the new one does not; parallel-refunds.test.ts runs on both.
it.skipIf(isNewCore)('a refund that was overtaken by another one is checked against the remainder then', async () => {
  const world = await createSaleWorld();
  const terminal = await world.terminal();
  const call = { merchantId: world.merchantId, deviceId: terminal.id };
  const documentNr = world.random.uuid();
  const { report } = await world.run(world.pay(terminal.id, 10, documentNr));
  const payment = { documentNr, operationId: String(report?.operationId), rrn: String(report?.rrn) };
  await world.run(world.cards.closeDoc({ ...call, ...payment }));
  const refund = () => world.run(world.cards.refund({ ...call, ...payment, amountBani: 600, currency: 'MDL' }));

  // The first is held up where it looks for the terminal, after all that it reads beforehand.
  const { link } = world.life;
  const locate = link.locate.bind(link);
  link.locate = async (deviceId, first) => {
    link.locate = locate;
    expect((await refund()).code).toBe(0);
    return locate(deviceId, first);
  };
  expect(await refund()).toMatchObject({ code: 40, message: expect.stringContaining('4.00') });
  expect((await world.commands()).filter(({ name }) => name === 'Refund')).toHaveLength(1);
  expect(terminal.bank.netBani()).toBe(400);
});

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
