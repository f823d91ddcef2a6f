import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Hosts, shares } from '../../src/callbacks/hosts.ts';

const quick = { durationMs: 5, hasAnswered: true };
const silent = { durationMs: 15_000, hasAnswered: false };
const slow = { durationMs: 4_000, hasAnswered: true };
type Ended = typeof quick;

/** An attempt of each host has ended like this. */
function makeKnown(places: Hosts, ended: Ended, ...hosts: string[]): void {
  for (const host of hosts) {
    places.take(host);
    places.free(host, ended);
  }
}

const named = (name: string, count: number) => Array.from({ length: count }, (_, at) => `${name}${at}`);

/** Takes what there is for these hosts, and tells how many that were. */
function takeAll(places: Hosts, hosts: readonly string[]): number {
  const before = places.taken;
  for (const host of hosts) while (places.room(host, 1) > 0) places.take(host);
  return places.taken - before;
}

describe('slots', () => {
  it('gives a host no more than its own, and all hosts no more than the total', () => {
    const places = new Hosts({ total: 10, perHost: 8 });
    makeKnown(places, quick, 'a', 'b');
    expect(places.room('a', 1)).toBe(8);
    for (let count = 0; count < 8; count += 1) places.take('a');
    expect(places.room('a', 1)).toBe(0);
    expect(places.room('b', 1)).toBe(2);
  });

  it('divides the remaining slots between the hosts with work', () => {
    const places = new Hosts({ total: 8, perHost: 8 });
    makeKnown(places, quick, 'a');
    expect(places.room('a', 4)).toBe(2);
    expect(places.room('a', 100)).toBe(1);
  });

  it('leaves half of all slots to the others, however many hosts are slow', () => {
    const places = new Hosts({ total: 16, perHost: 8 });
    makeKnown(places, quick, 'healthy');
    makeKnown(places, slow, ...named('slow', 25));
    makeKnown(places, silent, ...named('silent', 25));
    expect(takeAll(places, [...named('silent', 3), ...named('slow', 25), ...named('silent', 25)])).toBe(8);
    expect(places.room('healthy', 1)).toBe(8);
  });

  it('leaves three quarters of all slots to the others, however many hosts are not known', () => {
    const places = new Hosts({ total: 256, perHost: 8 });
    makeKnown(places, quick, 'healthy');
    makeKnown(places, silent, ...named('silent', 300));
    expect(takeAll(places, named('new', 300))).toBe(64);
    expect([places.room('healthy', 1), places.room('another new one', 1)]).toEqual([8, 0]);
    expect(takeAll(places, named('silent', 300))).toBe(128);
    expect(takeAll(places, ['healthy'])).toBe(8);
  });

  it('has a slot for another unknown host when earlier ones have become known', () => {
    const places = new Hosts({ total: 256, perHost: 8 });
    takeAll(places, named('new', 300));
    for (const host of named('new', 8)) while (places.takenBy(host) > 0) places.free(host, silent);
    expect(places.taken).toBe(0);
    expect(places.room('another new one', 1)).toBe(8);
  });

  it('gives an unknown host all of its own, and always leaves one to such hosts', () => {
    expect(new Hosts({ total: 256, perHost: 8 }).room('new', 1)).toBe(8);
    expect([1, 3, 7, 8].map((total) => new Hosts({ total, perHost: 8 }).room('new', 1))).toEqual([1, 1, 1, 2]);
  });

  it('gives nothing of the quarter of quick hosts to hosts that follow those that became slow while they had slots', () => {
    const places = new Hosts({ total: 16, perHost: 4 });
    makeKnown(places, silent, ...named('silent', 8));
    expect(takeAll(places, named('silent', 8))).toBe(8);
    expect(takeAll(places, ['first'])).toBe(4);
    places.free('first', slow);
    // Of the newcomers' four none is taken now, and yet three belong to a host that was one.
    expect(takeAll(places, named('new', 9))).toBe(1);
    expect(places.left('quick')).toBe(4);
  });

  it('gives a silent host a single slot until it answers quickly again', () => {
    const places = new Hosts({ total: 64, perHost: 8 });
    places.take('a');
    places.free('a', silent);
    expect(places.room('a', 1)).toBe(1);
    places.take('a');
    expect(places.room('a', 1)).toBe(0);
    places.free('a', quick);
    expect(places.room('a', 1)).toBe(8);
  });

  it('treats a host as slow from two seconds on, and always leaves one slot to slow ones', () => {
    const roomAfter = (durationMs: number, total: number) => {
      const places = new Hosts({ total, perHost: 8 });
      places.take('a');
      places.free('a', { durationMs, hasAnswered: true });
      return places.room('a', 1);
    };
    expect([roomAfter(1_999, 4), roomAfter(2_000, 4)]).toEqual([4, 2]);
    expect(roomAfter(2_000, 1)).toBe(1);
  });

  it('returns a slot to its share', () => {
    const places = new Hosts({ total: 8, perHost: 8 });
    for (const host of ['a', 'a', 'b']) places.take(host);
    places.free('a', quick);
    expect([places.taken, places.takenBy('a'), places.takenBy('b')]).toEqual([2, 1, 1]);
    places.free('a', quick);
    expect([places.taken, places.takenBy('a'), places.takenBy('b')]).toEqual([1, 0, 1]);
  });

  it('reports when others may have waited for the freed slot', () => {
    const places = new Hosts({ total: 8, perHost: 4 });
    makeKnown(places, slow, 'slow');
    makeKnown(places, quick, 'quick');
    takeAll(places, ['quick']);
    expect(places.free('quick', quick)).toEqual({ wasFull: false });
    // Four of eight are for slow hosts, two for those that are not known.
    takeAll(places, ['slow']);
    expect(places.free('quick', quick)).toEqual({ wasFull: false });
    expect(places.free('slow', slow)).toEqual({ wasFull: true });
    expect(places.free('slow', slow)).toEqual({ wasFull: false });
    takeAll(places, ['new']);
    expect(places.free('quick', quick)).toEqual({ wasFull: false });
    expect(places.free('new', slow)).toEqual({ wasFull: true });
    takeAll(places, ['slow', 'quick']);
    expect([places.taken, places.left('quick')]).toEqual([8, 0]);
    expect(places.free('quick', quick)).toEqual({ wasFull: true });
  });

  it('reports no free slot while a share is exceeded', () => {
    const places = new Hosts({ total: 16, perHost: 8 });
    makeKnown(places, slow, 'slow');
    makeKnown(places, quick, 'quick');
    takeAll(places, ['quick', 'slow']);
    // All sixteen, of which seven move from one share to the other.
    expect(places.free('quick', slow)).toEqual({ wasFull: true });
    expect(places.left('slow')).toBe(8 - 15);
    const told = Array.from({ length: 7 }, () => places.free('quick', slow).wasFull);
    // Once it is for a host that is not known; the slow ones have given back only what was too much.
    expect(told).toEqual([false, false, false, true, false, false, false]);
    expect([places.left('slow'), places.room('slow', 1)]).toEqual([0, 0]);
    expect(places.free('slow', slow)).toEqual({ wasFull: true });
  });

  it('never gives more than the total, and its counts equal a sum over all hosts, whatever changes meanwhile', () => {
    const step = fc.record({
      host: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'),
      ended: fc.constantFrom(undefined, quick, slow, silent),
      sharedBy: fc.integer({ min: 0, max: 9 }),
    });
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 200 }),
        fc.integer({ min: 1, max: 24 }),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 7 }),
        (steps, total, perHost, maxKnown) => {
          const places = new Hosts({ total, perHost }, maxKnown);
          const book = bookOf(maxKnown);
          for (const { host, ended, sharedBy } of steps) {
            if (ended !== undefined && places.takenBy(host) > 0) {
              const were = shares.filter((share) => places.left(share) <= 0);
              const { wasFull } = places.free(host, ended);
              book.free(host, ended);
              expect(wasFull).toBe(were.some((share) => places.left(share) > 0));
            }
            const room = places.room(host, sharedBy);
            for (let count = room; count > 0; count -= 1) {
              places.take(host);
              book.take(host);
            }
            expect(places.shareOf(host)).toBe(book.shareOf(host));
            expect(places.taken).toBe(book.taken());
            expect(shares.map((share) => places.left(share))).toEqual(shares.map((share) => book.left(share, total)));
            expect(places.taken).toBeLessThanOrEqual(total);
            expect(places.takenBy(host)).toBeLessThanOrEqual(perHost);
            if (room > 0) expect(places.left(places.shareOf(host))).toBeGreaterThanOrEqual(0);
          }
        },
      ),
    );
  });
});

