// What is believed from memory for seconds: never longer than it may be, and never after a word that something changed.
import { beforeEach, describe, expect, it } from 'vitest';
import { createShortLivedCache } from '../../src/access/short-lived-cache.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';

let clock: VirtualClock;
let cache: ReturnType<typeof createShortLivedCache<string>>;
let lookUps: string[];

beforeEach(() => {
  clock = createVirtualClock();
  lookUps = [];
  cache = createShortLivedCache(clock, 3, async (name) => {
    lookUps.push(name);
    return name === 'nobody' ? { value: undefined, validForMs: 1_000 } : { value: name.toUpperCase(), validForMs: 5_000 };
  });
});

it('returns a cached value at once until it expires, without a lookup', async () => {
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

it('is empty after a change was notified', async () => {
  await cache.get('a');
  cache.forget();
  expect(cache.known('a')).toBeUndefined();
});

describe('a lookup that is overtaken by a notified change', () => {
  let begun: PromiseWithResolvers<{ value: string; validForMs: number }>[];
  let looked: string[];
  let slow: ReturnType<typeof createShortLivedCache<string>>;
  const end = async (at: number, value: string) => {
    begun[at]?.resolve({ value, validForMs: 5_000 });
    await clock.settle();
  };

  beforeEach(() => {
    begun = [];
    looked = [];
    slow = createShortLivedCache<string>(clock, 3, (name) => {
      looked.push(name);
      const look = Promise.withResolvers<{ value: string; validForMs: number }>();
      begun.push(look);
      return look.promise;
    });
  });

  it('is made again, once for all waiting callers, and only the second result is returned', async () => {
    const [first, joined] = [slow.get('a'), slow.get('a')];
    slow.forget();
    await end(0, 'before');
    expect([begun.length, slow.known('a')]).toEqual([2, undefined]);
    const later = slow.get('a');
    await end(1, 'after');
    expect([await first, await joined, await later, slow.known('a'), begun.length]).toEqual(['after', 'after', 'after', 'after', 2]);
  });

  it('is made three times at most: others’ changes delay no caller for ever, and the last result is not cached', async () => {
    const asked = slow.get('a');
    for (const at of [0, 1, 2]) {
      slow.forget();
      await end(at, `found ${at}`);
    }
    expect([await asked, slow.known('a'), begun.length]).toEqual(['found 2', undefined, 3]);
  });

  it('is not made again by a call that only waited for its turn meanwhile', async () => {
    const crowd = Array.from({ length: 6 }, (_, at) => slow.get(`crowd ${at}`));
    const waiting = slow.get('a');
    slow.forget();
    for (let at = 0; at < 13; at += 1) await end(at, 'found');
    expect(await Promise.all([...crowd, waiting])).toEqual(Array(7).fill('found'));
    expect(looked.filter((name) => name === 'a')).toHaveLength(1);
    expect(looked).toHaveLength(13);
  });
});

it('does not return absent values: `get` looks them up or caches them', async () => {
  await cache.get('nobody');
  expect([cache.known('nobody'), await cache.get('nobody'), lookUps]).toEqual([undefined, undefined, ['nobody']]);
});

it('drops those first that were not read', async () => {
  for (const name of ['a', 'b', 'c']) await cache.get(name);
  expect(cache.known('a')).toBe('A');
  await cache.get('d');
  expect(['a', 'b', 'c', 'd'].map((name) => cache.known(name))).toEqual(['A', undefined, 'C', 'D']);
});

it('drops those first that were not read, also by `get`, and counts a new lookup as recent', async () => {
  for (const name of ['a', 'b', 'c', 'a', 'd']) await cache.get(name);
  expect(['a', 'b'].map((name) => cache.known(name))).toEqual(['A', undefined]);
  cache.forget();
  await cache.get('a');
  await clock.advance(5_000);
  for (const name of ['b', 'c', 'a', 'd']) await cache.get(name);
  expect(['a', 'b'].map((name) => cache.known(name))).toEqual(['A', undefined]);
});

it('looks up a value again that is older than the caller accepts', async () => {
  await clock.advance(10);
  await cache.get('a');
  await clock.advance(100);
  await cache.get('a', 100);
  expect(lookUps).toEqual(['a']);
  await cache.get('a', 99);
  expect(lookUps).toEqual(['a', 'a']);
});

it('keeps a lookup in progress when an older one of the same name fails', async () => {
  const begun: PromiseWithResolvers<{ value: string; validForMs: number }>[] = [];
  const slow = createShortLivedCache<string>(clock, 3, () => {
    const look = Promise.withResolvers<{ value: string; validForMs: number }>();
    begun.push(look);
    return look.promise;
  });
  const first = slow.get('a');
  slow.forget();
  const second = slow.get('a');
  begun[0]?.reject(new Error('away'));
  await expect(first).rejects.toThrow('away');
  const third = slow.get('a');
  begun[1]?.resolve({ value: 'A', validForMs: 1 });
  expect([await second, await third, begun.length]).toEqual(['A', 'A', 2]);
});

describe('while six look-ups are in progress', () => {
  let begun: string[];
  let isBusy: boolean;
  let crowd: PromiseWithResolvers<undefined>;
  let busy: ReturnType<typeof createShortLivedCache<string>>;
  let bad: Set<string>;

  beforeEach(() => {
    begun = [];
    isBusy = false;
    crowd = Promise.withResolvers();
    bad = new Set(['bad']);
    busy = createShortLivedCache(clock, 3, async (name) => {
      if (name.startsWith('crowd')) await crowd.promise;
      if (isBusy) begun.push(name);
      return { value: bad.has(name) ? undefined : name, validForMs: 0 };
    });
  });

  /** The order in which these get their turn, after each other in the queue. */
  async function orderOf(...names: string[]): Promise<string[]> {
    const all = Array.from({ length: 6 }, (_, at) => busy.get(`crowd ${at}`));
    isBusy = true;
    all.push(...names.map((name) => busy.get(name)));
    crowd.resolve(undefined);
    await Promise.all(all);
    return begun.filter((name) => !name.startsWith('crowd'));
  }

  it('a key that was found before goes ahead of those that were not, and of those that never were asked for', async () => {
    for (const name of ['good', 'bad']) await busy.get(name);
    busy.forget();
    expect(await orderOf('new', 'bad', 'good')).toEqual(['good', 'new', 'bad']);
  });

  it('a key that was found once and then no more does not', async () => {
    await busy.get('was good');
    bad.add('was good');
    await busy.get('was good');
    expect(await orderOf('new', 'was good')).toEqual(['new', 'was good']);
  });

  it('as many go ahead as are kept, those found last', async () => {
    for (const name of ['a', 'b', 'c', 'a']) await busy.get(name);
    expect(await orderOf('new', 'c', 'b', 'a')).toEqual(['c', 'b', 'a', 'new']);
  });

  it('one more, and the one found longest ago waits with the others', async () => {
    for (const name of ['a', 'b', 'c', 'a', 'd']) await busy.get(name);
    expect(await orderOf('new', 'b', 'a', 'c', 'd')).toEqual(['a', 'c', 'd', 'new', 'b']);
  });

  it('as many wait as are kept, one more is turned away, and a key that was found before is not', async () => {
    await busy.get('good');
    const crowded = orderOf('a', 'b', 'c', 'good');
    await expect(busy.get('d')).rejects.toMatchObject({ errorName: 'Too_Many_Requests' });
    expect(await crowded).toEqual(['good', 'a', 'b', 'c']);
    // It was no answer: asked again, it is looked up.
    expect(await busy.get('d')).toBe('d');
  });
});
