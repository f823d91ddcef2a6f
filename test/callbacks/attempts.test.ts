// What one process has leased: how much it takes, what it sends, gives back and counts. In virtual time, over a database that only says yes.
import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../src/callbacks/attempt-records.ts';
import { Attempts } from '../../src/callbacks/attempts.ts';
import { Hosts } from '../../src/callbacks/hosts.ts';
import type { AttemptResult, Send } from '../../src/callbacks/sender.ts';
import type { ClaimedCallback } from '../../src/callbacks/store.ts';
import type { Database } from '../../src/database/database.ts';
import { databaseDown } from '../../src/database/errors.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { answered, type Call, memoryErp } from './harness.ts';

const startWithinMs = 45_000;
const silence: AttemptResult = { status: null, error: 'No answer within 15 s.', durationMs: 15_000, responseHead: null };

let nextId = 0;
function leased(host = 'erp', overrides: Partial<ClaimedCallback> = {}): ClaimedCallback {
  nextId += 1;
  return { id: `callback ${nextId}`, merchantId: 'm', host, sequence: 1, url: `http://${host}/`, secrets: [], attempts: 0, ...overrides };
}
const several = (count: number, host?: string) => Array.from({ length: count }, () => leased(host));

interface SetUp {
  total?: number;
  perHost?: number;
  delaysS?: number[];
  answer?: (call: Call) => AttemptResult | undefined;
  /** Instead of an ERP that answers when the test says so. */
  send?: Send;
}

function setUp(options: SetUp = {}) {
  const clock = createVirtualClock(undefined, { settle: 'microtasks' });
  const erp = memoryErp({ nowMs: () => clock.now(), ...(options.answer ? { answer: options.answer } : {}) });
  const hosts = new Hosts({ total: options.total ?? 256, perHost: options.perHost ?? 8 });
  const told = { room: [] as string[], recorded: [] as [string, Outcome][], givenBack: [] as string[][] };
  const records: { isDown: boolean; wait: Promise<void> | undefined } = { isDown: false, wait: undefined };
  const database = {
    engine: 'sqlite',
    async transaction() {
      await records.wait;
      if (records.isDown) throw databaseDown('It is away.');
    },
  } as unknown as Database;
  const attempts = new Attempts({
    database,
    clock,
    logger: quietLogger,
    instanceId: 'me',
    delaysS: options.delaysS ?? [60],
    send: options.send ?? erp.send,
    hosts,
    startWithinMs,
    onRoom: (host, forOthersToo) => told.room.push(`${host}${forOthersToo ? ' and others' : ''}`),
    onRecorded: ({ host }, outcome) => told.recorded.push([host, outcome]),
    giveBack: (ids) => told.givenBack.push(ids),
  });
  const add = (callbacks: ClaimedCallback[], leasedAt = clock.elapsed()) => attempts.add(callbacks, leasedAt);
  return { clock, calls: erp.calls, hosts, told, records, attempts, add };
}

/** A host that answers in this time may have others waiting for it. */
async function makeKnown({ clock, calls, add }: ReturnType<typeof setUp>, durationMs: number, host = 'erp'): Promise<void> {
  add([leased(host)]);
  calls.at(-1)?.end({ ...answered(200), durationMs });
  await clock.settle();
}

