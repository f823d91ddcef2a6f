// The short form of the simulation: some shop-days hold every promise, and the same seed is the same day.
// The long form is `npm run simulation -- --days 1000 --seed 1`.
import { describe, expect, it } from 'vitest';
import { runDay } from '../../simulation/run-day.ts';

const tradingMs = 20 * 60_000;

describe('simulated shop-days', () => {
  it('hold every promise under crashes, losses, doubles, delays, cuts and wrong clocks', { timeout: 180_000 }, async () => {
    const totals: Record<string, number> = {};
    for (let seed = 1; seed <= 15; seed += 1) {
      const { violations, figures } = await runDay(seed, { tradingMs });
      expect({ seed, violations }).toEqual({ seed, violations: [] });
      for (const [name, value] of Object.entries(figures)) totals[name] = (totals[name] ?? 0) + value;
    }
    // The days were bad enough to mean something.
    expect(totals).toMatchObject({ paid: expect.any(Number) });
    for (const name of ['gateway-crash', 'gateway-crash-at-statement', 'device-crash', 'device-cut', 'device-clock', 'decided'])
      expect({ name, count: totals[name] }).toEqual({ name, count: expect.toSatisfy((count: number) => count > 5) });
    expect(totals['paid']).toBeGreaterThan(150);
  });

  it('are the same for the same seed, to the last message', { timeout: 60_000 }, async () => {
    const [first, again, other] = [await runDay(5, { tradingMs }), await runDay(5, { tradingMs }), await runDay(6, { tradingMs })];
    expect(again.traceHash).toBe(first.traceHash);
    expect(again.figures).toEqual(first.figures);
    expect(other.traceHash).not.toBe(first.traceHash);
  });
});
