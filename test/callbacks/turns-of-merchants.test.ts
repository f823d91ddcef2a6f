// Where callbacks wait for a place the merchants take turns, whatever hosts each of them has [D230]: in virtual time, on SQLite in memory.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Callbacks } from '../../src/callbacks/callbacks.ts';
import type { Database } from '../../src/database/database.ts';
import { seedMerchant } from '../support/fixtures.ts';
import type { VirtualClock } from '../support/virtual-clock.ts';
import { answered, type Call, dead, hostsOf, late, openStage, type Stage, silence, to, type WatchedDatabase } from './harness.ts';

let stage: Stage;
let clock: VirtualClock;
let plain: Database;
let watched: WatchedDatabase;
let merchantId: string;
let other: string;
let begin: Stage['begin'];

beforeEach(async () => {
  stage = await openStage();
  ({ clock, plain, watched, merchantId, begin } = stage);
  ({ id: other } = await seedMerchant(plain.queries));
});
afterEach(() => stage.close());

const send = (callbacks: Callbacks, ...hosts: string[]) => sendFrom(merchantId, callbacks, ...hosts);
async function sendFrom(from: string, callbacks: Callbacks, ...hosts: string[]): Promise<void> {
  await stage.writeTo(hosts, from);
  callbacks.wake(to(from, ...hosts));
  await clock.settle();
}

const often = (count: number, host: string) => Array.from({ length: count }, () => host);
async function endOne(calls: readonly Call[], at: number, how = silence): Promise<void> {
  calls.at(at)?.end(how);
  await clock.settle();
}

