// What a series of days came to: its sums are those of its days, and what was never hit is listed.
import { describe, expect, it } from 'vitest';
import { classesOf } from '../../simulation/interruptions.ts';
import { placesThatMatter } from '../../simulation/places-that-matter.ts';
import type { DayResult } from '../../simulation/run-day.ts';
import { createSummary } from '../../simulation/summary.ts';

const day = (change: Partial<DayResult>): DayResult => ({
  seed: 1,
  violations: [],
  history: [],
  traceHash: '',
  hasEnded: true,
  figures: {},
  hits: {},
  passed: {},
  shapes: [],
  ...change,
});

describe('the summary of a series', () => {
  it('adds up days, figures, hits and statements, and names the days that broke', () => {
    const summary = createSummary();
    summary.add(day({ figures: { sales: 200 }, hits: { x: 1 }, passed: { y: 5 } }));
    summary.add(day({ seed: 2, figures: { sales: 201, crashes: 3 }, hits: { x: 2 }, passed: { y: 6 }, violations: ['twice'] }));
    expect(summary.totals()).toEqual({
      days: 2,
      broken: [{ seed: 2, violations: ['twice'] }],
      figures: { sales: 401, crashes: 3 },
      hits: { x: 3 },
      passed: { y: 11 },
    });
    expect(summary.tell(10)).toContain('2 shop-days in 10 s: 1 with broken promises');
  });

  it('lists every class that was never hit, and every table without a name', () => {
    const summary = createSummary();
    const [hit, ...others] = classesOf(placesThatMatter);
    summary.add(
      day({ hits: { [String(hit)]: 1 }, passed: { 'insert commands': 1, 'insert strangers': 1, 'commit commands + strangers': 1 } }),
    );
    expect(summary.missed()).toEqual(others);
    expect(summary.unnamedPlaces()).toEqual(['insert strangers']);
  });
});