/** The same by a list of attempts under way and one of hosts, gone over from end to end. */
function bookOf(maxKnown: number) {
  const underWay: string[] = [];
  let hosts: { host: string; share: 'quick' | 'slow' }[] = [];
  const shareOf = (host: string) => hosts.find((each) => each.host === host)?.share ?? 'unknown';
  const of = (...some: string[]) => underWay.filter((host) => some.includes(shareOf(host))).length;
  return {
    shareOf,
    taken: () => underWay.length,
    left(share: (typeof shares)[number], total: number): number {
      const half = Math.max(1, Math.floor(total / 2));
      const quarter = Math.max(1, Math.floor(total / 4));
      const bounds = [total - underWay.length];
      if (share !== 'quick') bounds.push((share === 'slow' ? half : quarter) - of(share), half + quarter - of('slow', 'unknown'));
      return Math.min(...bounds);
    },
    take: (host: string) => void underWay.push(host),
    free(host: string, ended: Ended) {
      underWay.splice(underWay.indexOf(host), 1);
      const others = hosts.filter((each) => each.host !== host);
      hosts = [...others, { host, share: ended === quick ? ('quick' as const) : ('slow' as const) }].slice(-maxKnown);
    },
  };
}

describe('the record of a host', () => {
  it('is kept for the ten thousand hosts that were called last, and the others are unknown again', () => {
    const places = new Hosts({ total: 64, perHost: 8 });
    const hosts = named('silent', 20_000);
    makeKnown(places, silent, ...hosts);
    expect(hosts.filter((host) => places.room(host, 1) === 1)).toEqual(hosts.slice(10_000));
    expect(places.room('silent9999', 1)).toBe(places.room('never seen', 1));
  });

  it('is kept for a host that is called again', () => {
    const places = new Hosts({ total: 64, perHost: 8 }, 3);
    makeKnown(places, quick, 'a', 'b', 'c', 'a', 'new');
    expect(['a', 'b', 'c', 'new'].map((host) => places.ahead(host))).toEqual([96, 0, 96, 96]);
  });

  it('is dropped for good, however many come after it', () => {
    const places = new Hosts({ total: 64, perHost: 8 }, 3);
    makeKnown(places, quick, ...named('host', 20));
    expect(named('host', 20).filter((host) => places.shareOf(host) === 'quick')).toEqual(['host17', 'host18', 'host19']);
  });

  it('is dropped together with its slots, which then count as those of an unknown host', () => {
    const places = new Hosts({ total: 16, perHost: 8 }, 1);
    makeKnown(places, slow, 'slow');
    expect(takeAll(places, ['slow'])).toBe(8);
    places.take('quick');
    expect(places.free('quick', quick)).toEqual({ wasFull: true });
    expect(shares.map((share) => places.left(share))).toEqual([8, 4, -4]);
    for (let count = 0; count < 8; count += 1) places.free('slow', slow);
    expect(shares.map((share) => places.left(share))).toEqual([16, 8, 4]);
  });
});