describe('how many may be leased', () => {
  it('is the free slots of the host and its queue, less the callbacks that wait already', async () => {
    const bench = setUp();
    expect(bench.attempts.leasable('erp', 1)).toBe(8);
    await makeKnown(bench, 500);
    expect(bench.attempts.leasable('erp', 1)).toBe(8 + 16);
    bench.add(several(10));
    expect(bench.calls).toHaveLength(1 + 8);
    expect(bench.attempts.leasable('erp', 1)).toBe(16 - 2);
    bench.add(several(30));
    expect(bench.attempts.leasable('erp', 1)).toBe(0);
  });

  it('is no slot ahead while all slots are in use', async () => {
    const bench = setUp({ total: 2, perHost: 1 });
    await makeKnown(bench, 500);
    bench.add([leased('erp')]);
    expect(bench.attempts.leasable('erp', 1)).toBe(2);
    bench.add([leased('other')]);
    expect(bench.attempts.leasable('erp', 1)).toBe(0);
  });

  it('justifies a statement for one while none waits, and otherwise for half of the queue', async () => {
    const bench = setUp();
    await makeKnown(bench, 500);
    bench.add(several(8));
    expect(bench.attempts.worthLeasing('erp')).toBe(1);
    bench.add(several(1));
    expect(bench.attempts.worthLeasing('erp')).toBe(8);
    const slow = setUp({ perHost: 1 });
    await makeKnown(slow, 500);
    slow.add(several(2));
    expect(slow.attempts.worthLeasing('erp')).toBe(1);
  });

  it('ends at 1024 that are not recorded, of all hosts, and continues when one of them is', async () => {
    const { attempts, add, calls, clock, told } = setUp({ total: 9_000, perHost: 3_000 });
    add(several(1_000));
    expect(attempts.leasable('other', 1)).toBe(24);
    add(several(24));
    expect(attempts.leasable('other', 1)).toBe(0);
    calls[0]?.end(answered(200));
    await clock.settle();
    expect(told.room).toEqual(['erp', 'erp and others']);
    expect(attempts.leasable('other', 1)).toBe(1);
    calls[1]?.end(answered(200));
    await clock.settle();
    expect(told.room).toEqual(['erp', 'erp and others', 'erp']);
  });

  it('is 0 once the process stops', async () => {
    const { attempts } = setUp();
    void attempts.stop(3_000);
    expect(attempts.leasable('erp', 1)).toBe(0);
  });
});

