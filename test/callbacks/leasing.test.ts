// How many statements sending takes, and what becomes of leases that are held in memory, in virtual time on SQLite in memory.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Callbacks, CallbacksDeps } from '../../src/callbacks/callbacks.ts';
import { enqueueCallback } from '../../src/callbacks/outbox.ts';
import type { AttemptResult } from '../../src/callbacks/sender.ts';
import type { Database } from '../../src/database/database.ts';
import { systemRandom } from '../../src/kernel/system.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedMerchant } from '../support/fixtures.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';
import { answered, type Call, callbacksOn, enqueue, memoryErp, to, type WatchedDatabase, watchDatabase } from './harness.ts';

const host = 'erp.example';
let clock: VirtualClock;
let database: Database;
let merchantId: string;
let watched: WatchedDatabase;
const started: Callbacks[] = [];

beforeEach(async () => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  const plain = await memoryDatabase(clock);
  merchantId = (await seedMerchant(plain.queries)).id;
  watched = watchDatabase(plain);
  database = watched.database;
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
  const erp = memoryErp({ nowMs: () => clock.now(), ...(answer ? { answer } : {}) });
  const callbacks = callbacksOn(database, { clock, send: erp.send, ...overrides });
  callbacks.start();
  started.push(callbacks);
  return { ...erp, callbacks };
}

async function write(count: number): Promise<void> {
  await database.transaction(async (queries) => {
    for (let at = 0; at < count; at += 1) {
      const callback = {
        merchantId,
        subjectKind: 'invoice' as const,
        subjectId: `subject ${at}`,
        sequence: 1,
        url: `http://${host}/${at}`,
      };
      await enqueueCallback(queries, { random: systemRandom }, callback);
    }
  });
}

const count = (kind: string) => watched.statements.filter((each) => each === kind).length;
const held = async () => (await database.queries.selectFrom('callbacks').select('id').where('leased_by', 'is not', null).execute()).length;

describe('statements', () => {
  it('for one callback that was written here: a claim, and no scan of all hosts', async () => {
    const { callbacks, calls } = begin(() => answered(200));
    await clock.settle();
    watched.statements.length = 0;
    await enqueue(database, callbacks, { merchantId }, to(merchantId, host));
    await clock.advance(5_000);
    expect(calls).toHaveLength(1);
    expect([count('claim'), count('scan')]).toEqual([1, 0]);
  });

  it('while nothing happens: a query every ten seconds', async () => {
    begin();
    await clock.settle();
    watched.statements.length = 0;
    await clock.advance(60_000);
    expect(watched.statements).toEqual(['scan', 'scan', 'scan', 'scan', 'scan', 'scan']);
  });

  it('for many callbacks to a quick host: one claim for dozens', async () => {
    const { callbacks, calls } = begin(() => answered(200));
    await clock.settle();
    watched.statements.length = 0;
    await write(500);
    callbacks.wake(to(merchantId, host));
    await clock.advance(3_000);
    expect(calls).toHaveLength(500);
    expect(count('claim')).toBeLessThan(25);
  });
});

describe('leases in memory', () => {
  it('are no more than a few for a host that is unknown or slow', async () => {
    const { callbacks, calls } = begin();
    await write(100);
    callbacks.wake(to(merchantId, host));
    await clock.advance(1_000);
    expect(calls).toHaveLength(8);
    expect(await held()).toBe(8);
  });

  it('are returned when a quick host becomes silent, and the others of the host keep their turn', async () => {
    let isSilent = false;
    const { callbacks, calls } = begin(() => (isSilent ? undefined : answered(200)));
    await write(8);
    callbacks.wake(to(merchantId, host));
    await clock.settle();
    expect(calls).toHaveLength(8);
    isSilent = true;
    await database.queries.deleteFrom('callback_attempts').execute();
    await database.queries.deleteFrom('callbacks').execute();
    await write(100);
    callbacks.wake(to(merchantId, host));
    await clock.settle();
    expect(await held()).toBe(100);
    calls.at(-1)?.end({ status: null, error: 'No answer within 15 s.', durationMs: 15_000, responseHead: null });
    await clock.settle();
    // Seven are under way; one place is enough for a silent host, so nothing else is leased.
    expect(await held()).toBe(7);
    expect(calls).toHaveLength(16);
  });

  it('are never used so late that an attempt could outlast them', async () => {
    const { callbacks, calls } = begin((call) => (call.url.endsWith('/0') ? answered(200) : undefined), { limits: { perHost: 1 } });
    await write(3);
    callbacks.wake(to(merchantId, host));
    await clock.settle();
    expect(calls).toHaveLength(2);
    expect(await held()).toBe(2);
    // The process stood still for longer than a lease is good for beginning.
    await clock.advance(50_000);
    calls[1]?.end(answered(200));
    await clock.settle();
    expect(calls).toHaveLength(3);
    const { leased_until } = await database.queries
      .selectFrom('callbacks')
      .select('leased_until')
      .where('id', '=', calls[2]?.id ?? '')
      .executeTakeFirstOrThrow();
    expect(leased_until).toBe(clock.now() + 60_000);
  });

  it('count from the time when the claim was sent, however long the database takes', async () => {
    let answer: Promise<unknown> = Promise.resolve();
    const queries = database.queries.withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        await answer;
        return result;
      },
    });
    const { callbacks, calls } = begin(undefined, { database: { ...database, queries } });
    await clock.settle();
    const late = Promise.withResolvers<void>();
    answer = late.promise;
    await write(1);
    callbacks.wake(to(merchantId, host));
    await clock.advance(50_000);
    answer = Promise.resolve();
    late.resolve();
    await clock.settle();
    // Ten seconds of that lease were left, and an attempt may take fifteen: it was given back, and leased anew.
    expect(calls).toHaveLength(1);
    const { leased_until } = await database.queries.selectFrom('callbacks').select('leased_until').executeTakeFirstOrThrow();
    expect(leased_until).toBe(clock.now() + 60_000);
  });

  it('are all returned by stop()', async () => {
    const { callbacks } = begin((call) => (Number(call.url.split('/').at(-1)) < 8 ? answered(200) : undefined));
    await write(100);
    callbacks.wake(to(merchantId, host));
    await clock.settle();
    expect(await held()).toBeGreaterThan(50);
    const stopping = callbacks.stop();
    await clock.advance(3_000);
    await stopping;
    expect(await held()).toBe(0);
    expect(await callbacks.stats()).toMatchObject({ pending: 92 });
  });
});

describe('other instances', () => {
  it('are not woken for callbacks that this one sends', async () => {
    const { callbacks } = begin(() => answered(200));
    await clock.settle();
    for (let at = 0; at < 20; at += 1) await enqueue(database, callbacks, { merchantId }, to(merchantId, host));
    await clock.advance(1_000);
    expect(callbacks.counts().delivered).toBe(20);
    expect(watched.wakes()).toBe(0);
  });

  it('are woken, twice a second at most, while there is more than this one can send', async () => {
    const { callbacks } = begin();
    await write(100);
    callbacks.wake(to(merchantId, host));
    await clock.advance(2_000);
    expect(watched.wakes()).toBe(1);
  });

  it('are woken for callbacks of an instance that does not send', async () => {
    const idle = callbacksOn(database, { clock });
    idle.wake(to(merchantId, host));
    expect(watched.wakes()).toBe(1);
  });
});
