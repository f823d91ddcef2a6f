// When a host is asked about again: as soon as what its callbacks stood behind is on record, and not for each that leaves. Counted in statements, in
// virtual time, on SQLite in memory.
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Callbacks } from '../../src/callbacks/callbacks.ts';
import { enqueueCallback } from '../../src/callbacks/outbox.ts';
import type { AttemptResult } from '../../src/callbacks/sender.ts';
import type { Database } from '../../src/database/database.ts';
import { systemRandom } from '../../src/kernel/system.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedMerchant } from '../support/fixtures.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';
import { answered, type Call, callbacksOn, memoryErp, to, type WatchedDatabase, watchDatabase } from './harness.ts';

const host = 'erp.example';
let clock: VirtualClock;
let plain: Database;
let watched: WatchedDatabase;
let merchantId: string;
let callbacks: Callbacks;
let calls: Call[];

beforeEach(async () => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  plain = await memoryDatabase(clock);
  merchantId = (await seedMerchant(plain.queries)).id;
  watched = watchDatabase(plain);
});
afterEach(async () => {
  const stopped = callbacks.stop();
  await clock.advance(10_000);
  await stopped;
  await plain.close();
});

async function begin(perHost?: number): Promise<void> {
  const startMs = clock.now();
  const erp = memoryErp({ nowMs: () => clock.now() - startMs });
  calls = erp.calls;
  callbacks = callbacksOn(watched.database, { clock, send: erp.send, ...(perHost && { limits: { perHost } }) });
  callbacks.start();
  await clock.settle();
}

/** So many, or this one of a subject. */
async function write(times: number, subject?: { subjectId: string; sequence: number }): Promise<void> {
  await plain.transaction(async (queries) => {
    for (let time = 0; time < times; time += 1) {
      const own = { merchantId, subjectKind: 'invoice' as const, subjectId: randomUUID(), sequence: 1, url: `http://${host}/` };
      await enqueueCallback(queries, { random: systemRandom }, { ...own, ...subject });
    }
  });
}
async function writeAndWake(times: number, subject?: { subjectId: string; sequence: number }): Promise<void> {
  await write(times, subject);
  callbacks.wake(to(merchantId, ...Array.from({ length: times }, () => host)));
  await clock.settle();
}
async function end(call: Call | undefined): Promise<void> {
  call?.end({ ...answered(200), durationMs: 100 } satisfies AttemptResult);
  await clock.settle();
}
const claims = () => watched.statements.filter((each) => each === 'claim').length;
const forgetStatements = () => {
  watched.statements.length = 0;
};

describe('a host', () => {
  it('with one slot gets the next of a subject when the one before is recorded, not at the next scan of all hosts', async () => {
    const subjectId = randomUUID();
    await begin(1);
    for (const sequence of [1, 2]) {
      await writeAndWake(1, { subjectId, sequence });
      await clock.advance(300);
    }
    await end(calls[0]);
    expect(calls.map(({ sequence }) => sequence)).toEqual([1, 2]);
  });

  it('gets callbacks that were written together one after the other, as soon as each is recorded', async () => {
    const subjectId = randomUUID();
    await begin();
    for (const sequence of [1, 2]) await write(1, { subjectId, sequence });
    callbacks.wake(to(merchantId, host, host));
    await clock.advance(100);
    await end(calls[0]);
    expect(calls.map(({ atMs }) => atMs)).toEqual([0, 100]);
  });

  it('is queried again when half of its queue is gone, not for each callback', async () => {
    await begin(2);
    await writeAndWake(100);
    // Twenty of a tenth of a second wait for two places.
    await end(calls[0]);
    forgetStatements();
    for (let at = 1; at <= 9; at += 1) await end(calls[at]);
    expect(claims()).toBe(0);
    await end(calls[10]);
    expect(claims()).toBe(1);
    // What is written meanwhile waits for the next claim as well.
    await end(calls[11]);
    await writeAndWake(1);
    await end(calls[12]);
    expect(claims()).toBe(1);
    for (let at = 13; at <= 100; at += 1) await end(calls[at]);
    expect(calls).toHaveLength(101);
  });

  it('gets the callback that waited for each of two attempts when that one is recorded, whichever ends first', async () => {
    const [one, other] = [randomUUID(), randomUUID()];
    await begin();
    for (const sequence of [1, 2]) for (const subjectId of [one, other]) await writeAndWake(1, { subjectId, sequence });
    await clock.advance(10);
    await end(calls[1]);
    await clock.advance(10);
    await end(calls[0]);
    expect(calls.map(({ sequence, atMs }) => [sequence, atMs])).toEqual([
      [1, 0],
      [1, 0],
      [2, 10],
      [2, 20],
    ]);
  });

  it('is queried for a callback that waited for an attempt although others of it wait here', async () => {
    const subjectId = randomUUID();
    await begin(1);
    await writeAndWake(1);
    await end(calls[0]);
    await writeAndWake(1, { subjectId, sequence: 1 });
    await writeAndWake(2);
    await writeAndWake(1, { subjectId, sequence: 2 });
    forgetStatements();
    await end(calls[1]);
    expect(claims()).toBe(1);
    for (const at of [2, 3]) await end(calls[at]);
    expect(calls.map(({ sequence }) => sequence)).toEqual([1, 1, 1, 1, 2]);
  });
});
