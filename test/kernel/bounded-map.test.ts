// The caches and waiting lists that any caller can fill have a bound: their oldest entry goes.
import { describe, expect, it } from 'vitest';
import { BoundedMap } from '../../src/kernel/bounded-map.ts';

describe('a bounded map', () => {
  it('keeps as many entries as it may, and removes the oldest for one more', () => {
    const map = new BoundedMap<string, number>(2);
    map.set('a', 1).set('b', 2);
    expect([...map]).toEqual([
      ['a', 1],
      ['b', 2],
    ]);
    map.set('c', 3);
    expect([...map.keys()]).toEqual(['b', 'c']);
  });

  it('removes nothing when a known entry is replaced, which stays the oldest unless it was deleted before', () => {
    const map = new BoundedMap<string, number>(2);
    map.set('a', 1).set('b', 2).set('a', 3);
    expect([...map]).toEqual([
      ['a', 3],
      ['b', 2],
    ]);
    map.delete('a');
    map.set('a', 4).set('c', 5);
    expect([...map.keys()]).toEqual(['a', 'c']);
  });
});
