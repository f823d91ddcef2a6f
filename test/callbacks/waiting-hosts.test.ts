import { describe, expect, it } from 'vitest';
import { WaitingHosts } from '../../src/callbacks/waiting-hosts.ts';

describe('hosts that wait', () => {
  it('stand in the line of their share, in the order in which they came', () => {
    const waiting = new WaitingHosts();
    for (const host of ['c', 'a', 'b']) waiting.add(host, 'slow', ['m']);
    waiting.add('d', 'quick', ['m']);
    expect([[...waiting.of('quick')], [...waiting.of('slow')], [...waiting.of('unknown')]]).toEqual([['d'], ['c', 'a', 'b'], []]);
    expect(waiting.size).toBe(4);
  });

  it('keep their turn when they are added again, and come last when they have left in between', () => {
    const waiting = new WaitingHosts();
    for (const host of ['a', 'b', 'c']) waiting.add(host, 'slow', ['m']);
    waiting.add('a', 'slow', ['m']);
    expect([...waiting.of('slow')]).toEqual(['a', 'b', 'c']);
    waiting.delete('a');
    expect([waiting.has('a'), waiting.has('b')]).toEqual([false, true]);
    waiting.add('a', 'slow', ['m']);
    expect([...waiting.of('slow')]).toEqual(['b', 'c', 'a']);
  });

  it('stand in one line only', () => {
    const waiting = new WaitingHosts();
    waiting.add('b', 'quick', ['m']);
    waiting.add('a', 'unknown', ['m']);
    waiting.add('a', 'quick', ['m']);
    expect([[...waiting.of('quick')], [...waiting.of('unknown')]]).toEqual([['b', 'a'], []]);
    expect(waiting.size).toBe(2);
    waiting.delete('a');
    waiting.delete('a');
    expect([[...waiting.of('quick')], waiting.size]).toEqual([['b'], 1]);
  });

  it('are gone when they have nothing pending', () => {
    const waiting = new WaitingHosts();
    waiting.add('a', 'slow', ['m']);
    waiting.add('b', 'slow', ['m']);
    waiting.add('c', 'quick', ['m']);
    waiting.keepOnly(new Set(['b', 'z']));
    expect([[...waiting.of('slow')], [...waiting.of('quick')], waiting.size]).toEqual([['b'], [], 1]);
  });

  it('are taken a host of each merchant at a time, however many a merchant has', () => {
    const waiting = new WaitingHosts();
    for (const host of ['a1', 'a2', 'a3']) waiting.add(host, 'slow', ['a']);
    for (const host of ['b1', 'b2']) waiting.add(host, 'slow', ['b']);
    waiting.add('c1', 'slow', ['c']);
    expect([...waiting.of('slow')]).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
    // Whoever has had a turn is behind the others, with what he has left as with what he brings anew.
    waiting.delete('a1');
    waiting.passTurn('slow', ['a', 'nobody']);
    waiting.passTurn('quick', ['b']);
    expect([...waiting.of('slow')]).toEqual(['b1', 'c1', 'a2', 'b2', 'a3']);
    waiting.delete('c1');
    waiting.add('c2', 'slow', ['c']);
    expect([...waiting.of('slow')]).toEqual(['b1', 'a2', 'c2', 'b2', 'a3']);
  });

  it('come once, with the first turn of those who have written to them', () => {
    const waiting = new WaitingHosts();
    for (const host of ['a1', 'both']) waiting.add(host, 'slow', ['a']);
    for (const host of ['b1', 'b2']) waiting.add(host, 'slow', ['b']);
    waiting.add('both', 'slow', ['c']);
    expect([...waiting.of('slow')]).toEqual(['a1', 'b1', 'both', 'b2']);
    expect(waiting.size).toBe(4);
    expect([...waiting.delete('both')]).toEqual(['a', 'c']);
    expect([[...waiting.of('slow')], waiting.size, [...waiting.delete('both')]]).toEqual([['a1', 'b1', 'b2'], 3, []]);
  });

  it('take their merchants along into another line, and are of nobody unless somebody has written to them', () => {
    const waiting = new WaitingHosts();
    for (const host of ['a1', 'a2']) waiting.add(host, 'quick', ['a']);
    waiting.add('moves', 'slow', ['a', 'b']);
    waiting.add('stays', 'slow', ['a']);
    waiting.add('late', 'slow', ['c']);
    waiting.add('moves', 'quick', []);
    expect([[...waiting.of('quick')], [...waiting.of('slow')]]).toEqual([
      ['a1', 'moves', 'a2'],
      ['stays', 'late'],
    ]);
    waiting.add('nobodys', 'slow', []);
    expect([waiting.has('nobodys'), waiting.size]).toEqual([false, 5]);
  });

  it('remember sixteen of those who have written to them', () => {
    const waiting = new WaitingHosts();
    for (let at = 0; at < 20; at += 1) waiting.add('shared', 'slow', [`m${at}`, `m${at}`]);
    expect([...waiting.delete('shared')]).toEqual(Array.from({ length: 16 }, (_, at) => `m${at}`));
    for (let at = 0; at < 20; at += 1) waiting.add(`own ${at}`, 'slow', [`m${at}`]);
    expect([...waiting.of('slow')]).toHaveLength(20);
  });

  it('are walked past no further than is asked, and not at all when they are gone', () => {
    const waiting = new WaitingHosts();
    const hosts = Array.from({ length: 50_000 }, (_, at) => `host ${at}`);
    for (const [at, host] of hosts.entries()) waiting.add(host, 'slow', [`merchant ${at % 25_000}`]);
    const aThousandLooks = () => timeOf(() => Array.from({ length: 1_000 }, () => [...waiting.of('slow').take(1)]));
    const aWalk = timeOf(() => expect([...waiting.of('slow')]).toHaveLength(50_000));
    expect(aThousandLooks()).toBeLessThan(20 * aWalk);
    for (const host of hosts) waiting.delete(host);
    expect(aThousandLooks()).toBeLessThan(20 * aWalk);
  });
});

function timeOf(work: () => unknown): number {
  const began = performance.now();
  work();
  return performance.now() - began;
}
