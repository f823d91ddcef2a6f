// Days for the threads of the pool, told apart by their seeds: good ones, and each way in which one may not come to its end.
import { serveDays } from '../../simulation/day-thread.ts';
import { createEventClock } from '../../simulation/event-clock.ts';
import type { DayResult } from '../../simulation/run-day.ts';
import { oddSeeds } from './odd-seeds.ts';

const goodDay = (seed: number): DayResult => ({
  seed,
  violations: [],
  history: [],
  traceHash: `day ${seed}`,
  hasEnded: true,
  figures: {},
  hits: {},
  passed: {},
  shapes: [],
});

serveDays(async (seed, { onMinute }) => {
  const clock = createEventClock(onMinute);
  const again = () => void clock.after(0, again);
  clock.after(90_000, () => {
    switch (seed) {
      case oddSeeds.stuckLoop:
        for (;;);
      case oddSeeds.stillTime:
        return again();
      case oddSeeds.throwsInTimer:
        return queueMicrotask(() => {
          throw new Error('A timer fell over.');
        });
      case oddSeeds.leaves:
        return process.exit(3);
    }
  });
  await clock.advance(120_000);
  if (seed === oddSeeds.neverResolves) await new Promise(() => {});
  if (seed === oddSeeds.throws) throw new Error('The day fell over.');
  if (seed === oddSeeds.leavesAfterwards) setImmediate(() => process.exit(3));
  return goodDay(seed);
});