describe('a leased callback', () => {
  it('is held until it is recorded, and sent once though its lease ran out meanwhile', async () => {
    const { hosts, add, calls, clock, records } = setUp();
    const gate = Promise.withResolvers<void>();
    records.wait = gate.promise;
    const [one, other] = several(2) as [ClaimedCallback, ClaimedCallback];
    expect(hosts.holds('erp')).toBe(false);
    add([one]);
    add([other]);
    calls[0]?.end(answered(200));
    calls[1]?.end(answered(200));
    await clock.settle();
    add([one, other]);
    expect(calls).toHaveLength(2);
    expect(hosts.holds('erp')).toBe(true);
    gate.resolve();
    await clock.settle();
    expect(hosts.holds('erp')).toBe(false);
    add([one]);
    expect(calls).toHaveLength(3);
  });

  it('is kept as long as another one of the host is', async () => {
    const { hosts, add, calls, clock } = setUp();
    add(several(2));
    calls[0]?.end(answered(200));
    await clock.settle();
    expect(hosts.holds('erp')).toBe(true);
    calls[1]?.end(answered(200));
    await clock.settle();
    expect(hosts.holds('erp')).toBe(false);
  });

  it('is sent in its order as slots come free', async () => {
    const bench = setUp({ perHost: 1 });
    await makeKnown(bench, 10);
    const [first, second, third] = several(3);
    bench.add([first, second, third] as ClaimedCallback[]);
    for (let at = 1; at <= 3; at += 1) {
      expect(bench.calls.slice(1).map(({ id }) => id)).toEqual([first, second, third].slice(0, at).map((each) => each?.id));
      bench.calls[at]?.end({ ...answered(200), durationMs: 10 });
      await bench.clock.settle();
    }
    expect(bench.attempts.counts.delivered).toBe(4);
  });

  it('starts where another host has left the last slot of all', async () => {
    const { add, calls, clock } = setUp({ total: 1 });
    add([leased('one')]);
    add([leased('two')]);
    expect(calls.map(({ url }) => url)).toEqual(['http://one/']);
    calls[0]?.end(answered(200));
    await clock.settle();
    expect(calls.map(({ url }) => url)).toEqual(['http://one/', 'http://two/']);
  });

  it('starts before more of the host that has left the last slot of all', async () => {
    const bench = setUp({ total: 1, perHost: 1 });
    const { add, calls, clock } = bench;
    for (const host of ['erp', 'other']) await makeKnown(bench, 500, host);
    calls.length = 0;
    add([leased('erp'), leased('erp'), leased('erp'), leased('other')]);
    for (let times = 0; times < 3; times += 1) {
      calls.at(-1)?.end(answered(200));
      await clock.settle();
    }
    expect(calls.map(({ url }) => new URL(url).host)).toEqual(['erp', 'other', 'erp', 'erp']);
  });

  it('is sent until an attempt could outlast the lease, and returned after that', async () => {
    const bench = setUp({ perHost: 1 });
    await makeKnown(bench, 10);
    bench.add(several(2));
    await bench.clock.advance(startWithinMs);
    bench.calls[1]?.end({ ...answered(200), durationMs: 10 });
    await bench.clock.settle();
    expect([bench.calls.length, bench.told.givenBack]).toEqual([3, []]);
    const late = leased();
    bench.add([late]);
    await bench.clock.advance(startWithinMs + 1);
    bench.calls[2]?.end({ ...answered(200), durationMs: 10 });
    await bench.clock.settle();
    expect([bench.calls.length, bench.told.givenBack]).toEqual([3, [[late.id]]]);
    expect(bench.hosts.holds('erp')).toBe(false);
  });

  it('waits for a quick host, and is released, unless it can start, when the host becomes slow', async () => {
    const bench = setUp({ perHost: 2 });
    await makeKnown(bench, 10);
    const all = several(6);
    bench.add(all);
    expect(bench.calls).toHaveLength(3);
    bench.calls[1]?.end({ ...answered(200), durationMs: 4_000 });
    await bench.clock.settle();
    // Slow, with two places: one of those that waited starts, three go back.
    expect(bench.calls.slice(1).map(({ id }) => id)).toEqual(all.slice(0, 3).map(({ id }) => id));
    expect(bench.told.givenBack).toEqual([all.slice(3).map(({ id }) => id)]);
  });

  it.each([
    ['the host is still quick', 6, 10],
    ['it can start at once', 3, 4_000],
  ])('is not returned while %s', async (_why, count, durationMs) => {
    const bench = setUp({ perHost: 2 });
    await makeKnown(bench, 10);
    bench.add(several(count));
    bench.calls[1]?.end({ ...answered(200), durationMs });
    await bench.clock.settle();
    expect([bench.calls.length, bench.told.givenBack]).toEqual([4, []]);
  });

  it('does not wait for a host that has become silent', async () => {
    const bench = setUp({ perHost: 2 });
    await makeKnown(bench, 10);
    const all = several(4);
    bench.add(all);
    bench.calls[1]?.end(silence);
    await bench.clock.settle();
    expect(bench.told.givenBack).toEqual([all.slice(2).map(({ id }) => id)]);
    bench.calls[2]?.end(silence);
    await bench.clock.settle();
    expect([bench.calls.length, bench.told.givenBack.length]).toEqual([3, 1]);
  });
});

