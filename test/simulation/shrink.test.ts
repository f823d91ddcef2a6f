// A broken day is made smaller in every way that breaks the same promise, and a smaller one that never ends costs five minutes, not the run.
import { describe, expect, it } from 'vitest';
import { shrink } from '../../simulation/shrink.ts';
import { waysToShrink } from '../../simulation/smaller-plan.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { shrinkingSeeds, stuckDays } from './odd-seeds.ts';

const script = new URL('./shrinking-days.ts', import.meta.url);

/** The threads are real, the looks are not: five minutes pass whenever a day is stuck, and otherwise no time at all. */
async function shrunk(seed: number) {
  const clock = createVirtualClock();
  const stuck = new BroadcastChannel(stuckDays);
  stuck.addEventListener('message', () => void clock.advance(6 * 60_000));
  try {
    return await shrink({ seed, tradingMs: undefined, clock, script });
  } finally {
    stuck.close();
  }
}

describe('a broken day', () => {
  it('is smaller by all that keeps its promise broken, though a smaller one never ends and another falls over', {
    timeout: 30_000,
  }, async () => {
    const { ways, day, odd } = await shrunk(shrinkingSeeds.breaks);
    // The last one would leave no device.
    const others = ['half the time', 'fair weather', 'one gateway', 'no invoices', 'registers only'];
    expect(ways).toEqual(waysToShrink.filter((way) => !others.includes(way)));
    expect(day).toMatchObject({ hasEnded: true, history: [`small by ${ways.length}`] });
    expect(odd).toEqual([
      expect.stringMatching(/^half the time: .* the day never ends/),
      expect.stringContaining('fair weather: --:-- the day fell over: Error: The day fell over.'),
    ]);
  });

  it('is small enough after three smaller ones that never end', { timeout: 30_000 }, async () => {
    const { ways, day, odd } = await shrunk(shrinkingSeeds.neverEndsSmaller);
    expect(ways).toEqual([]);
    expect(day.history).toEqual(['small by 0']);
    expect(odd).toHaveLength(3);
  });

  it('that breaks nothing when it is run again is left as it is', { timeout: 30_000 }, async () => {
    expect(await shrunk(shrinkingSeeds.holds)).toMatchObject({ ways: [], odd: [], day: { violations: [] } });
  });
});
