// The guards of the worker's statements, each by itself: who may end an attempt, and what a late word still changes.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Outcome, recordAttempts } from '../../src/callbacks/attempt-records.ts';
import { type ClaimedCallback, releaseLeases } from '../../src/callbacks/store.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { withFailingInsert } from '../support/failing-insert.ts';
import { seedCallback, seedMerchant } from '../support/fixtures.ts';
import { until } from '../support/until.ts';
import { answered, callbacksOn, enqueue, memoryErp } from './harness.ts';

describe.each(engines)('the end of an attempt on %s', (engine) => {
  let database: TestDatabase;
  let merchantId: string;

  beforeEach(async () => {
    database = await openTestDatabase(engine);
    merchantId = (await seedMerchant(database.queries)).id;
  });
  afterEach(() => database.close());

  const soonMs = () => Date.now() + 60_000;
  const leased = (by: string, attempts = 0) =>
    seedCallback(database.queries, merchantId, { leased_by: by, leased_until: soonMs(), next_attempt_at: soonMs(), attempts });
  const rowOf = (id: string) => database.queries.selectFrom('callbacks').selectAll().where('id', '=', id).executeTakeFirstOrThrow();

  /** What instance `me` records of an attempt that it began when there had been none. */
  async function record(id: string, outcome: Outcome, isRepeat = false): Promise<void> {
    const claimed: ClaimedCallback = {
      id,
      merchantId,
      host: 'erp.example',
      sequence: 1,
      url: 'http://erp.example/',
      secrets: ['s'],
      attempts: 0,
    };
    const result = answered(outcome.kind === 'delivered' ? 200 : 500);
    await recordAttempts(database, 'me', [{ callback: claimed, result, outcome, isRepeat }]);
  }

  const failures: Outcome[] = [{ kind: 'retry', delayMs: 1 }, { kind: 'dead' }];

  it.each(failures)('a failure ($kind) of a gateway that has lost its lease changes nothing for the holder', async (failure) => {
    const { id } = await leased('another');
    const before = await rowOf(id);
    await record(id, failure);
    expect(await rowOf(id)).toEqual(before);
  });

  it.each(failures)('a failure ($kind) of an attempt before the one in progress changes nothing', async (failure) => {
    const { id } = await leased('me', 1);
    const before = await rowOf(id);
    await record(id, failure);
    expect(await rowOf(id)).toEqual(before);
  });

  it('a failure of the holder counts', async () => {
    const { id } = await leased('me');
    await record(id, { kind: 'dead' });
    expect(await rowOf(id)).toMatchObject({ state: 'dead', attempts: 1, leased_by: null });
  });

  it('a success counts for every lease holder: the ERP has received it', async () => {
    const { id } = await leased('another', 3);
    await record(id, { kind: 'delivered' });
    expect(await rowOf(id)).toMatchObject({ state: 'delivered', leased_by: null });
  });

  it.each([{ kind: 'delivered' } as const, ...failures])('$kind changes nothing about one that has ended', async (outcome) => {
    const { id } = await seedCallback(database.queries, merchantId, { state: 'delivered', next_attempt_at: null, ended_at: 1 });
    const before = await rowOf(id);
    await record(id, outcome);
    expect(await rowOf(id)).toEqual(before);
  });

  it('is recorded, also when it changes nothing, but a second time only if it still changes something', async () => {
    const attemptsOf = async (id: string) =>
      (await database.queries.selectFrom('callback_attempts').select('id').where('callback_id', '=', id).execute()).length;
    const late = await leased('another');
    await record(late.id, { kind: 'dead' });
    expect(await attemptsOf(late.id)).toBe(1);
    await record(late.id, { kind: 'dead' }, true);
    expect(await attemptsOf(late.id)).toBe(1);
    const unclear = await leased('me');
    await record(unclear.id, { kind: 'retry', delayMs: 1_000 }, true);
    expect([await attemptsOf(unclear.id), (await rowOf(unclear.id)).attempts]).toEqual([1, 1]);
  });

  it('returns its own leases only', async () => {
    const [mine, theirs] = [await leased('me'), await leased('another')];
    await releaseLeases(database.queries, 'me', [mine.id, theirs.id]);
    expect((await rowOf(mine.id)).leased_by).toBeNull();
    expect((await rowOf(theirs.id)).leased_by).toBe('another');
  });

  it('is written with its line in the log, or neither is', async () => {
    const failing = withFailingInsert(database);
    const { send } = memoryErp({ nowMs: () => Date.now(), answer: () => answered(200) });
    const callbacks = callbacksOn(failing.database, { send });
    failing.failNextInsertInto('callback_attempts');
    callbacks.start();
    await enqueue(database, callbacks, { merchantId });
    const delivered = async () => (await callbacks.list({ limit: 1, state: 'delivered' }))[0];
    await until(async () => (await delivered()) !== undefined && callbacks.counts().inFlight === 0);
    expect(failing.failed()).toBe(1);
    expect((await callbacks.attempts((await delivered())?.id ?? '')).map(({ status }) => status)).toEqual([200]);
    await callbacks.stop();
  });
});
