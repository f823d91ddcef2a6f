// Makes a broken day smaller while it still breaks: the shop closes right after the first broken promise, kinds of mishaps are left out,
// the network becomes fair, devices and gateways go. It must break the same promise; what is left is printed as one sale's history.
// Each try is a day on a thread under the watch of the pool: one that falls over or never ends is no smaller form of this day. It is reported
// apart, for it may be a finding of its own, and costs the five minutes of the watch: after three of them the day is small enough.
import type { Clock } from '../src/kernel/clock.ts';
import { openWorkplace } from './day-pool.ts';
import type { DayResult } from './run-day.ts';
import { canShrinkBy, waysToShrink } from './smaller-plan.ts';

const oddDaysAtMost = 3;
const calmAtMostMs = 4 * 3_600_000;

interface Broken {
  seed: number;
  tradingMs: number | undefined;
  /** The real one. */
  clock: Clock;
  /** What the thread runs, if not real days. */
  script?: URL;
}

export interface Smaller {
  /** The ways in which it was made smaller. */
  ways: readonly string[];
  /** As small as it got. */
  day: DayResult;
  /** Smaller days that fell over or never ended, and how: not tried any further. */
  odd: readonly string[];
}

export async function shrink({ seed, tradingMs, clock, script }: Broken): Promise<Smaller> {
  const workplace = openWorkplace({ clock, script });
  const run = (ways: readonly string[]) => workplace.run({ seed, tradingMs, calmAtMostMs, ways });
  const ways: string[] = [];
  const odd: string[] = [];
  try {
    let day = await run(ways);
    const promise = promiseOf(day);
    for (const way of waysToShrink) {
      if (promise === undefined || !day.hasEnded || odd.length >= oddDaysAtMost) break;
      if (!canShrinkBy(way, ways)) continue;
      const smaller = await run([...ways, way]);
      if (!smaller.hasEnded) odd.push(`${way}: ${smaller.violations[0]}`);
      else if (promiseOf(smaller) === promise) {
        ways.push(way);
        day = smaller;
      }
    }
    return { ways, day, odd };
  } finally {
    await workplace.close();
  }
}

/** The first broken promise in its own words: without the time, ids and amounts. */
function promiseOf({ violations: [first] }: DayResult): string | undefined {
  return first?.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '').replace(/[\d.:]+/g, '');
}
