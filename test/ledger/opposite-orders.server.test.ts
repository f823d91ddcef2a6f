// Two gateways on PostgreSQL whose batches want the same devices, or the same numbers, in opposite orders. Rows are locked in one order
// everywhere (group.ts, insert-batch.ts): a batch waits for the other one, and is never broken up because each has what the other wants.
import { randomUUID } from 'node:crypto';
import type { CompiledQuery } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { systemClock } from '../../src/kernel/system.ts';
import { createInsertGroup, type InsertedCommand, type InsertGroup } from '../../src/ledger/insert-batch.ts';
import { openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { seedDevice, seedMerchant } from '../support/fixtures.ts';
import { withNumbers } from '../support/ledger-statements.ts';
import { createSaleWorld } from '../support/sale-world.ts';
import { until } from '../support/until.ts';

describe('two batches of first commits', () => {
  const rounds = 40;
  const size = 100;
  let databases: [TestDatabase, TestDatabase];
  let merchantId: string;
  /** Statements that wait as long as they may: rows of a batch that was given up. On a busy machine one may wait too long for the other. */
  let alone: number;

  beforeEach(async () => {
    const database = await openTestDatabase('postgres');
    databases = [database, await database.another()];
    merchantId = (await seedMerchant(database.queries)).id;
    alone = 0;
  });
  afterEach(async () => {
    for (const database of [...databases].reverse()) await database.close();
  });

  /** As a gateway has it, with its statements counted. */
  function insertsOn(database: Database): InsertGroup {
    const executeQuery = (query: CompiledQuery) => {
      if (!query.sql.includes('lock_timeout')) alone += 1;
      return database.queries.executeQuery(query);
    };
    const getter = (queries: Database['queries'], name: string | symbol) => {
      const member: unknown = name === 'executeQuery' ? executeQuery : Reflect.get(queries, name, queries);
      return typeof member === 'function' ? member.bind(queries) : member;
    };
    return createInsertGroup({ ...database, queries: new Proxy(database.queries, { get: getter }) });
  }

  const pay = (deviceId: string, documentNr: string): InsertedCommand =>
    withNumbers({
      ...{ id: randomUUID(), merchantId, deviceId, instanceId: 'i', name: 'Pay', args: { amount: 1.5 }, amountBani: 150 },
      ...{ answerWithinMs: 1_000, journalId: 'j', documentNr },
    });
  const devices = () => Promise.all(Array.from({ length: size }, async () => (await seedDevice(databases[0].queries, merchantId)).id));
  const freeAll = () => databases[0].queries.updateTable('device_locks').set({ command_id: null }).execute();

  /** How many of both were written in all, by each name; every call has ended. */
  async function writtenBy(batches: [InsertedCommand[], InsertedCommand[]], nameOf: (command: InsertedCommand) => string) {
    const groups = databases.map(insertsOn);
    const times = new Map<string, number>();
    await Promise.all(
      batches.flatMap((batch, at) =>
        batch.map(async (command) => {
          if (await groups[at]?.add(command)) times.set(nameOf(command), (times.get(nameOf(command)) ?? 0) + 1);
        }),
      ),
    );
    return times;
  }

  it('write one command on each device, and no batch is broken up', { timeout: 60_000 }, async () => {
    const ids = await devices();
    for (let round = 0; round < rounds; round += 1) {
      await freeAll();
      const fresh = (deviceId: string) => pay(deviceId, randomUUID());
      const times = await writtenBy([ids.map(fresh), ids.toReversed().map(fresh)], ({ deviceId }) => deviceId);
      expect([times.size, Math.max(...times.values())]).toEqual([size, 1]);
    }
    expect(alone).toBeLessThanOrEqual(2 * size);
  });

  it('write one command under each number, and no batch is broken up', { timeout: 60_000 }, async () => {
    const [own, others] = [(await devices()).toSorted(), (await devices()).toSorted()];
    for (let round = 0; round < rounds; round += 1) {
      await freeAll();
      const numbers = Array.from({ length: size }, () => randomUUID()).toSorted();
      const under = (ids: string[], given: string[]) => ids.map((id, at) => pay(id, given[at] ?? ''));
      const batches: [InsertedCommand[], InsertedCommand[]] = [under(own, numbers), under(others, numbers.toReversed())];
      const times = await writtenBy(batches, ({ documentNr }) => documentNr ?? '');
      expect([times.size, Math.max(...times.values())]).toEqual([size, 1]);
    }
    expect(alone).toBeLessThanOrEqual(2 * size);
  });
});

it('payments that reach two gateways in opposite orders are all answered 0, and each is charged once', { timeout: 60_000 }, async () => {
  const database = await openTestDatabase('postgres');
  const second = await database.another();
  const world = await createSaleWorld({ database, clock: systemClock });
  const other = await world.startLife({ database: second });
  const timing = { customerMs: 5, bankMs: 2 };
  const terminals = await Promise.all(Array.from({ length: 8 }, () => world.terminal({ hasMagic: false, timing })));
  const gateways = [world.life, other];
  await until(() => gateways.every(({ link }) => terminals.every(({ id }) => link.presence.of(id) !== undefined)));
  for (let round = 0; round < 10; round += 1) {
    const sales = terminals.map(({ id }) => ({ merchantId: world.merchantId, deviceId: id, amountBani: 1_000, documentNr: randomUUID() }));
    const orders = [sales, sales.toReversed()];
    const paying = orders.flatMap((calls, at) => calls.map((call) => world.told((gateways[at] ?? other).cards.pay(call))));
    const answers = await Promise.all(paying);
    expect(answers.map(({ code }) => code)).toEqual(answers.map(() => 0));
    const closing = answers
      .slice(0, sales.length)
      .map(({ report }, at) => ({ ...sales[at], operationId: String(report?.operationId) }) as Parameters<typeof other.cards.closeDoc>[0]);
    const closed = await Promise.all(closing.map((call) => world.told(other.cards.closeDoc(call))));
    expect(closed.map(({ code }) => code)).toEqual(closed.map(() => 0));
  }
  expect(terminals.map(({ bank }) => bank.charges().length)).toEqual(terminals.map(() => 10));
  await other.stop();
  await world.stop();
  await second.close();
  await database.close();
});
