// Thousands of hosts that never answer beside a few that do, and how room is passed on among those that wait: in virtual time, on SQLite in memory.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Callbacks } from '../../src/callbacks/callbacks.ts';
import type { Database } from '../../src/database/database.ts';
import type { VirtualClock } from '../support/virtual-clock.ts';
import { answered, type Call, dead, hostsOf, late, openStage, type Stage, silence, to, type WatchedDatabase } from './harness.ts';

let stage: Stage;
let clock: VirtualClock;
let plain: Database;
let watched: WatchedDatabase;
let merchantId: string;
let begin: Stage['begin'];

beforeEach(async () => {
  stage = await openStage();
  ({ clock, plain, watched, merchantId, begin } = stage);
});
afterEach(() => stage.close());

async function send(callbacks: Callbacks, ...hosts: string[]): Promise<void> {
  await stage.writeTo(hosts);
  callbacks.wake(to(merchantId, ...hosts));
  await clock.settle();
}

const sentByOther = (host: string) => plain.queries.deleteFrom('callbacks').where('host', '=', host).execute();
const held = async () => (await plain.queries.selectFrom('callbacks').select('id').where('leased_by', 'is not', null).execute()).length;
const count = (kind: string) => watched.statements.filter((each) => each === kind).length;
/** Claims for the host whose attempt has ended: it may have more, and when that is on record something may have stood behind it. */
const ofItsOwn = 2;
const forgetStatements = () => {
  watched.statements.length = 0;
};

describe('two thousand dead hosts', () => {
  const answersIfAlive = ({ url }: Call) => (url.includes('dead') ? undefined : answered(200));

  it('do not delay a host that has answered before, and one that ends frees one slot', async () => {
    const { callbacks, calls } = begin(answersIfAlive);
    await clock.settle();
    await send(callbacks, 'healthy.example');
    await send(callbacks, ...dead(2_000));
    // A quarter of 256.
    expect(calls).toHaveLength(1 + 64);
    forgetStatements();
    await send(callbacks, 'healthy.example');
    expect(hostsOf(calls).at(-1)).toBe('healthy.example');
    expect(count('claim')).toBe(1);
    forgetStatements();
    calls[1]?.end(silence);
    await clock.settle();
    expect(calls).toHaveLength(1 + 64 + 1 + 1);
    expect([count('claim'), count('scan')]).toEqual([ofItsOwn + 1, 0]);
  });

  it('use three quarters of all slots together once some are known to be silent, and not the last', async () => {
    const { callbacks, calls } = begin(answersIfAlive, { delaysS: [1, 1, 1, 1, 1] });
    await clock.settle();
    await send(callbacks, 'healthy.example');
    await send(callbacks, ...dead(2_000));
    for (let round = 0; round < 4; round += 1) {
      const underWay = calls.length;
      for (const call of calls) call.end(silence);
      await clock.advance(1_500);
      expect(calls.length).toBeGreaterThan(underWay + 63);
    }
    expect(callbacks.counts().inFlight).toBe(192);
    const eight = Array.from({ length: 8 }, () => 'healthy.example');
    await send(callbacks, ...eight);
    expect(hostsOf(calls.slice(-8))).toEqual(eight);
  });
});