describe('an attempt that has ended', () => {
  it.each([
    [answered(200), { kind: 'delivered' }],
    [answered(299), { kind: 'delivered' }],
    [answered(300), { kind: 'retry', delayMs: 1_501 }],
    [answered(199), { kind: 'retry', delayMs: 1_501 }],
    [silence, { kind: 'retry', delayMs: 1_501 }],
  ] as const)('%# is reported with what becomes of it', async (result, outcome) => {
    const { add, calls, clock, told } = setUp({ delaysS: [1.5006] });
    add([leased()]);
    calls[0]?.end(result);
    await clock.settle();
    expect(told.recorded).toEqual([['erp', outcome]]);
  });

  it('is counted, and the last one of a schedule as the death of its callback too', async () => {
    const { attempts, add, clock } = setUp({ answer: ({ url }) => answered(url.includes('good') ? 200 : 500) });
    add([leased('good')]);
    add([leased('bad')]);
    await clock.settle();
    expect(attempts.counts).toEqual({ delivered: 1, failedAttempts: 1, died: 0 });
    add([leased('bad', { attempts: 1 })]);
    await clock.settle();
    expect(attempts.counts).toEqual({ delivered: 1, failedAttempts: 2, died: 1 });
  });

  it('frees its slot before it is recorded, and is reported when it is', async () => {
    const { add, calls, clock, records, told } = setUp({ perHost: 1 });
    const gate = Promise.withResolvers<void>();
    records.wait = gate.promise;
    add([leased()]);
    calls[0]?.end(answered(200));
    await clock.settle();
    expect([told.room, told.recorded]).toEqual([['erp'], []]);
    gate.resolve();
    await clock.settle();
    expect(told.recorded).toEqual([['erp', { kind: 'delivered' }]]);
  });

  it('that the database did not store is recorded when it is back', async () => {
    const { attempts, add, calls, clock, records, told } = setUp();
    records.isDown = true;
    add([leased()]);
    calls[0]?.end(answered(200));
    await clock.advance(1_000);
    records.isDown = false;
    await clock.advance(1_000);
    expect([told.recorded, attempts.counts.delivered]).toEqual([[['erp', { kind: 'delivered' }]], 1]);
  });

  it('by a bug of this program has failed, and its slot is free again', async () => {
    const { attempts, add, clock, hosts, told } = setUp({ send: () => Promise.reject(new Error('a mistake')) });
    add([leased()]);
    await clock.settle();
    expect(told.recorded).toEqual([['erp', { kind: 'retry', delayMs: 60_000 }]]);
    expect([attempts.counts.failedAttempts, hosts.taken]).toEqual([1, 0]);
  });

  it('carries the trace that it belongs to, if there is one', async () => {
    const { add, calls } = setUp();
    add([leased('erp', { traceparent: '00-1-2-01' })]);
    add([leased('erp', { traceparent: null })]);
    expect(calls.map(({ traceparent }) => traceparent)).toEqual(['00-1-2-01', undefined]);
  });
});

describe('stopping', () => {
  it('waits for attempts in progress, and returns at once when they have ended', async () => {
    const { attempts, add, calls, clock } = setUp();
    add([leased()]);
    const stopped = attempts.stop(3_000);
    await clock.advance(1_000);
    expect(calls[0]?.signal.aborted).toBe(false);
    calls[0]?.end(answered(200));
    expect(await stopped).toEqual([]);
    expect([attempts.counts.delivered, clock.pending]).toEqual([1, 0]);
  });

  it('aborts longer attempts and releases them with the unsent callbacks, neither counted nor reported', async () => {
    const bench = setUp({ perHost: 1 });
    await makeKnown(bench, 10);
    const [underWay, unsent] = several(2) as [ClaimedCallback, ClaimedCallback];
    bench.add([underWay, unsent]);
    bench.told.recorded.length = 0;
    const stopped = bench.attempts.stop(3_000);
    await bench.clock.advance(3_000);
    expect(bench.calls.at(-1)?.signal.aborted).toBe(true);
    expect(await stopped).toEqual([unsent.id, underWay.id]);
    expect(bench.calls).toHaveLength(2);
    expect([bench.told.recorded, bench.attempts.counts.failedAttempts]).toEqual([[], 0]);
  });

  it('records the ERP’s answer that arrived just as the attempt was aborted', async () => {
    const { attempts, add, clock, told } = setUp({
      send: (_callback, signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(answered(200)))),
    });
    add([leased()]);
    const stopped = attempts.stop(1_000);
    await clock.advance(1_000);
    await stopped;
    expect(told.recorded).toEqual([['erp', { kind: 'delivered' }]]);
  });

  it('ends the wait for a database that is down, whose attempts are left to their leases', async () => {
    const { attempts, add, calls, clock, records, told } = setUp();
    records.isDown = true;
    add([leased()]);
    calls[0]?.end(answered(200));
    await clock.advance(10);
    const stopped = attempts.stop(3_000);
    await clock.settle();
    expect(await stopped).toEqual([]);
    expect([told.recorded, attempts.counts.delivered]).toEqual([[], 0]);
    expect(await attempts.pause(1)).toBe(false);
  });

  it('is the one thing that ends a pause before its time', async () => {
    const { attempts, clock } = setUp();
    let isOver: boolean | undefined;
    void attempts.pause(2).then((goesOn) => {
      isOver = goesOn;
    });
    await clock.advance(199);
    expect(isOver).toBeUndefined();
    await clock.advance(1);
    expect(isOver).toBe(true);
  });
});
