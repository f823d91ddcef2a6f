import { describe, expect, it } from 'vitest';
import { WaitingHosts } from '../../src/callbacks/waiting-hosts.ts';

describe('hosts that wait', () => {
  it('stand in the line of their share, in the order in which they came', () => {
    const waiting = new WaitingHosts();
    for (const host of ['c', 'a', 'b']) waiting.add(host, 'slow');
    waiting.add('d', 'quick');
    expect([[...waiting.of('quick')], [...waiting.of('slow')], [...waiting.of('unknown')]]).toEqual([['d'], ['c', 'a', 'b'], []]);
    expect(waiting.size).toBe(4);
  });

  it('keep their turn when they are added again, and come last when they have left in between', () => {
    const waiting = new WaitingHosts();
    for (const host of ['a', 'b', 'c']) waiting.add(host, 'slow');
    waiting.add('a', 'slow');
    expect([...waiting.of('slow')]).toEqual(['a', 'b', 'c']);
    waiting.delete('a');
    expect([waiting.has('a'), waiting.has('b')]).toEqual([false, true]);
    waiting.add('a', 'slow');
    expect([...waiting.of('slow')]).toEqual(['b', 'c', 'a']);
  });

  it('stand in one line only', () => {
    const waiting = new WaitingHosts();
    waiting.add('b', 'quick');
    waiting.add('a', 'unknown');
    waiting.add('a', 'quick');
    expect([[...waiting.of('quick')], [...waiting.of('unknown')]]).toEqual([['b', 'a'], []]);
    expect(waiting.size).toBe(2);
    waiting.delete('a');
    waiting.delete('a');
    expect([[...waiting.of('quick')], waiting.size]).toEqual([['b'], 1]);
  });

  it('are gone when they have nothing pending', () => {
    const waiting = new WaitingHosts();
    waiting.add('a', 'slow');
    waiting.add('b', 'slow');
    waiting.add('c', 'quick');
    waiting.keepOnly(new Set(['b', 'z']));
    expect([[...waiting.of('slow')], [...waiting.of('quick')], waiting.size]).toEqual([['b'], [], 1]);
  });
});
