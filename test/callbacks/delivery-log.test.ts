import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Callbacks } from '../../src/callbacks/callbacks.ts';
import {
  findCallback,
  listAttemptsOf,
  listCallbacksOf,
  readListedCallbacks,
  resendCallback,
  resendDeadCallbacks,
} from '../../src/callbacks/delivery-log.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { seedCallback, seedMerchant } from '../support/fixtures.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { callbacksOn } from './harness.ts';

describe.each(engines)('the delivery log on %s', (engine) => {
  const clock = createVirtualClock(1_000_000);
  let database: TestDatabase;
  let callbacks: Callbacks;
  let merchantId: string;
  let otherId: string;

  beforeEach(async () => {
    database = await openTestDatabase(engine, clock);
    // Not started: these tests look at rows.
    callbacks = callbacksOn(database, { clock });
    merchantId = (await seedMerchant(database.queries)).id;
    otherId = (await seedMerchant(database.queries)).id;
  });
  afterEach(async () => {
    await database.close();
  });

  const ended = (state: 'dead' | 'delivered', createdAt: number) => ({
    state,
    attempts: 6,
    next_attempt_at: null,
    created_at: createdAt,
    ended_at: createdAt + 5,
  });

  it('lists newest first, by merchant, state and subject, page by page', async () => {
    const ids: string[] = [];
    for (let count = 0; count < 7; count += 1) {
      // Two share a moment: paging must not lose or repeat one.
      ids.push(
        (await seedCallback(database.queries, merchantId, ended(count % 2 ? 'dead' : 'delivered', 1_000 + Math.floor(count / 2)))).id,
      );
    }
    await seedCallback(database.queries, otherId, ended('dead', 9_000));
    const pages: string[][] = [];
    for (let before: string | undefined; ; ) {
      const page = await callbacks.list({ merchantId, limit: 3, before });
      if (page.length === 0) break;
      pages.push(page.map((each) => each.id));
      before = page.at(-1)?.id;
    }
    expect(pages.map((page) => page.length)).toEqual([3, 3, 1]);
    expect(pages.flat().sort()).toEqual([...ids].sort());
    const times = (await callbacks.list({ merchantId, limit: 100 })).map((each) => each.createdAtMs);
    expect(times).toEqual([1_003, 1_002, 1_002, 1_001, 1_001, 1_000, 1_000]);
    expect(await callbacks.list({ merchantId, state: 'dead', limit: 100 })).toHaveLength(3);
    expect(await callbacks.list({ state: 'dead', limit: 100 })).toHaveLength(4);
    const subjectId = (await callbacks.list({ limit: 1 }))[0]?.subjectId;
    expect(await callbacks.list({ subjectId, limit: 100 })).toHaveLength(1);
    expect(await callbacks.list({ limit: 100, before: randomUUID() })).toEqual([]);
  });

  it('reads callbacks by id, newest first, and those of a sale in the order in which they were written', async () => {
    const subjectId = randomUUID();
    const made: string[] = [];
    // The second and third were written in one moment: their numbers say which came first.
    for (const [sequence, createdAt] of [
      [1, 1_000],
      [3, 2_000],
      [2, 2_000],
    ] as const) {
      made.push((await seedCallback(database.queries, merchantId, { subject_id: subjectId, sequence, created_at: createdAt })).id);
    }
    const [first = '', third = '', second = ''] = made;
    const foreign = await seedCallback(database.queries, otherId, { subject_id: subjectId, sequence: 9, created_at: 1_500 });
    expect(await findCallback(database.queries, first)).toMatchObject({
      id: first,
      merchantId,
      subjectId,
      sequence: 1,
      createdAtMs: 1_000,
    });
    expect(await findCallback(database.queries, randomUUID())).toBeUndefined();

    const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);
    expect(idsOf(await readListedCallbacks(database.queries, [first, second, third]))).toEqual([
      ...[second, third].sort().reverse(),
      first,
    ]);
    expect(await readListedCallbacks(database.queries, [])).toEqual([]);
    const ofSale = (limit: number) => listCallbacksOf(database.queries, merchantId, [subjectId, randomUUID()], limit);
    expect(idsOf(await ofSale(10))).toEqual([first, second, third]);
    expect(idsOf(await ofSale(2))).toEqual([first, second]);

    for (const [at, callbackId] of [second, first, foreign.id, second].entries()) {
      const values = { callback_id: callbackId, attempt: at, at, status: null, error: 'no', duration_ms: 3, response_head: 'not listed' };
      await database.queries.insertInto('callback_attempts').values(values).execute();
    }
    const tries = (limit: number) => listAttemptsOf(database.queries, [first, second], limit);
    const one = { status: null, error: 'no', durationMs: 3 };
    expect(await tries(10)).toEqual([
      { ...one, callbackId: second, attempt: 0, atMs: 0 },
      { ...one, callbackId: first, attempt: 1, atMs: 1 },
      { ...one, callbackId: second, attempt: 3, atMs: 3 },
    ]);
    expect(await tries(1)).toHaveLength(1);
    expect(await listAttemptsOf(database.queries, [], 10)).toEqual([]);
    expect((await callbacks.attempts(second)).map(({ attempt }) => attempt)).toEqual([0, 3]);
  });

  it.each(['dead', 'delivered'] as const)('gives a %s callback a new round', async (state) => {
    const { id } = await seedCallback(database.queries, merchantId, ended(state, 1_000));
    await resendCallback(database.queries, id);
    expect(await callbacks.list({ limit: 1 })).toMatchObject([
      { id, state: 'pending', attempts: 0, nextAttemptAtMs: clock.now(), endedAtMs: null },
    ]);
  });

  it('sends one that waits for its retry now, and leaves one in flight alone', async () => {
    const waiting = await seedCallback(database.queries, merchantId, { attempts: 3, next_attempt_at: clock.now() + 3_600_000 });
    await resendCallback(database.queries, waiting.id);
    expect(await callbacks.list({ limit: 1 })).toMatchObject([{ attempts: 0, nextAttemptAtMs: clock.now() }]);
    const leaseEnd = clock.now() + 60_000;
    const flying = await seedCallback(database.queries, otherId, {
      attempts: 3,
      next_attempt_at: leaseEnd,
      leased_by: 'x',
      leased_until: leaseEnd,
    });
    await resendCallback(database.queries, flying.id);
    expect(await callbacks.list({ merchantId: otherId, limit: 1 })).toMatchObject([{ attempts: 3, nextAttemptAtMs: leaseEnd }]);
  });

  it('resends nothing under an unknown id', async () => {
    await seedCallback(database.queries, merchantId, ended('dead', 1_000));
    await expect(resendCallback(database.queries, randomUUID())).rejects.toMatchObject({ errorName: 'Record_not_exist' });
    expect(await callbacks.list({ state: 'dead', limit: 10 })).toHaveLength(1);
  });

  it('resends the dead ones of a range, and no others', async () => {
    const inside = [
      await seedCallback(database.queries, merchantId, ended('dead', 1_000)),
      await seedCallback(database.queries, merchantId, ended('dead', 1_999)),
    ];
    await seedCallback(database.queries, merchantId, ended('dead', 999));
    await seedCallback(database.queries, merchantId, ended('dead', 2_000));
    await seedCallback(database.queries, merchantId, ended('delivered', 1_500));
    await seedCallback(database.queries, otherId, ended('dead', 1_500));
    expect(await resendDeadCallbacks(database.queries, { merchantId, fromMs: 1_000, toMs: 2_000 })).toBe(2);
    const pending = await callbacks.list({ state: 'pending', limit: 100 });
    expect(pending.map((each) => each.id).sort()).toEqual(inside.map((each) => each.id).sort());
    expect(pending.every((each) => each.attempts === 0 && each.nextAttemptAtMs === clock.now())).toBe(true);
    expect(await resendDeadCallbacks(database.queries, { merchantId, fromMs: 1_000, toMs: 2_000 })).toBe(0);
  });

  it('counts for the metrics', async () => {
    expect(await callbacks.stats()).toEqual({ pending: 0, oldestPendingAgeMs: 0, dead: 0 });
    expect(callbacks.counts()).toEqual({ inFlight: 0, delivered: 0, failedAttempts: 0, died: 0 });
    await seedCallback(database.queries, merchantId, { created_at: clock.now() - 5_000 });
    await seedCallback(database.queries, merchantId);
    await seedCallback(database.queries, merchantId, ended('dead', 1_000));
    expect(await callbacks.stats()).toMatchObject({ pending: 2, oldestPendingAgeMs: 5_000, dead: 1 });
  });
});
