// A series of simulated days goes on although one of them never ends or falls over, and tells which one that was.
import { afterEach, describe, expect, it } from 'vitest';
import { openWorkplace, runDays } from '../../simulation/day-pool.ts';
import { watchDay } from '../../simulation/day-watch.ts';
import type { DayResult } from '../../simulation/run-day.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { oddSeeds } from './odd-seeds.ts';

const script = new URL('./odd-days.ts', import.meta.url);
const minuteMs = 60_000;

describe('a series of days', () => {
  const clock = createVirtualClock();
  /** Cut off what is still stuck when a test fails. */
  let isOver = false;
  afterEach(() => {
    isOver = true;
  });

  /** No time passes until `others` days have ended by themselves: the threads are real, the looks are not. */
  async function run(seeds: readonly number[], workers: number, others: number): Promise<DayResult[]> {
    const days: DayResult[] = [];
    const atRest = Promise.withResolvers<void>();
    isOver = false;
    const series = runDays({ seeds, workers, tradingMs: undefined, clock, script }, (day) => {
      days.push(day);
      if (days.length === others) atRest.resolve();
      return isOver;
    });
    await atRest.promise;
    let hasEnded = false;
    const ended = series.then(() => {
      hasEnded = true;
    });
    // Again when the stuck one told of its time only now, because the machine is busy: then its five minutes begin anew.
    while (!hasEnded && others < seeds.length) await clock.advance(6 * minuteMs);
    await ended;
    return days;
  }

  it.each([['stuckLoop'], ['stillTime'], ['neverResolves']] as const)(
    'counts a day that never ends (%s) as broken, names it, and goes on with another thread',
    { timeout: 20_000 },
    async (odd) => {
      const days = await run([oddSeeds[odd], 1, 2, 3], 2, 3);
      expect(days.slice(0, 3).map(({ traceHash }) => traceHash)).toEqual(['day 1', 'day 2', 'day 3']);
      expect(days[3]).toMatchObject({ seed: oddSeeds[odd], hasEnded: false, history: [] });
      // On a busy machine its thread may not have come as far as to tell the time.
      expect(days[3]?.violations).toEqual([expect.stringMatching(/^(06:01:30\.000|--:--) the day never ends/)]);
    },
  );

  it('goes on on the one thread that it has', { timeout: 20_000 }, async () => {
    const days: number[] = [];
    const series = runDays({ seeds: [1, oddSeeds.stuckLoop, 2], workers: 1, tradingMs: undefined, clock, script }, ({ seed }) => {
      days.push(seed);
      if (seed === 1) void clock.advance(6 * minuteMs);
      return false;
    });
    await series;
    expect(days).toEqual([1, oddSeeds.stuckLoop, 2]);
  });

  it.each([
    ['throws', 'Error: The day fell over.'],
    ['throwsInTimer', 'Error: A timer fell over.'],
    ['leaves', 'its thread is gone'],
  ] as const)('counts a day that falls over (%s) as broken, and goes on', { timeout: 20_000 }, async (odd, words) => {
    const days = await run([oddSeeds[odd], 1, 2], 1, 3);
    expect(days.map(({ seed, hasEnded }) => [seed, hasEnded])).toEqual([
      [oddSeeds[odd], false],
      [1, true],
      [2, true],
    ]);
    expect(days[0]?.violations[0]).toContain(`the day fell over: ${words}`);
  });

  it('does not wait for a thread that left after its day had ended', { timeout: 20_000 }, async () => {
    const left = new Promise((resolve) => process.once('worker', (worker) => worker.once('exit', resolve)));
    const workplace = openWorkplace({ clock, script });
    const run = async (seed: number) => (await workplace.run({ seed, tradingMs: undefined })).hasEnded;
    expect(await run(oddSeeds.leavesAfterwards)).toBe(true);
    await left;
    expect(await run(1)).toBe(true);
    await workplace.close();
  });

  it('ends early when it is enough, with a day that fell over too', { timeout: 20_000 }, async () => {
    const seen: number[] = [];
    await runDays({ seeds: [1, oddSeeds.throws, 2], workers: 1, tradingMs: undefined, clock, script }, ({ seed, violations }) => {
      seen.push(seed);
      return violations.length > 0;
    });
    expect(seen).toEqual([1, oddSeeds.throws]);
  });
});

describe('the watch over a day', () => {
  function watched() {
    const clock = createVirtualClock(undefined, { settle: 'microtasks' });
    const stuck: (number | undefined)[] = [];
    return { clock, stuck, watch: watchDay({ clock, onStuck: (reachedMs) => stuck.push(reachedMs) }) };
  }

  it('bears with a day that is slow and comes on, for hours', async () => {
    const { clock, stuck, watch } = watched();
    for (let minute = 1; minute < 120; minute += 1) {
      watch.reached(minute);
      await clock.advance(4 * minuteMs);
    }
    expect(stuck).toEqual([]);
    watch.end();
    await clock.advance(60 * minuteMs);
    expect(stuck).toEqual([]);
  });

  it('gives a day up, once, that tells the same time for five minutes', async () => {
    const { clock, stuck, watch } = watched();
    watch.reached(7);
    for (let minute = 0; minute < 4; minute += 1) {
      await clock.advance(minuteMs);
      watch.reached(7);
    }
    expect(stuck).toEqual([]);
    await clock.advance(60 * minuteMs);
    expect(stuck).toEqual([7]);
  });

  it('gives up one that never begins', async () => {
    const { clock, stuck } = watched();
    await clock.advance(5 * minuteMs);
    expect(stuck).toEqual([undefined]);
  });
});
