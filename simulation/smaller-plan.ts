// The reductions of a day, by name, because the order is sent to another thread.
import { type Mishap, mishaps, type Plan } from './plan.ts';
import { fairWeather } from './wire.ts';

interface Step {
  what: string;
  /** After which others it would have no effect. */
  unless?: string;
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
  { what: 'bank numbers that go on', alter: (plan) => ({ ...plan, bankNumbersRestart: false }) },
  { what: 'no lost answers', alter: (plan) => ({ ...plan, lostResponseRate: 0 }) },
  { what: 'one cashier each', alter: (plan) => ({ ...plan, devices: plan.devices.map((device) => ({ ...device, cashiers: 1 })) }) },
  { what: 'terminals only', alter: (plan) => ({ ...plan, devices: plan.devices.filter(({ kind }) => kind === 'terminal') }) },
  {
    what: 'registers only',
    unless: 'terminals only',
    alter: (plan) => ({ ...plan, invoiceTills: 0, devices: plan.devices.filter(({ kind }) => kind === 'register') }),
  },
  { what: 'one device', alter: (plan) => ({ ...plan, devices: plan.devices.slice(0, 1) }) },
  ...mishaps.map(without),
];

/** In the order in which they are tried. */
export const waysToShrink: readonly string[] = steps.map(({ what }) => what);

/** Whether this reduction can be combined with the given ones. */
export function canShrinkBy(way: string, ways: readonly string[]): boolean {
  return steps.every(({ what, unless }) => what !== way || unless === undefined || !ways.includes(unless));
}

/** An unknown name is a bug of the caller. */
export function smallerPlan(plan: Plan, ways: readonly string[]): Plan {
  return ways.reduce((smaller, way) => {
    const step = steps.find(({ what }) => what === way);
    if (!step) throw new Error(`A day cannot be made smaller by "${way}".`);
    return step.alter(smaller);
  }, plan);
}
