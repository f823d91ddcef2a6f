// Ended attempts go on record in groups: one write for all that waited, each row under its own guard, and one bad row hurts nobody.
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EndedAttempt } from '../../src/callbacks/attempt-records.ts';
import { createRecorder } from '../../src/callbacks/recorder.ts';
import type { AttemptResult } from '../../src/callbacks/sender.ts';
import type { Database } from '../../src/database/database.ts';
import { databaseDown } from '../../src/database/errors.ts';
import { engines, openTestDatabase, type TestDatabase } from '../support/engines.ts';
import { seedCallback, seedMerchant } from '../support/fixtures.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { until } from '../support/until.ts';
import { answered } from './harness.ts';

describe.each(engines)('the record of attempts on %s', (engine) => {
  let database: TestDatabase;
  let merchantId: string;
  beforeEach(async () => {
    database = await openTestDatabase(engine);
    merchantId = (await seedMerchant(database.queries)).id;
  });
  afterEach(() => database.close());

  async function leased(result: AttemptResult = answered(200)): Promise<EndedAttempt> {
    const endMs = Date.now() + 60_000;
    const { id } = await seedCallback(database.queries, merchantId, { leased_by: 'me', leased_until: endMs, next_attempt_at: endMs });
    const callback = { id, merchantId, host: 'erp.example', sequence: 1, url: 'http://erp.example/', secrets: ['s'], attempts: 0 };
    return { callback, result, outcome: { kind: 'delivered' }, isRepeat: false };
  }

  const several = async (count: number) => {
    const all: EndedAttempt[] = [];
    for (let at = 0; at < count; at += 1) all.push(await leased());
    return all;
  };

  /** The same database, whose writes are counted and may fail after their commit. */
  function watched(loseAnswers = 0): { watched: Database; writes(): number } {
    let writes = 0;
    let left = loseAnswers;
    async function write<Result>(work: () => Promise<Result>): Promise<Result> {
      writes += 1;
      const result = await work();
      left -= 1;
      if (left >= 0) throw databaseDown('The answer to the commit was lost.');
      return result;
    }
    const queries = new Proxy(database.queries, {
      get(target, name) {
        if (name !== 'getExecutor') return Reflect.get(target, name, target);
        const executor = target.getExecutor();
        return () =>
          new Proxy(executor, {
            get: (inner, key) => (key === 'executeQuery' ? (query: never) => write(() => inner.executeQuery(query)) : bound(inner, key)),
          });
      },
    });
    return {
      watched: { ...database, queries, transaction: (work) => write(() => database.transaction(work)) },
      writes: () => writes,
    };
  }

  const bound = (target: object, key: string | symbol) => {
    const value = Reflect.get(target, key) as unknown;
    return typeof value === 'function' ? value.bind(target) : value;
  };

  function recorderOn(on: Database) {
    const pauses: number[] = [];
    let isStopping = false;
    const recorder = createRecorder({
      database: on,
      logger: quietLogger,
      instanceId: 'me',
      async pause(failures) {
        pauses.push(failures);
        await turn();
        return !isStopping;
      },
    });
    return {
      ...recorder,
      pauses: () => pauses.length,
      failures: () => pauses,
      stop() {
        isStopping = true;
      },
    };
  }

  const deliveredIds = async () =>
    (await database.queries.selectFrom('callbacks').select('id').where('state', '=', 'delivered').execute()).map(({ id }) => id).sort();
  const attemptCount = async (id: string) =>
    (await database.queries.selectFrom('callback_attempts').select('id').where('callback_id', '=', id).execute()).length;

  it('is one write for all that ended together', async () => {
    const { watched: counted, writes } = watched();
    const all = await several(40);
    const recorder = recorderOn(counted);
    expect(await Promise.all(all.map((ended) => recorder.record(ended)))).toEqual(all.map(() => true));
    expect(writes()).toBe(1);
    expect(await deliveredIds()).toEqual(all.map(({ callback }) => callback.id).sort());
    for (const { callback } of all) expect(await attemptCount(callback.id)).toBe(1);
  });

  it('is there once for each of a group whose commit was not answered', async () => {
    const { watched: unclear } = watched(3);
    const all = await several(5);
    const recorder = recorderOn(unclear);
    await Promise.all(all.map((ended) => recorder.record(ended)));
    expect(await deliveredIds()).toHaveLength(5);
    for (const { callback } of all) expect(await attemptCount(callback.id)).toBe(1);
  });

  it('takes the good ones of a group with a bad one, which alone is retried', async () => {
    const all = await several(6);
    // Refused by the table: a status and an error.
    const bad = await leased({ ...answered(200), error: 'both' });
    const recorder = recorderOn(database);
    const first = recorder.record(all[0] as EndedAttempt);
    let hasBadEnded = false;
    const ofBad = recorder.record(bad).then((isRecorded) => {
      hasBadEnded = true;
      return isRecorded;
    });
    await Promise.all([first, ...all.slice(1).map((ended) => recorder.record(ended))]);
    expect(await deliveredIds()).toEqual(all.map(({ callback }) => callback.id).sort());
    await until(() => recorder.pauses() > 3);
    expect(hasBadEnded).toBe(false);
    // And nobody waits for it.
    expect(await recorder.record(await leased())).toBe(true);
    recorder.stop();
    expect(await ofBad).toBe(false);
  });

  it('waits longer after each failure', async () => {
    const { watched: unclear } = watched(3);
    const recorder = recorderOn(unclear);
    expect(await recorder.record(await leased())).toBe(true);
    expect(recorder.failures()).toEqual([1, 2, 3]);
  });

  it('has a failure whose lease was lost, and writes two of one callback one after the other', async () => {
    const { watched: counted, writes } = watched();
    const recorder = recorderOn(counted);
    const ended = await leased();
    await database.queries.updateTable('callbacks').set({ leased_by: 'another' }).execute();
    const failure = { ...ended, result: answered(500), outcome: { kind: 'dead' } as const };
    expect(await Promise.all([recorder.record(failure), recorder.record(failure)])).toEqual([true, true]);
    expect([await attemptCount(ended.callback.id), writes()]).toEqual([2, 2]);
  });

  it('keeps a text that was cut in the middle of a character', async () => {
    const ended = await leased({ status: null, error: 'broken \ud83d', durationMs: 1, responseHead: 'half \udca9' });
    expect(await recorderOn(database).record(ended)).toBe(true);
    const row = await database.queries.selectFrom('callback_attempts').select(['error', 'response_head']).executeTakeFirstOrThrow();
    expect(row).toEqual({ error: 'broken \ufffd', response_head: 'half \ufffd' });
  });
});