describe('the number of callbacks leased ahead', () => {
  const aheadAfter = (durationMs: number, hasAnswered = true) => {
    const places = new Hosts({ total: 64, perHost: 8 });
    places.take('a');
    places.free('a', { durationMs, hasAnswered });
    return places.ahead('a');
  };

  it('is the number that the host answers in a second, by its last attempt, and bounded', () => {
    expect([100, 400, 1_999].map((durationMs) => aheadAfter(durationMs))).toEqual([80, 20, 4]);
    expect([0, 1, 5, 83].map((durationMs) => aheadAfter(durationMs))).toEqual([96, 96, 96, 96]);
    expect(aheadAfter(84)).toBe(95);
  });

  it('is 0 for a host that is slow, silent or unknown', () => {
    expect([aheadAfter(2_000), aheadAfter(15_000, false)]).toEqual([0, 0]);
    expect(new Hosts({ total: 64, perHost: 8 }).ahead('a')).toBe(0);
  });
});

it('keeps nothing about hosts that have no callback and no attempt, however many there were', () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const places = new Hosts({ total: 16, perHost: 8 }, 10);
  const come = (host: string) => {
    places.wait(host, ['merchant']);
    places.take(host);
    places.hold(host, 1);
    places.setBlocked(host, true);
  };
  const go = (host: string) => {
    places.leave(host);
    places.setBlocked(host, false);
    places.hold(host, -1);
    places.free(host, quick);
  };
  const usedBytes = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  for (const host of named('known', 10)) come(host);
  for (const host of named('known', 10)) go(host);
  const before = usedBytes();
  for (let batch = 0; batch < 10; batch += 1) {
    const hosts = named(`batch ${batch} `, 10_000);
    hosts.forEach(come);
    hosts.forEach(go);
  }
  // Rows of all of them would need 20 MiB.
  expect(usedBytes() - before).toBeLessThan(5 * 1024 * 1024);
  expect([places.taken, places.waiting, places.waits('known0')]).toEqual([0, 0, false]);
});
