// The schedule, the order and the leases in virtual time, on SQLite in memory.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Callbacks, CallbacksDeps } from '../../src/callbacks/callbacks.ts';
import { enqueueCallback } from '../../src/callbacks/outbox.ts';
import type { AttemptResult } from '../../src/callbacks/sender.ts';
import type { Database } from '../../src/database/database.ts';
import { GatewayError } from '../../src/kernel/error-codes.ts';
import { systemRandom } from '../../src/kernel/system.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCallback, seedMerchant } from '../support/fixtures.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';
import { answered, type Call, callbacksOn, enqueue, memoryErp } from './harness.ts';

let clock: VirtualClock;
let database: Database;
let merchantId: string;
let startMs: number;
const started: Callbacks[] = [];

beforeEach(async () => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  startMs = clock.now();
  database = await memoryDatabase(clock);
  merchantId = (await seedMerchant(database.queries)).id;
});
afterEach(async () => {
  for (const callbacks of started.splice(0)) {
    const stopped = callbacks.stop();
    await clock.advance(10_000);
    await stopped;
  }
  await database.close();
});

function begin(answer?: (call: Call) => AttemptResult | undefined, overrides: Partial<CallbacksDeps> = {}) {
  const erp = memoryErp({ nowMs: () => clock.now() - startMs, ...(answer ? { answer } : {}) });
  const callbacks = callbacksOn(database, { clock, send: erp.send, ...overrides });
  callbacks.start();
  started.push(callbacks);
  return { ...erp, callbacks };
}

const secondsOf = (calls: Call[]) => calls.map((call) => call.atMs / 1000);

describe('the schedule', () => {
  it('is one immediate attempt and five retries; then the callback is dead', async () => {
    const { callbacks, calls } = begin(() => answered(500));
    await enqueue(database, callbacks, { merchantId });
    await clock.advance(3 * 24 * 3600 * 1000);
    expect(secondsOf(calls)).toEqual([0, 60, 360, 2160, 5760, 27_360]);
    expect(new Set(calls.map((call) => call.id)).size).toBe(1);
    const [dead] = await callbacks.list({ limit: 10 });
    expect(dead).toMatchObject({ state: 'dead', attempts: 6, nextAttemptAtMs: null, endedAtMs: startMs + 27_360_000 });
    const attempts = await callbacks.attempts(dead?.id ?? '');
    expect(attempts.map(({ attempt, status, error, responseHead }) => [attempt, status, error, responseHead])).toEqual(
      [1, 2, 3, 4, 5, 6].map((attempt) => [attempt, 500, null, 'answer 500']),
    );
    expect(attempts.map((attempt) => (attempt.atMs + attempt.durationMs - startMs) / 1000)).toEqual([0, 60, 360, 2160, 5760, 27_360]);
    expect(await callbacks.stats()).toMatchObject({ pending: 0, dead: 1 });
    expect(callbacks.counts()).toEqual({ delivered: 0, failedAttempts: 6, died: 1, inFlight: 0 });
  });

  it('counts each delay from the end of the attempt before', async () => {
    const { callbacks, calls } = begin();
    await enqueue(database, callbacks, { merchantId });
    await clock.advance(14_000);
    calls[0]?.end({ status: null, error: 'No answer within 15 s.', durationMs: 14_000, responseHead: null });
    await clock.advance(59_000);
    expect(calls.length).toBe(1);
    await clock.advance(1_000);
    expect(secondsOf(calls)).toEqual([0, 74]);
  });

  it.each([200, 201, 204, 299])('ends with the first %i', async (status) => {
    const { callbacks, calls } = begin((call) => answered(call.atMs === 0 ? 503 : status));
    await enqueue(database, callbacks, { merchantId });
    await clock.advance(24 * 3600 * 1000);
    expect(secondsOf(calls)).toEqual([0, 60]);
    expect(await callbacks.list({ limit: 10 })).toMatchObject([{ state: 'delivered', attempts: 2, nextAttemptAtMs: null }]);
    expect(await callbacks.stats()).toMatchObject({ pending: 0, dead: 0 });
    expect(callbacks.counts()).toMatchObject({ delivered: 1, failedAttempts: 1 });
  });

  it.each([199, 300, 302, 304, 404, 410, 500])('takes %i for a failure', async (status) => {
    const { callbacks, calls } = begin(() => answered(status));
    await enqueue(database, callbacks, { merchantId });
    await clock.advance(60_000);
    expect(secondsOf(calls)).toEqual([0, 60]);
  });

  it('can be shorter or have no retry at all', async () => {
    const { callbacks, calls } = begin(() => answered(500), { delaysS: [] });
    await enqueue(database, callbacks, { merchantId });
    await clock.advance(100_000);
    expect(calls.length).toBe(1);
    expect(await callbacks.list({ state: 'dead', limit: 10 })).toHaveLength(1);
  });

  it('continues after a restart', async () => {
    const first = begin(() => answered(500));
    await enqueue(database, first.callbacks, { merchantId });
    await clock.advance(100_000);
    await first.callbacks.stop();
    await clock.advance(100_000);
    const second = begin(() => answered(200));
    await clock.advance(200_000);
    expect(secondsOf(first.calls)).toEqual([0, 60]);
    expect(secondsOf(second.calls)).toEqual([360]);
  });

  it('is the database clock alone: a process whose clock is wrong sends no earlier', async () => {
    const wrong = { now: () => clock.now() + 7 * 24 * 3600 * 1000, elapsed: () => clock.elapsed(), after: clock.after.bind(clock) };
    const { callbacks, calls } = begin(() => answered(500), { clock: wrong });
    await enqueue(database, callbacks, { merchantId });
    await clock.advance(400_000);
    expect(secondsOf(calls)).toEqual([0, 60, 360]);
  });
});

