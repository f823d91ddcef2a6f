// The short form of the simulation: some shop-days hold every promise, and the same seed is the same day.
// The long form is `npm run simulation -- --days 1000 --seed 1 --workers 2`.
import { describe, expect, it } from 'vitest';
import { runDay } from '../../simulation/run-day.ts';
import { byDayOrNight } from '../support/at-length.ts';

const tradingMs = 15 * 60_000;
/** Of the first fourteen, these five have the most different interruptions, and every kind of mishap that is counted below. */
const eventful = [1, 3, 10, 13, 14];
const days = byDayOrNight(eventful.length, 20);
const seeds = days === eventful.length ? eventful : Array.from({ length: days }, (_, at) => at + 1);

function sumUp(into: Record<string, number>, from: Record<string, number>): void {
  for (const [name, value] of Object.entries(from)) into[name] = (into[name] ?? 0) + value;
}

describe('simulated shop-days', () => {
  it('hold every promise under deaths, standstills, losses, doubles, delays, cuts and wrong clocks', { timeout: 900_000 }, async () => {
    const totals: Record<string, number> = {};
    const hits: Record<string, number> = {};
    for (const seed of seeds) {
      const day = await runDay(seed, { tradingMs });
      expect({ seed, violations: day.violations }).toEqual({ seed, violations: [] });
      sumUp(totals, day.figures);
      sumUp(hits, day.hits);
    }
    // The days were bad enough to mean something, and all three modes were at work.
    const least = {
      crashes: 7,
      stalls: 5,
      gracefulStops: 1,
      'device-crash': 5,
      'journal-loss': 2,
      'device-mute': 1,
      'device forgets': 1,
      'device cut': 1,
      'device denies': 1,
      wrongGuesses: 1,
      left: 5,
      hungUpOnStill: 5,
      askedElsewhere: 5,
      underOneKey: 2,
      hours: 24 * days,
      paid: 100,
      printed: 55,
      invoicesPaid: 55,
    };
    for (const [name, count] of Object.entries({ ...least, refused: 10, repeated: 10, statusAsked: 5 }))
      expect({ name, count: totals[name] }).toEqual({ name, count: expect.toSatisfy((found: number) => found >= count) });
    // What was interrupted were writes and commits of the money's own tables, in each of the six ways.
    for (const kind of ['crash before', 'crash after', 'lost before', 'lost after', 'stall before', 'stall after']) {
      const places = Object.keys(hits).filter((name) => name.endsWith(kind) && /commands|idempotency_keys|callbacks|invoices/.test(name));
      expect({ kind, places }).toEqual({ kind, places: expect.toSatisfy((found: string[]) => found.length >= 2) });
    }
  });

  it('are the same for the same seed, to the last message', { timeout: 240_000 }, async () => {
    const short = { tradingMs: 4 * 60_000 };
    const [first, again, other] = [await runDay(5, short), await runDay(5, short), await runDay(6, short)];
    expect(again.traceHash).toBe(first.traceHash);
    expect(again.figures).toEqual(first.figures);
    expect(again.hits).toEqual(first.hits);
    expect(other.traceHash).not.toBe(first.traceHash);
  });
});
