// When the worker looks for what is due, whom it asks first, and what it gives back: in virtual time, counted in statements on SQLite in memory.
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { seedCallback } from '../support/fixtures.ts';
import { recordingLogger } from '../support/quiet-logger.ts';
import type { VirtualClock } from '../support/virtual-clock.ts';
import { answered, type Call, enqueue, openStage, type Stage, to, type WatchedDatabase } from './harness.ts';

const host = 'erp.example';
let stage: Stage;
let clock: VirtualClock;
let startMs: number;
let plain: Database;
let watched: WatchedDatabase;
let merchantId: string;
let begin: Stage['begin'];

beforeEach(async () => {
  stage = await openStage();
  ({ clock, startMs, plain, watched, merchantId, begin } = stage);
});
afterEach(() => stage.close());

const write = (urls: readonly string[], subject?: { subjectId: string; sequence: number }) =>
  stage.write(urls.map((url) => ({ ...subject, url })));

const many = (count: number, name = host) => Array.from({ length: count }, (_, at) => `http://${name}/${at}`);
const count = (kind: string) => watched.statements.filter((each) => each === kind).length;
const timesOf = (calls: Call[]) => calls.map(({ atMs }) => atMs);
const forgetStatements = () => {
  watched.statements.length = 0;
};

describe('the worker queries again', () => {
  it('when a retry is due, before its regular interval', async () => {
    const { callbacks, calls } = begin(() => answered(500), { delaysS: [3] });
    await clock.advance(1_000);
    await write(many(1));
    callbacks.wake(to(merchantId, host));
    await clock.advance(20_000);
    expect(timesOf(calls)).toEqual([1_000, 4_000]);
  });

  it('when the next one of any host is due, and not before', async () => {
    await seedCallback(plain.queries, merchantId, { next_attempt_at: clock.now() + 4_000, attempts: 1 });
    await seedCallback(plain.queries, merchantId, { next_attempt_at: clock.now() + 2_500, attempts: 1, host: 'other.example' });
    const { calls } = begin();
    await clock.advance(9_000);
    expect(timesOf(calls)).toEqual([2_500, 4_000]);
    expect(count('claim')).toBe(2);
  });

  it('after one long pause, not after many short ones', async () => {
    let naps = 0;
    const counting: VirtualClock = {
      ...clock,
      now: () => clock.now(),
      elapsed: () => clock.elapsed(),
      after(delayMs, action) {
        naps += 1;
        return clock.after(delayMs, action);
      },
    };
    begin(undefined, { clock: counting });
    await clock.advance(9_000);
    expect(count('scan')).toBe(1);
    expect(naps).toBeLessThan(10);
  });

  it('at once when another instance has written, and not again after that', async () => {
    const { calls } = begin(() => answered(200));
    await clock.advance(1_000);
    await write(many(1));
    plain.wake('callbacks');
    await clock.advance(1_000);
    expect(timesOf(calls)).toEqual([1_000]);
    forgetStatements();
    await clock.advance(8_000);
    expect(count('scan')).toBe(0);
  });

  it('after a quarter of a second when a callback written here waits for an attempt elsewhere', async () => {
    const subjectId = randomUUID();
    const other = begin();
    await clock.settle();
    await write(many(1), { subjectId, sequence: 1 });
    other.callbacks.wake(to(merchantId, host));
    await clock.settle();
    const here = begin(() => answered(200));
    await clock.settle();
    await write(many(1), { subjectId, sequence: 2 });
    here.callbacks.wake(to(merchantId, host));
    await clock.advance(100);
    other.calls[0]?.end(answered(200));
    await clock.advance(149);
    expect(here.calls).toEqual([]);
    await clock.advance(1);
    expect(timesOf(here.calls)).toEqual([250]);
  });

  it('at once for callbacks that it released unsent, which another may have leased by now', async () => {
    const { callbacks, calls } = begin(({ url }) => (url.endsWith('/0') ? answered(200) : undefined), { limits: { perHost: 1 } });
    await write(many(5));
    callbacks.wake(to(merchantId, host));
    await clock.advance(1_000);
    expect(calls).toHaveLength(2);
    forgetStatements();
    calls[1]?.end({ ...answered(200), durationMs: 5_000 });
    await clock.advance(0);
    expect([count('update "callbacks" set'), count('scan')]).toEqual([1, 1]);
  });

  it('for the next of a subject when the one before is recorded, without a scan of all hosts', async () => {
    const subjectId = randomUUID();
    const { callbacks, calls } = begin();
    await clock.settle();
    await write(many(1), { subjectId, sequence: 1 });
    callbacks.wake(to(merchantId, host));
    await clock.settle();
    await write(many(1), { subjectId, sequence: 2 });
    callbacks.wake(to(merchantId, host));
    await clock.advance(1_000);
    forgetStatements();
    calls[0]?.end(answered(200));
    await clock.settle();
    expect(calls.map(({ sequence }) => sequence)).toEqual([1, 2]);
    expect([count('claim'), count('scan')]).toEqual([1, 0]);
  });

  it('with growing pauses while the database is down, and from the shortest again the next time', async () => {
    begin();
    await clock.settle();
    for (let round = 0; round < 2; round += 1) {
      forgetStatements();
      watched.fail('scan');
      plain.wake('callbacks');
      await clock.advance(0);
      const seen: number[] = [];
      for (let at = 0; at <= 700; at += 50) {
        if (count('scan') > seen.length) seen.push(at);
        await clock.advance(50);
      }
      expect(seen).toEqual([0, 100, 300, 700]);
      watched.fail(undefined);
      await clock.advance(5_000);
      forgetStatements();
      await clock.advance(5_000);
      expect(count('scan')).toBeLessThanOrEqual(1);
    }
  });

  it('for leases of dead gateways until that has succeeded once, and never again', async () => {
    watched.fail('select "id" from');
    begin();
    await clock.advance(50);
    const [ofDead] = watched.statements;
    expect(count('scan')).toBe(0);
    watched.fail(undefined);
    await clock.advance(1_000);
    expect(count(ofDead ?? '')).toBe(2);
    expect(count('scan')).toBe(1);
    await clock.advance(60_000);
    expect(count(ofDead ?? '')).toBe(2);
  });
});