describe('order within an invoice', () => {
  const subjectId = '11111111-1111-4111-8111-111111111111';

  it('a newer callback waits for an older attempt in flight', async () => {
    const { callbacks, calls } = begin();
    await enqueue(database, callbacks, { merchantId, subjectId, sequence: 1 });
    await clock.advance(10);
    await enqueue(database, callbacks, { merchantId, subjectId, sequence: 2 });
    await clock.advance(10_000);
    expect(calls.map((call) => call.sequence)).toEqual([1]);
    calls[0]?.end(answered(200));
    await clock.settle();
    expect(calls.map((call) => call.sequence)).toEqual([1, 2]);
  });

  it('a newer callback does not wait for the retries of an older one', async () => {
    const { callbacks, calls } = begin((call) => answered(call.sequence === 1 ? 500 : 200));
    await enqueue(database, callbacks, { merchantId, subjectId, sequence: 1 });
    await clock.advance(1_000);
    await enqueue(database, callbacks, { merchantId, subjectId, sequence: 2 });
    await clock.advance(100_000);
    expect(calls.map((call) => [call.sequence, call.atMs / 1000])).toEqual([
      [1, 0],
      [2, 1],
      [1, 60],
    ]);
  });

  it('a newer callback waits while a retry of an older one is in flight', async () => {
    const { callbacks, calls } = begin((call) => (call.atMs === 0 ? answered(500) : undefined));
    await enqueue(database, callbacks, { merchantId, subjectId, sequence: 1 });
    await clock.advance(60_000);
    expect(calls.length).toBe(2);
    await enqueue(database, callbacks, { merchantId, subjectId, sequence: 2 });
    await clock.advance(5_000);
    expect(calls.length).toBe(2);
    calls[1]?.end(answered(500));
    await clock.settle();
    expect(calls.map((call) => call.sequence)).toEqual([1, 1, 2]);
  });

  it('of several that were never tried the oldest goes first, whatever order they were written in', async () => {
    const { callbacks, calls } = begin(() => answered(200), { limits: { total: 1 } });
    await database.transaction(async (queries) => {
      for (const sequence of [3, 1, 2])
        await enqueueCallback(
          queries,
          { random: systemRandom },
          { merchantId, subjectKind: 'invoice', subjectId, sequence, url: 'http://erp.example/' },
        );
    });
    callbacks.wake();
    await clock.advance(1_000);
    expect(calls.map((call) => call.sequence)).toEqual([1, 2, 3]);
  });

  it('an older one that is due for a retry goes before a newer one that waits as well', async () => {
    const due = { attempts: 1, next_attempt_at: clock.now(), subject_id: subjectId };
    await seedCallback(database.queries, merchantId, { ...due, sequence: 1 });
    await seedCallback(database.queries, merchantId, { ...due, sequence: 2, attempts: 0, next_attempt_at: clock.now() - 5_000 });
    const { calls } = begin();
    await clock.advance(1_000);
    expect(calls.map((call) => call.sequence)).toEqual([1]);
    calls[0]?.end(answered(500));
    await clock.settle();
    expect(calls.map((call) => call.sequence)).toEqual([1, 2]);
  });

  it('is kept when the database clock was set back between the two', async () => {
    const writer = callbacksOn(database, { clock });
    await enqueue(database, writer, { merchantId, subjectId, sequence: 1 });
    clock.setWallClock(startMs - 30_000);
    await enqueue(database, writer, { merchantId, subjectId, sequence: 2 });
    const { calls } = begin(() => answered(200));
    await clock.advance(60_000);
    expect(calls.map((call) => call.sequence)).toEqual([1, 2]);
  });

  it('other invoices do not wait', async () => {
    const { callbacks, calls } = begin();
    await enqueue(database, callbacks, { merchantId, subjectId, sequence: 1 });
    await enqueue(database, callbacks, { merchantId });
    await clock.settle();
    expect(calls.length).toBe(2);
  });
});

