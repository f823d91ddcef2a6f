import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { clearDelivered } from '../../src/callbacks/retention.ts';
import { engines, openTestDatabase, type TestDatabase, untilIdle } from '../support/engines.ts';
import { seedCallback, seedMerchant } from '../support/fixtures.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';
import { callbacksOn } from './harness.ts';

const dayMs = 24 * 3_600_000;

describe.each(engines)('delivered callbacks on %s', (engine) => {
  let clock: VirtualClock;
  let database: TestDatabase;
  let merchantId: string;

  beforeEach(async () => {
    const opened: { database?: TestDatabase } = {};
    clock = createVirtualClock(1_000 * dayMs, { settle: async () => opened.database && (await untilIdle(opened.database)) });
    database = await openTestDatabase(engine, clock);
    opened.database = database;
    merchantId = (await seedMerchant(database.queries)).id;
  });
  afterEach(() => database.close());

  /** Written so many days ago, and ended so many days ago. */
  async function seed(state: 'delivered' | 'dead' | 'pending', daysOld: number, endedDaysAgo = daysOld): Promise<string> {
    const at = (days: number) => clock.now() - days * dayMs;
    const ended =
      state === 'pending' ? { next_attempt_at: at(0) + dayMs, ended_at: null } : { next_attempt_at: null, ended_at: at(endedDaysAgo) };
    const { id } = await seedCallback(database.queries, merchantId, { state, attempts: 1, created_at: at(daysOld), ...ended });
    await database.queries
      .insertInto('callback_attempts')
      .values({ callback_id: id, attempt: 1, at: at(daysOld), status: 200, error: null, duration_ms: 3, response_head: null })
      .execute();
    return id;
  }

  async function kept(): Promise<string[]> {
    const callbacks = await database.queries.selectFrom('callbacks').select('id').execute();
    const attempts = await database.queries.selectFrom('callback_attempts').select('callback_id as id').execute();
    expect(attempts.map(({ id }) => id).sort()).toEqual(callbacks.map(({ id }) => id).sort());
    return callbacks.map(({ id }) => id).sort();
  }

  it('are deleted after their days, with their attempts; dead and pending ones, and one resent lately, stay', async () => {
    await seed('delivered', 91);
    const staying = [await seed('delivered', 89), await seed('delivered', 400, 2), await seed('dead', 400), await seed('pending', 400)];
    expect(await clearDelivered(database, 90)).toBe(1);
    expect(await kept()).toEqual(staying.sort());
    expect(await clearDelivered(database, 90)).toBe(0);
  });

  it('are all deleted, however many there are', async () => {
    const { id } = await seedCallback(database.queries, merchantId, {
      state: 'delivered',
      ended_at: 0,
      created_at: 0,
      next_attempt_at: null,
    });
    const row = await database.queries.selectFrom('callbacks').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    const more = Array.from({ length: 1_000 }, () => ({ ...row, id: randomUUID(), subject_id: randomUUID() }));
    await database.queries.insertInto('callbacks').values(more).execute();
    expect(await clearDelivered(database, 90)).toBe(1_001);
    expect(await kept()).toEqual([]);
  });

  it('are deleted automatically while the gateway runs', async () => {
    const callbacks = callbacksOn(database, { clock, keepDays: 10 });
    await seed('delivered', 10);
    const young = await seed('delivered', 9);
    callbacks.start();
    await clock.advance(3_600_000);
    expect(await kept()).toEqual([young]);
    await callbacks.stop();
  });
});