describe('many hosts', () => {
  it('are served in the order of their attempts in progress, fewest first, four at a time, each with its share of the slots', async () => {
    // Twelve of them for hosts that are not known.
    const { callbacks, calls } = begin(undefined, { limits: { total: 48, perHost: 8 } });
    await write(many(6, 'busy.example'));
    callbacks.wake(to(merchantId, 'busy.example'));
    await clock.settle();
    expect(calls).toHaveLength(6);
    await write([...many(6, 'busy.example'), ...many(3, 'idle.example')]);
    callbacks.wake(to(merchantId, 'busy.example', 'idle.example'));
    await clock.settle();
    expect(calls.slice(6).map(({ url }) => new URL(url).host)).toEqual(
      ['idle.example', 'idle.example', 'idle.example', 'busy.example', 'busy.example'].slice(0, calls.length - 6),
    );
    expect(calls.length).toBe(12 - 1);
  });

  it('share the slots, and are each queried once', async () => {
    // Twelve of them for hosts that are not known.
    const { callbacks, calls } = begin(undefined, { limits: { total: 48, perHost: 8 } });
    await clock.settle();
    forgetStatements();
    const hosts = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `${name}.example`);
    await write(hosts.flatMap((name) => many(8, name)));
    callbacks.wake(to(merchantId, ...hosts.flatMap((name) => Array.from({ length: 8 }, () => name))));
    await clock.settle();
    expect(hosts.map((name) => calls.filter(({ url }) => url.includes(name)).length)).toEqual([2, 2, 2, 2, 2, 2]);
    expect(count('claim')).toBe(6);
  });

  it('are each queried once, however many hosts and free slots there are', async () => {
    const { callbacks, calls } = begin();
    await clock.settle();
    forgetStatements();
    const hosts = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `${name}.example`);
    await write(hosts.flatMap((name) => many(1, name)));
    callbacks.wake(to(merchantId, ...hosts));
    await clock.settle();
    expect([calls.length, count('claim')]).toEqual([6, 6]);
  });

  it('wait for the last slot and get it when any of them frees it', async () => {
    const { callbacks, calls } = begin(undefined, { limits: { total: 1 } });
    await write([...many(1, 'one.example'), ...many(1, 'two.example')]);
    callbacks.wake(to(merchantId, 'one.example', 'two.example'));
    await clock.settle();
    expect(calls.map(({ url }) => url)).toEqual(['http://one.example/0']);
    forgetStatements();
    calls[0]?.end(answered(200));
    await clock.settle();
    expect(calls.map(({ url }) => url)).toEqual(['http://one.example/0', 'http://two.example/0']);
    expect(count('scan')).toBe(0);
  });

  it('are not queried again while none of their callbacks could be sent', async () => {
    const { callbacks } = begin(undefined, { limits: { total: 8 } });
    await write(many(20));
    callbacks.wake(to(merchantId, host));
    await clock.settle();
    forgetStatements();
    callbacks.wake(to(merchantId, host));
    callbacks.wake(to(merchantId, host));
    await clock.settle();
    expect(count('claim')).toBe(0);
  });
});