describe('a free slot', () => {
  /** One is under way and has the only place; the others wait, in this order. */
  async function lineUp(...others: string[]) {
    const bench = begin(undefined, { limits: { total: 1, perHost: 1 } });
    await clock.settle();
    for (const host of ['first', ...others]) {
      await send(bench.callbacks, host);
    }
    forgetStatements();
    return bench;
  }

  it('is offered to as many hosts as there are slots', async () => {
    const { calls } = await lineUp('second', 'third', 'fourth', 'fifth', 'sixth');
    calls[0]?.end(answered(200));
    await clock.settle();
    expect(hostsOf(calls)).toEqual(['first', 'second']);
    // The place of the first is taken when its own turn comes.
    expect([count('claim'), await held()]).toEqual([ofItsOwn, 1]);
  });

  it('is passed on by a host that has nothing to send any more', async () => {
    const { calls } = await lineUp('second', 'third', 'fourth');
    await sentByOther('second');
    await sentByOther('third');
    calls[0]?.end(answered(200));
    await clock.settle();
    expect(hostsOf(calls)).toEqual(['first', 'fourth']);
    expect([count('claim'), count('scan')]).toEqual([ofItsOwn + 3, 0]);
  });

  it('is passed on until no host waits, and then nothing more is queried', async () => {
    const { calls } = await lineUp('second', 'third');
    await sentByOther('second');
    await sentByOther('third');
    calls[0]?.end(answered(200));
    await clock.advance(5_000);
    expect(hostsOf(calls)).toEqual(['first']);
    expect(count('claim')).toBe(ofItsOwn + 2);
  });

  it('goes to waiting hosts in their turn, even if they got new callbacks or were queried meanwhile', async () => {
    const { callbacks, calls } = await lineUp('zebra', 'ant', 'bee');
    callbacks.wake(to(merchantId, 'zebra'));
    await clock.settle();
    callbacks.wake();
    await clock.settle();
    expect(count('scan')).toBe(1);
    for (let at = 0; at < 3; at += 1) {
      calls[at]?.end(answered(200));
      await clock.settle();
    }
    expect(hostsOf(calls)).toEqual(['first', 'zebra', 'ant', 'bee']);
  });

  it('is offered to others even if the host that frees it has no more to send', async () => {
    const { callbacks, calls } = begin(undefined, { limits: { total: 8, perHost: 2 } });
    await clock.settle();
    await send(callbacks, 'only-one');
    await send(callbacks, 'more', 'more');
    expect(calls).toHaveLength(2);
    calls[0]?.end(answered(200));
    await clock.settle();
    expect(hostsOf(calls)).toEqual(['only-one', 'more', 'more']);
  });

  it('is not given to a host that has all of its own slots', async () => {
    const { callbacks, calls } = begin(undefined, { limits: { total: 8, perHost: 1 } });
    await clock.settle();
    await send(callbacks, 'backlog', 'backlog');
    await send(callbacks, 'ends');
    await send(callbacks, 'waits');
    expect(calls).toHaveLength(2);
    calls[1]?.end(answered(200));
    await clock.settle();
    expect(hostsOf(calls)).toEqual(['backlog', 'ends', 'waits']);
  });

  it('goes to a host by its current kind, not by the kind when it began to wait', async () => {
    // Four places for slow hosts, two for those that are not known.
    const { callbacks, calls } = begin(undefined, { limits: { total: 8, perHost: 2 } });
    await clock.settle();
    for (const host of ['slow1', 'slow2']) {
      await send(callbacks, host);
      calls.at(-1)?.end(late);
      await clock.settle();
    }
    await send(callbacks, 'slow1', 'slow1', 'slow2', 'slow2');
    await send(callbacks, 'new1');
    await send(callbacks, 'turns-slow', 'turns-slow');
    calls.at(-1)?.end(late);
    await clock.settle();
    await send(callbacks, 'new2');
    expect([callbacks.counts().inFlight, hostsOf(calls).at(-1)]).toEqual([6, 'new2']);
    calls.find(({ url }, at) => at > 1 && url.includes('slow1'))?.end(late);
    await clock.settle();
    expect(hostsOf(calls).at(-1)).toBe('turns-slow');
  });

  it('is waited for by a host with too many callbacks without further scans of all hosts', async () => {
    begin();
    await clock.settle();
    await stage.writeTo(Array.from({ length: 20 }, () => 'erp'));
    forgetStatements();
    plain.wake('callbacks');
    await clock.advance(5_000);
    expect([count('scan'), count('claim')]).toEqual([1, 1]);
  });

  it('of a host’s own share is found by it in any queue', async () => {
    // Of eight places two are for hosts that are not known: with its first answer a host may have its four.
    const { callbacks, calls } = begin(undefined, { limits: { total: 8, perHost: 4 } });
    await clock.settle();
    await stage.writeTo(Array.from({ length: 9 }, () => 'erp'));
    callbacks.wake(to(merchantId, 'erp'));
    await clock.settle();
    expect(calls).toHaveLength(2);
    calls[0]?.end(answered(200));
    await clock.settle();
    expect(callbacks.counts().inFlight).toBe(4);
  });

  it('is waited for no longer by hosts whose callbacks another instance has sent', async () => {
    await lineUp('second');
    await clock.advance(9_000);
    for (const host of ['first', 'second']) await sentByOther(host);
    const wakes = watched.wakes();
    // With the look over all hosts the wake-up of other instances ends.
    await clock.advance(30_000);
    expect(watched.wakes()).toBe(wakes);
  });
});

describe('a callback that waited for an attempt elsewhere', () => {
  it('is forgotten when nothing of its host is pending any more', async () => {
    const { callbacks } = begin(() => answered(200));
    await clock.settle();
    callbacks.wake(to(merchantId, 'erp'));
    await clock.advance(1_000);
    forgetStatements();
    await send(callbacks, 'erp');
    expect([callbacks.counts().delivered, count('claim')]).toEqual([1, 1]);
  });
});
