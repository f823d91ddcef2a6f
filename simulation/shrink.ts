// Reduces a broken day while it still breaks: the shop closes right after the first violation, kinds of faults are omitted, the network
// becomes reliable, devices and gateways are removed. It must break the same guarantee; the result is printed as one sale's history. Each
// attempt is a day on a thread of the pool: one that crashes or never ends is not a smaller form of this day. It is reported separately,
// because it may be another finding, and costs five minutes: after three of them the reduction ends.
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
  /** The code of the thread, if not real days. */
  script?: URL;
}

export interface Smaller {
  /** The reductions that were applied. */
  ways: readonly string[];
  /** The smallest day found. */
  day: DayResult;
  /** Smaller days that crashed or never ended, and how: not tried again. */
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

/** The first violation without its time, ids and amounts. */
function promiseOf({ violations: [first] }: DayResult): string | undefined {
  return first?.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '').replace(/[\d.:]+/g, '');
}