describe('leases', () => {
  it('of a dead instance run out, and another takes over', async () => {
    // Dead: it looks no more, and its attempt never ends.
    const dead = begin(undefined, { clock: { ...clock, after: () => () => {} } });
    await enqueue(database, dead.callbacks, { merchantId });
    await clock.advance(1_000);
    expect(dead.calls.length).toBe(1);
    const other = begin(() => answered(200));
    await clock.advance(55_000);
    expect(other.calls.length).toBe(0);
    await clock.advance(10_000);
    expect(secondsOf(other.calls)).toEqual([60]);
    expect(other.calls[0]?.id).toBe(dead.calls[0]?.id);
    // The first was only slow after all: its failure changes nothing any more, and is on record.
    dead.calls[0]?.end({ status: null, error: 'late', durationMs: 66_000, responseHead: null });
    await clock.settle();
    const [callback] = await other.callbacks.list({ limit: 1 });
    expect(callback).toMatchObject({ state: 'delivered', attempts: 1 });
    expect((await other.callbacks.attempts(callback?.id ?? '')).map((attempt) => attempt.status ?? attempt.error)).toEqual([200, 'late']);
  });

  it('that were lost leave the retry of the new holder as it is', async () => {
    const lost = begin(undefined, { clock: { ...clock, after: () => () => {} } });
    await enqueue(database, lost.callbacks, { merchantId });
    await clock.advance(1_000);
    const holder = begin(() => answered(500));
    await clock.advance(64_000);
    expect(secondsOf(holder.calls)).toEqual([60]);
    const [before] = await holder.callbacks.list({ limit: 1 });
    lost.calls[0]?.end(answered(404));
    await clock.settle();
    expect(await holder.callbacks.list({ limit: 1 })).toEqual([before]);
    expect(before).toMatchObject({ attempts: 1, nextAttemptAtMs: startMs + 120_000 });
  });

  it('that were lost do not keep a success from counting: the ERP has received it', async () => {
    const lost = begin(undefined, { clock: { ...clock, after: () => () => {} } });
    await enqueue(database, lost.callbacks, { merchantId });
    await clock.advance(1_000);
    const holder = begin(() => answered(500));
    await clock.advance(64_000);
    lost.calls[0]?.end(answered(200));
    await clock.advance(24 * 3600 * 1000);
    expect(await holder.callbacks.list({ limit: 1 })).toMatchObject([{ state: 'delivered' }]);
    expect(holder.calls.length).toBe(1);
  });

  it('are returned by stop(), without counting the attempt that it broke off', async () => {
    const first = begin();
    await enqueue(database, first.callbacks, { merchantId });
    await clock.advance(100);
    const stopping = first.callbacks.stop();
    await clock.advance(3_000);
    await stopping;
    expect(first.calls[0]?.signal.aborted).toBe(true);
    expect(await first.callbacks.list({ limit: 1 })).toMatchObject([{ state: 'pending', attempts: 0, nextAttemptAtMs: clock.now() }]);
    const second = begin(() => answered(200));
    await clock.settle();
    expect(second.calls.length).toBe(1);
  });

  it('of an instance that stops: what waited behind its attempt is soon taken by another', async () => {
    const subjectId = '22222222-2222-4222-8222-222222222222';
    const first = begin();
    await enqueue(database, first.callbacks, { merchantId, subjectId, sequence: 1 });
    await clock.advance(100);
    const second = begin(() => answered(200));
    await enqueue(database, first.callbacks, { merchantId, subjectId, sequence: 2 });
    await clock.advance(1_000);
    const stopping = first.callbacks.stop();
    first.calls[0]?.end(answered(200));
    await clock.settle();
    await stopping;
    await clock.advance(300);
    expect(second.calls.map((call) => call.sequence)).toEqual([2]);
  });

  it('stop() lets attempts in flight finish and takes no new work', async () => {
    const { callbacks, calls } = begin();
    await enqueue(database, callbacks, { merchantId });
    await clock.advance(100);
    const stopping = callbacks.stop();
    await enqueue(database, callbacks, { merchantId });
    calls[0]?.end(answered(200));
    await clock.settle();
    await stopping;
    expect(calls.length).toBe(1);
    expect((await callbacks.list({ limit: 10 })).map((each) => each.state).sort()).toEqual(['delivered', 'pending']);
  });
});

