// Makes a broken day smaller while it still breaks: the shop closes right after the first broken promise, kinds of mishaps are left out,
// the network becomes fair, devices and gateways go. It must break the same promise; what is left is told as one sale's history.
import { type Mishap, mishaps, type Plan } from './plan.ts';
import { type DayResult, runDay } from './run-day.ts';
import { fairWeather } from './wire.ts';

interface Step {
  what: string;
  alter(plan: Plan): Plan;
}

const never = Number.POSITIVE_INFINITY;

const without = (mishap: Mishap): Step => ({
  what: `no ${mishap}`,
  alter: (plan) => ({ ...plan, every: { ...plan.every, [mishap]: never } }),
});

const steps: readonly Step[] = [
  { what: 'half the time', alter: (plan) => ({ ...plan, tradingMs: plan.tradingMs / 2 }) },
  { what: 'half of that', alter: (plan) => ({ ...plan, tradingMs: plan.tradingMs / 2 }) },
  { what: 'fair weather', alter: (plan) => ({ ...plan, weather: fairWeather }) },
  { what: 'one gateway', alter: (plan) => ({ ...plan, gateways: 1 }) },
  { what: 'no invoices', alter: (plan) => ({ ...plan, invoiceTills: 0 }) },
  { what: 'ERPs that are well', alter: (plan) => ({ ...plan, badErpRate: 0 }) },
  { what: 'no lost answers', alter: (plan) => ({ ...plan, lostResponseRate: 0 }) },
  { what: 'one cashier each', alter: (plan) => ({ ...plan, devices: plan.devices.map((device) => ({ ...device, cashiers: 1 })) }) },
  { what: 'terminals only', alter: (plan) => ({ ...plan, devices: plan.devices.filter(({ kind }) => kind === 'terminal') }) },
  {
    what: 'registers only',
    alter: (plan) => ({ ...plan, invoiceTills: 0, devices: plan.devices.filter(({ kind }) => kind === 'register') }),
  },
  { what: 'one device', alter: (plan) => ({ ...plan, devices: plan.devices.slice(0, 1) }) },
  ...mishaps.map(without),
];

export async function shrink(seed: number, tradingMs: number | undefined): Promise<{ what: string; day: DayResult }> {
  const kept: Step[] = [];
  const run = (tried: readonly Step[]) =>
    runDay(seed, {
      tradingMs,
      calmAtMostMs: 4 * 3_600_000,
      alterPlan: (plan) => tried.reduce((smaller, { alter }) => alter(smaller), plan),
    });
  let day = await run(kept);
  const promise = promiseOf(day);
  for (const step of steps) {
    const smaller = await run([...kept, step]).catch(() => undefined);
    if (!smaller || promiseOf(smaller) !== promise) continue;
    kept.push(step);
    day = smaller;
  }
  return { what: kept.map(({ what }) => what).join(', ') || 'all that it had', day };
}

/** The first broken promise in its own words: without the time, ids and amounts. */
function promiseOf({ violations: [first] }: DayResult): string | undefined {
  return first?.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '').replace(/[\d.:]+/g, '');
}
