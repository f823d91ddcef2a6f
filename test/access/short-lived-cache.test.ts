// What is believed from memory for seconds: never longer than it may be, and never after a word that something changed.
import { beforeEach, expect, it } from 'vitest';
import { createShortLivedCache, type ShortLivedCache } from '../../src/access/short-lived-cache.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

let clock: VirtualClock;
let cache: ShortLivedCache<string>;
let lookUps: string[];

beforeEach(() => {
  clock = createVirtualClock();
  lookUps = [];
  cache = createShortLivedCache(clock, 3, async (name) => {
    lookUps.push(name);
    return name === 'nobody' ? { value: undefined, validForMs: 1_000 } : { value: name.toUpperCase(), validForMs: 5_000 };
  });
});

it('knows at once what was looked up, until its time is over, and looks nothing up for it', async () => {
  expect(cache.known('a')).toBeUndefined();
  const asked = cache.get('a');
  expect(cache.known('a')).toBeUndefined();
  await asked;
  await clock.advance(4_999);
  expect(cache.known('a')).toBe('A');
  await clock.advance(1);
  expect(cache.known('a')).toBeUndefined();
  expect(lookUps).toEqual(['a']);
});

it('knows nothing any more after a word that something changed, also not what was being looked up then', async () => {
  await cache.get('a');
  const asked = cache.get('b');
  cache.forget();
  await asked;
  expect([cache.known('a'), cache.known('b')]).toEqual([undefined, undefined]);
});

it('does not know that somebody is nobody: that is looked up or remembered by `get`', async () => {
  await cache.get('nobody');
  expect([cache.known('nobody'), await cache.get('nobody'), lookUps]).toEqual([undefined, undefined, ['nobody']]);
});

it('lets go of those first that nobody asked about', async () => {
  for (const name of ['a', 'b', 'c']) await cache.get(name);
  expect(cache.known('a')).toBe('A');
  await cache.get('d');
  expect(['a', 'b', 'c', 'd'].map((name) => cache.known(name))).toEqual(['A', undefined, 'C', 'D']);
});
