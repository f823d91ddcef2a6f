import { describe, expect, it } from 'vitest';
import { Hosts } from '../../src/callbacks/hosts.ts';

/** Hosts whose names begin with `slow` or `quick` are that; the others are not known. */
function hostsWith(...known: string[]): Hosts {
  const hosts = new Hosts({ total: 256, perHost: 8 });
  for (const host of known) become(hosts, host, host.startsWith('slow') ? 'slow' : 'quick');
  return hosts;
}

function become(hosts: Hosts, host: string, kind: 'quick' | 'slow'): void {
  hosts.take(host);
  hosts.free(host, { durationMs: kind === 'slow' ? 4_000 : 5, hasAnswered: true });
}

describe('hosts that wait', () => {
  it('are in the queue of their share, in the order of their arrival', () => {
    const hosts = hostsWith('slow a', 'slow b', 'slow c', 'quick');
    for (const host of ['slow c', 'slow a', 'new', 'slow b', 'quick']) hosts.wait(host, ['m']);
    expect([[...hosts.inTurn('quick')], [...hosts.inTurn('slow')], [...hosts.inTurn('unknown')]]).toEqual([
      ['quick'],
      ['slow c', 'slow a', 'slow b'],
      ['new'],
    ]);
    expect(hosts.waiting).toBe(5);
  });

  it('keep their turn when they are added again, and come last when they have left in between', () => {
    const hosts = hostsWith();
    for (const host of ['a', 'b', 'c', 'a']) hosts.wait(host, ['m']);
    expect([[...hosts.inTurn('unknown')], hosts.waiting]).toEqual([['a', 'b', 'c'], 3]);
    hosts.leave('a');
    hosts.leave('a');
    expect([hosts.waits('a'), hosts.waits('b'), hosts.waiting]).toEqual([false, true, 2]);
    hosts.wait('a', ['m']);
    expect([...hosts.inTurn('unknown')]).toEqual(['b', 'c', 'a']);
  });

  it('are gone when they have nothing pending', () => {
    const hosts = hostsWith('slow b', 'quick c');
    for (const host of ['a', 'slow b', 'quick c']) hosts.wait(host, ['m']);
    hosts.setBlocked('slow b', true);
    hosts.keepOnly(new Set(['slow b', 'z']));
    expect([[...hosts.inTurn('slow')], [...hosts.inTurn('quick')], [...hosts.inTurn('unknown')], hosts.waiting]).toEqual([
      ['slow b'],
      [],
      [],
      1,
    ]);
    expect(hosts.isBlocked('slow b')).toBe(false);
  });

  it('are taken round-robin by merchant, however many hosts a merchant has', () => {
    const hosts = hostsWith();
    for (const host of ['a1', 'a2', 'a3']) hosts.wait(host, ['a']);
    for (const host of ['b1', 'b2']) hosts.wait(host, ['b']);
    hosts.wait('c1', ['c']);
    expect([...hosts.inTurn('unknown')]).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
    // A merchant that has had a turn is behind the others, with what is left as with what is new.
    hosts.leave('a1');
    hosts.passTurn('unknown', ['a', 'nobody']);
    hosts.passTurn('quick', ['b']);
    expect([...hosts.inTurn('unknown')]).toEqual(['b1', 'c1', 'a2', 'b2', 'a3']);
    hosts.leave('c1');
    hosts.wait('c2', ['c']);
    expect([...hosts.inTurn('unknown')]).toEqual(['b1', 'a2', 'c2', 'b2', 'a3']);
  });

  it('are in the queue once, with the earliest turn of their merchants', () => {
    const hosts = hostsWith();
    for (const host of ['a1', 'both']) hosts.wait(host, ['a']);
    for (const host of ['b1', 'b2']) hosts.wait(host, ['b']);
    hosts.wait('both', ['c']);
    expect([...hosts.inTurn('unknown')]).toEqual(['a1', 'b1', 'both', 'b2']);
    expect(hosts.waiting).toBe(4);
    expect([...hosts.leave('both')]).toEqual(['a', 'c']);
    expect([[...hosts.inTurn('unknown')], hosts.waiting, [...hosts.leave('both')]]).toEqual([['a1', 'b1', 'b2'], 3, []]);
  });

  it('move with their merchants to another queue when they become slow, and keep their turn otherwise', () => {
    const hosts = hostsWith('slow', 'moves');
    for (const host of ['stays', 'moves', 'slow']) hosts.wait(host, ['a', 'b']);
    become(hosts, 'slow', 'slow');
    become(hosts, 'moves', 'slow');
    expect([[...hosts.inTurn('quick')], [...hosts.inTurn('slow')], [...hosts.inTurn('unknown')]]).toEqual([
      [],
      ['slow', 'moves'],
      ['stays'],
    ]);
    expect([[...hosts.leave('moves')], hosts.waiting]).toEqual([['a', 'b'], 2]);
    hosts.wait('nobodys', []);
    expect([hosts.waits('nobodys'), hosts.waiting]).toEqual([false, 2]);
  });

  it('move to the queue of unknown hosts when their record is dropped', () => {
    const hosts = new Hosts({ total: 256, perHost: 8 }, 1);
    become(hosts, 'first', 'slow');
    hosts.wait('first', ['m']);
    become(hosts, 'second', 'quick');
    expect([[...hosts.inTurn('slow')], [...hosts.inTurn('unknown')]]).toEqual([[], ['first']]);
  });

  it('store at most sixteen of their merchants', () => {
    const hosts = hostsWith();
    for (let at = 0; at < 20; at += 1) hosts.wait('shared', [`m${at}`, `m${at}`]);
    expect([...hosts.leave('shared')]).toEqual(Array.from({ length: 16 }, (_, at) => `m${at}`));
    for (let at = 0; at < 20; at += 1) hosts.wait(`own ${at}`, [`m${at}`]);
    expect([...hosts.inTurn('unknown')]).toHaveLength(20);
  });

  it('are skipped no further than requested, and not at all when they are gone', () => {
    const hosts = hostsWith();
    const names = Array.from({ length: 50_000 }, (_, at) => `host ${at}`);
    for (const [at, host] of names.entries()) hosts.wait(host, [`merchant ${at % 25_000}`]);
    const aThousandLooks = () => timeOf(() => Array.from({ length: 1_000 }, () => [...hosts.inTurn('unknown').take(1)]));
    const aWalk = timeOf(() => expect([...hosts.inTurn('unknown')]).toHaveLength(50_000));
    expect(aThousandLooks()).toBeLessThan(20 * aWalk);
    for (const host of names) hosts.leave(host);
    expect(aThousandLooks()).toBeLessThan(20 * aWalk);
  });
});

function timeOf(work: () => unknown): number {
  const began = performance.now();
  work();
  return performance.now() - began;
}