describe('the wake-up of other instances', () => {
  it('is sent again after half a second while there is a surplus, and causes no query of its sender', async () => {
    const { callbacks } = begin();
    await clock.settle();
    await write(many(50));
    callbacks.wake(to(merchantId, host));
    await clock.settle();
    expect(watched.wakes()).toBe(1);
    forgetStatements();
    await clock.advance(499);
    callbacks.wake(to(merchantId, host));
    await clock.settle();
    expect(watched.wakes()).toBe(1);
    await clock.advance(1);
    callbacks.wake(to(merchantId, host));
    await clock.settle();
    expect(watched.wakes()).toBe(2);
    expect(count('scan')).toBe(0);
  });

  it('is no longer sent when the surplus has been sent', async () => {
    const { callbacks } = begin(() => answered(200));
    await clock.settle();
    await write(many(50));
    callbacks.wake(to(merchantId, host));
    await clock.advance(5_000);
    const wakes = watched.wakes();
    await write(many(1));
    callbacks.wake(to(merchantId, host));
    await clock.advance(5_000);
    expect(watched.wakes()).toBe(wakes);
  });

  it('is not sent for callbacks that this one can send', async () => {
    const { callbacks } = begin();
    await write(many(7));
    callbacks.wake(to(merchantId, host));
    await clock.advance(2_000);
    expect(watched.wakes()).toBe(0);
  });
});

describe('stopping', () => {
  it('releases claims in progress, sends nothing, and notifies the others once, however often it is called', async () => {
    const { callbacks, calls } = begin(() => answered(200));
    await clock.settle();
    await write(many(5));
    callbacks.wake(to(merchantId, host));
    const stopped = Promise.all([callbacks.stop(), callbacks.stop()]);
    await clock.advance(10);
    await stopped;
    expect(calls).toEqual([]);
    expect(watched.wakes()).toBe(1);
    const rows = await plain.queries.selectFrom('callbacks').select(['leased_by', 'next_attempt_at']).execute();
    expect(rows).toEqual(rows.map(() => ({ leased_by: null, next_attempt_at: startMs })));
  });

  it('leaves later callbacks to the others', async () => {
    const { callbacks, calls } = begin(() => answered(200));
    const stopped = callbacks.stop();
    await clock.settle();
    await stopped;
    const wakes = watched.wakes();
    await enqueue(plain, callbacks, { merchantId }, to(merchantId, host));
    plain.wake('callbacks');
    await clock.advance(30_000);
    expect(calls).toEqual([]);
    expect(watched.wakes()).toBe(wakes + 1);
    expect(clock.pending).toBe(0);
  });

  it('ends even if the leases cannot be released', async () => {
    const logger = recordingLogger();
    const { callbacks, calls } = begin(undefined, { logger });
    await write(many(1));
    callbacks.wake(to(merchantId, host));
    await clock.settle();
    watched.fail('update "callbacks" set');
    const stopped = callbacks.stop();
    await clock.advance(3_000);
    await stopped;
    expect(calls[0]?.signal.aborted).toBe(true);
    expect(logger.lines.map(({ message }) => message)).toEqual(['leases of callbacks could not be released; they will expire']);
  });

  it('counts nothing as in progress any more', async () => {
    const { callbacks, calls } = begin();
    await write(many(3));
    callbacks.wake(to(merchantId, host));
    await clock.settle();
    expect(callbacks.counts().inFlight).toBe(3);
    calls[0]?.end(answered(200));
    await clock.settle();
    expect(callbacks.counts()).toEqual({ inFlight: 2, delivered: 1, failedAttempts: 0, died: 0 });
  });
});
