// The simulation bites: each mistake that is planted in the gateway breaks a promise within four short days.
import { describe, expect, it } from 'vitest';
import { plantedBugs } from '../../simulation/planted-bugs.ts';
import { runDay } from '../../simulation/run-day.ts';

const tradingMs = 20 * 60_000;
const calmAtMostMs = 2 * 3_600_000;

describe('a gateway that', () => {
  it.each(plantedBugs)('$name is found out', { timeout: 120_000 }, async (bug) => {
    const found: string[] = [];
    for (let seed = 1; seed <= 4 && found.length === 0; seed += 1) {
      found.push(...(await runDay(seed, { bug, tradingMs, calmAtMostMs })).violations);
      // ...and not because of the weather: without the bug the same day holds.
      const { name, alterPlan } = bug;
      const sound = await runDay(seed, { bug: { name, ...(alterPlan ? { alterPlan } : {}) }, tradingMs });
      expect({ seed, violations: sound.violations }).toEqual({ seed, violations: [] });
    }
    expect(found).not.toEqual([]);
  });
});
