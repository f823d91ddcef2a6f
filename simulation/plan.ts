// What kind of day it will be, drawn from the seed: which devices there are, how bad the network is, how often something dies.
import type { Random } from '../src/kernel/random.ts';
import type { DeviceKind } from '../src/link/protocol.ts';
import type { Weather } from './wire.ts';

export interface DevicePlan {
  kind: DeviceKind;
  hasJournal: boolean;
  /** Tills that use it. */
  cashiers: number;
}

export interface Plan {
  devices: DevicePlan[];
  weather: Weather;
  /** How long the faults last; a calm time follows. */
  tradingMs: number;
  /** Mean time between two mishaps of a kind; Infinity: never. */
  every: Record<Mishap, number>;
  /** The broker lives in the gateway and dies with it. */
  isBrokerEmbedded: boolean;
  /** How many answers of the gateway are lost on their way to the ERP. */
  lostResponseRate: number;
  failingCallbackRate: number;
}

export const mishaps = [
  'gateway-crash',
  'gateway-crash-at-statement',
  'database-outage',
  'gateway-channel-cut',
  'device-crash',
  'device-cut',
  'device-clock',
  'journal-loss',
] as const;
export type Mishap = (typeof mishaps)[number];

const minuteMs = 60_000;

export function drawPlan(random: Random, tradingMs = 60 * minuteMs): Plan {
  const chance = (rate: number) => random.fraction() < rate;
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random.fraction() * items.length)] as Item;
  const oftenMs = (): number => pick([Number.POSITIVE_INFINITY, 40 * minuteMs, 15 * minuteMs, 5 * minuteMs]);
  const device = (kind: DeviceKind): DevicePlan => ({ kind, hasJournal: !chance(0.3), cashiers: chance(0.3) ? 2 : 1 });
  return {
    devices: [device('terminal'), device('terminal'), device('register'), ...(chance(0.5) ? [device('register')] : [])],
    weather: {
      lossRate: pick([0, 0.01, 0.05, 0.2]),
      duplicateRate: pick([0, 0.05, 0.2]),
      unclearRate: pick([0, 0.02]),
      shortestDelayMs: 1,
      maxDelayMs: pick([5, 300, 4_000, 15_000]),
    },
    tradingMs,
    every: {
      'gateway-crash': oftenMs(),
      'gateway-crash-at-statement': oftenMs(),
      'database-outage': oftenMs() * 2,
      'gateway-channel-cut': oftenMs(),
      'device-crash': oftenMs(),
      'device-cut': oftenMs(),
      'device-clock': oftenMs() * 2,
      'journal-loss': chance(0.3) ? 30 * minuteMs : Number.POSITIVE_INFINITY,
    },
    isBrokerEmbedded: chance(0.5),
    lostResponseRate: pick([0, 0.05, 0.2]),
    failingCallbackRate: pick([0, 0, 0.1, 0.3]),
  };
}
