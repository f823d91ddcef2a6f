// The plan of a day, drawn from the seed: its devices and gateways, the faults of the network, the frequency of crashes.
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
  /** Gateways on one database. */
  gateways: number;
  weather: Weather;
  /** How long the shop is open at most, under faults; a calm time follows. */
  tradingMs: number;
  /** Mean time between two faults of a kind; Infinity: never. */
  every: Record<Mishap, number>;
  /** The broker is embedded in the gateway and dies with it; only with one gateway. */
  isBrokerEmbedded: boolean;
  /** The share of answers to the ERP that are lost. */
  lostResponseRate: number;
  /** The share of calls that are given up after some seconds, or repeated while the first one runs. */
  impatientRate: number;
  doubledCallRate: number;
  /** The share of wake-ups between gateways that are lost. */
  lostWakeRate: number;
  /** How far a gateway's clock may be from the database's. */
  gatewaySkewMs: number;
  /** How often an ERP becomes unhealthy when its state changes. */
  badErpRate: number;
  /** Tills for invoices. */
  invoiceTills: number;
  /** How often an early operator decides "done" and not "refused". */
  earlyDoneRate: number;
  /** Banks begin their operation numbers again after every closed day [D16]. */
  bankNumbersRestart: boolean;
  /** Mean pause of a till between two sales. */
  pauseMs: number;
}

export const mishaps = [
  'gateway-crash',
  'harm-at-statement',
  'gateway-stall',
  'gateway-stop',
  'gateway-clock',
  'database-outage',
  'gateway-channel-cut',
  'device-crash',
  'device-cut',
  'device-mute',
  'device-clock',
  'journal-loss',
  'device-forgets',
  'journal-cut',
  'old-device-denies',
  'early-operator',
] as const;
export type Mishap = (typeof mishaps)[number];

const minuteMs = 60_000;
const never = Number.POSITIVE_INFINITY;

/** Three hours: most shops have sold enough in half an hour, and nearly all in three, even under the worst faults. */
const defaultTradingMs = 180 * minuteMs;

export function drawPlan(random: Random, tradingMs = defaultTradingMs): Plan {
  const chance = (rate: number) => random.fraction() < rate;
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random.fraction() * items.length)] as Item;
  const oftenMs = (): number => pick([never, 40 * minuteMs, 15 * minuteMs, 5 * minuteMs]);
  /** A person decides about each of these, so its device is locked for minutes. */
  const seldomMs = (): number => pick([never, 25 * minuteMs, 10 * minuteMs]);
  const device = (kind: DeviceKind): DevicePlan => ({ kind, hasJournal: !chance(0.3), cashiers: chance(0.3) ? 2 : 1 });
  const gateways = pick([1, 2, 2, 3]);
  return {
    devices: [device('terminal'), device('terminal'), device('terminal'), device('register'), ...(chance(0.5) ? [device('register')] : [])],
    gateways,
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
      'harm-at-statement': pick([never, 2 * minuteMs, minuteMs, minuteMs / 2]),
      'gateway-stall': oftenMs(),
      'gateway-stop': pick([never, 20 * minuteMs, 8 * minuteMs]),
      'gateway-clock': oftenMs() * 2,
      'database-outage': oftenMs() * 2,
      'gateway-channel-cut': oftenMs(),
      'device-crash': oftenMs(),
      'device-cut': oftenMs(),
      'device-mute': oftenMs(),
      'device-clock': oftenMs() * 2,
      'journal-loss': pick([never, 20 * minuteMs, 5 * minuteMs]),
      'device-forgets': seldomMs(),
      'journal-cut': seldomMs(),
      'old-device-denies': seldomMs(),
      'early-operator': pick([never, 8 * minuteMs, 3 * minuteMs]),
    },
    isBrokerEmbedded: gateways === 1 && chance(0.7),
    lostResponseRate: pick([0, 0.05, 0.2]),
    impatientRate: pick([0.05, 0.1, 0.3]),
    doubledCallRate: pick([0, 0.1, 0.2]),
    lostWakeRate: pick([0, 0.1, 1]),
    gatewaySkewMs: pick([0, 2_000, 300_000]),
    badErpRate: pick([0, 0.2, 0.6]),
    invoiceTills: pick([1, 2]),
    pauseMs: 3_000,
    bankNumbersRestart: chance(0.5),
    earlyDoneRate: pick([0, 0.5, 0.8]),
  };
}