describe('the database away', () => {
  /** As a pool whose server is gone. */
  function breakable(): { broken: Database; setDown(isDown: boolean): void } {
    let isDown = false;
    const down = () => new GatewayError('Error_Connection_Database', 'The database is offline.');
    const broken: Database = {
      ...database,
      get queries() {
        if (isDown) throw down();
        return database.queries;
      },
      transaction: (work) => (isDown ? Promise.reject(down()) : database.transaction(work)),
    };
    return {
      broken,
      setDown(value) {
        isDown = value;
      },
    };
  }

  it('is waited for, with nothing lost and nothing sent twice', async () => {
    const { broken, setDown } = breakable();
    const { callbacks, calls } = begin(undefined, { database: broken });
    await enqueue(database, callbacks, { merchantId });
    await clock.advance(10);
    setDown(true);
    calls[0]?.end(answered(200));
    await clock.advance(300_000);
    setDown(false);
    await clock.advance(3_000);
    await enqueue(database, callbacks, { merchantId });
    await clock.advance(3_000);
    expect(calls.length).toBe(2);
    calls[1]?.end(answered(200));
    await clock.settle();
    const listed = await callbacks.list({ limit: 10 });
    expect(listed.map((each) => [each.state, each.attempts])).toEqual([
      ['delivered', 1],
      ['delivered', 1],
    ]);
    for (const each of listed) expect(await callbacks.attempts(each.id)).toHaveLength(1);
  });

  it('at a commit whose outcome is unclear: the attempt is recorded once', async () => {
    let unclear = 2;
    const broken: Database = {
      ...database,
      async transaction(work) {
        const result = await database.transaction(work);
        unclear -= 1;
        if (unclear >= 0) throw new GatewayError('Error_Connection_Database', 'The answer to the commit was lost.');
        return result;
      },
    };
    const { callbacks } = begin((call) => answered(call.atMs === 0 ? 500 : 200), { database: broken });
    await enqueue(database, callbacks, { merchantId });
    await clock.advance(70_000);
    const [callback] = await callbacks.list({ limit: 1 });
    expect(callback).toMatchObject({ state: 'delivered', attempts: 2 });
    expect((await callbacks.attempts(callback?.id ?? '')).map((attempt) => attempt.status)).toEqual([500, 200]);
  });

  it('for recording only, longer than a lease: our own attempt is not begun again', async () => {
    let isDown = true;
    const broken: Database = {
      ...database,
      transaction: (work) =>
        isDown ? Promise.reject(new GatewayError('Error_Connection_Database', 'Read only.')) : database.transaction(work),
    };
    const { callbacks, calls } = begin(() => answered(200), { database: broken });
    await enqueue(database, callbacks, { merchantId });
    await clock.advance(200_000);
    isDown = false;
    await clock.advance(200_000);
    expect(calls.length).toBe(1);
    expect(await callbacks.list({ limit: 1 })).toMatchObject([{ state: 'delivered', attempts: 1 }]);
  });

  it('does not keep stop() from ending', async () => {
    const { broken, setDown } = breakable();
    const { callbacks, calls } = begin(undefined, { database: broken });
    await enqueue(database, callbacks, { merchantId });
    await clock.advance(10);
    setDown(true);
    calls[0]?.end(answered(200));
    await clock.advance(10_000);
    const stopping = callbacks.stop();
    await clock.advance(10_000);
    await stopping;
  });
});

describe('a Send that breaks its promise', () => {
  it('is a failed attempt and not the end of the worker', async () => {
    const { callbacks } = begin(undefined, { send: () => Promise.reject(new Error('a mistake')) });
    await enqueue(database, callbacks, { merchantId });
    await clock.advance(100);
    const [callback] = await callbacks.list({ limit: 1 });
    expect(callback).toMatchObject({ state: 'pending', attempts: 1 });
  });
});