describe('the hosts of one merchant, thousands of them,', () => {
  it('leave every second slot to new hosts of another', async () => {
    const { callbacks, calls } = begin();
    await clock.settle();
    await send(callbacks, ...dead(2_000));
    await sendFrom(other, callbacks, 'new1.example', 'new2.example');
    for (let at = 0; at < 5; at += 1) await endOne(calls, at);
    expect(hostsOf(calls.slice(64))).toEqual(['dead.example:65', 'new1.example', 'dead.example:66', 'new2.example', 'dead.example:67']);
  });

  it('delay no other merchant after a restart, when no host is known', async () => {
    await stage.writeTo(dead(2_000));
    await stage.writeTo(['healthy.example'], other);
    const { calls } = begin();
    await clock.settle();
    expect(calls).toHaveLength(64);
    expect(hostsOf(calls)).toContain('healthy.example');
  });

  it('do not delay a slow host of another once they are known to be silent', async () => {
    const { callbacks, calls } = begin(undefined, { limits: { total: 4, perHost: 1 }, delaysS: [1, 1] });
    await clock.settle();
    await sendFrom(other, callbacks, 'slow.example');
    await endOne(calls, 0, late);
    for (const host of dead(3)) {
      await send(callbacks, host);
      await endOne(calls, -1);
    }
    // Two of the three have the places of slow hosts.
    await clock.advance(1_500);
    await sendFrom(other, callbacks, 'slow.example');
    expect(hostsOf(calls.slice(4))).toEqual(['dead.example:1', 'dead.example:2']);
    await endOne(calls, 4);
    await endOne(calls, 5);
    expect(hostsOf(calls.slice(6))).toEqual(['dead.example:3', 'slow.example']);
  });

  it('do not overtake waiting hosts by new callbacks while a slot becomes free', async () => {
    // One place of the four is for hosts that are not known.
    const { callbacks, calls } = begin(undefined, { limits: { total: 4, perHost: 1 } });
    await clock.settle();
    await send(callbacks, 'quick.example');
    calls.pop()?.end(answered(200));
    await clock.settle();
    await send(callbacks, ...dead(1));
    await sendFrom(other, callbacks, 'waits.example');
    await stage.writeTo(['dead.example:2', 'dead.example:3']);
    watched.duringClaim(() => {
      callbacks.wake(to(merchantId, 'dead.example:2', 'dead.example:3'));
      calls[0]?.end(silence);
    });
    await send(callbacks, 'quick.example');
    // Its merchant was in line first, by what may be left of the one before; that is one turn.
    expect(hostsOf(calls)).toEqual(['dead.example:1', 'quick.example', 'dead.example:2']);
    await endOne(calls, -1);
    expect(hostsOf(calls).at(-1)).toBe('waits.example');
  });

  it('do not delay a host that another merchant uses as well', async () => {
    const { callbacks, calls } = begin();
    await clock.settle();
    await send(callbacks, ...dead(2_000), 'shared.example');
    await sendFrom(other, callbacks, 'shared.example');
    await endOne(calls, 0);
    await endOne(calls, 1);
    expect(hostsOf(calls).at(-1)).toBe('shared.example');
  });

  it('do not monopolise a shared host after it sent their callback', async () => {
    const { callbacks, calls } = begin(undefined, { limits: { total: 1, perHost: 1 } });
    await clock.settle();
    const own = ['own1', 'own2', 'own3', 'own4', 'own5', 'own6'];
    for (const host of [...own, 'shared']) {
      await send(callbacks, host);
      await endOne(calls, -1, late);
    }
    await send(callbacks, ...own, ...own, 'shared', 'shared');
    await sendFrom(other, callbacks, 'shared');
    const underWay = calls.length;
    for (let times = 0; times < 9; times += 1) await endOne(calls, -1, late);
    const inTurn = ['own2', 'shared', 'own3', 'shared', 'own4', 'shared', 'own5', 'own6', 'own1'];
    expect(hostsOf(calls.slice(underWay))).toEqual(inTurn);
  });

  it('have one turn together, also when each has more than one claim can lease', async () => {
    const { callbacks, calls } = begin(undefined, { limits: { total: 1, perHost: 1 } });
    await clock.settle();
    for (const host of ['one1', 'one2', 'one3', 'other']) {
      await sendFrom(host === 'other' ? other : merchantId, callbacks, host);
      await endOne(calls, -1, late);
    }
    calls.length = 0;
    await stage.writeTo([...often(8, 'one1'), ...often(8, 'one2'), ...often(8, 'one3')]);
    await stage.writeTo(often(8, 'other'), other);
    callbacks.wake([...to(merchantId, 'one1', 'one2', 'one3'), ...to(other, 'other')]);
    await clock.settle();
    for (let times = 0; times < 14; times += 1) await endOne(calls, -1, late);
    const fromWhom = hostsOf(calls).map((host) => (host === 'other' ? 'B' : 'A'));
    expect(fromWhom.join('')).toBe('ABABABABABABABA');
    expect(new Set(hostsOf(calls))).toEqual(new Set(['one1', 'one2', 'one3', 'other']));
  });

  it('do not get every second slot for the host that was called last, and another of theirs has its turn too', async () => {
    const others = [other, ...(await Promise.all(Array.from({ length: 4 }, async () => (await seedMerchant(plain.queries)).id)))];
    const { callbacks, calls } = begin(undefined, { limits: { total: 2, perHost: 1 } });
    await clock.settle();
    const ofAll: [string, string][] = [
      [merchantId, 'one1'],
      [merchantId, 'one2'],
      ...others.map((id, at): [string, string] => [id, `x${at}`]),
    ];
    for (const [from, host] of ofAll) {
      await sendFrom(from, callbacks, host);
      await endOne(calls, -1, late);
    }
    calls.length = 0;
    for (const [from, host] of ofAll) if (host !== 'one2') await sendFrom(from, callbacks, ...often(20, host));
    await send(callbacks, 'one2');
    for (let times = 0; times < 20; times += 1) await endOne(calls, -1, late);
    const hosts = hostsOf(calls);
    expect(hosts).toContain('one2');
    expect(hosts.filter((host) => host === 'one1').length).toBeLessThan(6);
  });

  it('that hang with all their callbacks leave the free slots to others', async () => {
    const { callbacks, calls } = begin();
    await clock.settle();
    const quick = Array.from({ length: 12 }, (_, at) => `quick${at}`);
    for (const host of [...quick, 'other']) {
      await sendFrom(host === 'other' ? other : merchantId, callbacks, host);
      calls.at(-1)?.end(answered(200));
      await clock.settle();
    }
    for (const host of quick) await send(callbacks, ...often(110, host));
    await sendFrom(other, callbacks, 'other');
    expect(hostsOf(calls).at(-1)).toBe('other');
  });

  it('that answer quickly leave a slot to another within two seconds, however many callbacks they have', async () => {
    const { callbacks, calls } = begin(undefined, { limits: { total: 2, perHost: 1 } });
    const endIn = async (durationMs: number) => {
      const underWay = calls.splice(0);
      for (const call of underWay) call.end({ ...answered(200), durationMs });
      await clock.settle();
      return hostsOf(underWay);
    };
    await clock.settle();
    for (const host of ['one1', 'one2', 'other']) {
      await sendFrom(host === 'other' ? other : merchantId, callbacks, host);
      await endIn(100);
    }
    await send(callbacks, ...Array.from({ length: 200 }, (_, at) => `one${1 + (at % 2)}`));
    await sendFrom(other, callbacks, 'other');
    // As they were claimed for a second ahead, and for another one when it was their turn.
    let rounds = 0;
    while (rounds < 100 && !(await endIn(100)).includes('other')) rounds += 1;
    expect(rounds).toBeLessThan(25);
  });

  it('do not delay a host of another merchant that has more than one claim can lease', async () => {
    // Of eight places two are for hosts that are not known.
    const { callbacks, calls } = begin(undefined, { limits: { total: 8, perHost: 8 } });
    await clock.settle();
    await sendFrom(other, callbacks, ...often(4, 'many.example'));
    await send(callbacks, ...dead(50));
    expect(hostsOf(calls)).toEqual(['many.example', 'many.example']);
    for (const at of [0, 1]) await endOne(calls, at);
    // One that stays silent has a single place, of the slow ones.
    expect(hostsOf(calls.slice(2)).toSorted()).toEqual(['dead.example:1', 'dead.example:2', 'many.example']);
  });
});
