// The overview: what the gateway tells, and how the page reads it. Money is in lei, times are ISO, a day begins at the viewer's midnight.

export type Mode = 'card' | 'qr' | 'cash';
export const modes: readonly Mode[] = ['card', 'qr', 'cash'];

interface Sums {
  amount: number;
  count: number;
}

export interface HourSums {
  /** Beginning of the hour, or of the day in a longer view. */
  at: string;
  card: number;
  qr: number;
  cash: number;
  /** The same hour a week before, all modes. */
  before: number;
}

export interface BankSums {
  bank?: string;
  paid: number;
  amount: number;
  success?: number;
  p95Ms?: number;
}

export interface OverviewDevice {
  id: string;
  name: string;
  kind: 'terminal' | 'register';
  shop?: string;
  liveOn: string[];
  lastSeenAt?: string;
}

export interface Overview {
  /** No operation and no invoice yet. */
  isNew: boolean;
  from: string;
  to: string;
  total: Sums;
  before: Sums;
  modes: Record<Mode, Sums>;
  hours: HourSums[];
  banks: BankSums[];
  success: { tries: number; paid: number; declined: number; unknown: number; rate?: number };
  answers: { p50Ms?: number; p95Ms?: number };
  ownShare: { p50Ms?: number; p95Ms?: number };
  histogram: { fromMs: number; count: number }[];
  devices: OverviewDevice[];
  callbacks: { delivered: number; waiting: number; dead: number; steps: { attempts: number; count: number }[]; nextAttemptAt?: string };
  attention: { counts: Record<string, number>; sums: Record<string, number>; isCut: boolean; oldestSince?: string };
  settledAlone: { recall: number; lateAnswer: number; lastTransaction: number; person: number; longestMs: number };
}

/** Devices with one point-of-sale code are a shop. */
export function shopsOf(devices: readonly OverviewDevice[]): { shop: string; devices: OverviewDevice[] }[] {
  const shops = new Map<string, OverviewDevice[]>();
  for (const device of devices) shops.set(device.shop ?? '', [...(shops.get(device.shop ?? '') ?? []), device]);
  return [...shops].map(([shop, own]) => ({ shop, devices: own }));
}

/** Hours of several days become days. */
/** Without the hours of the night before anything was sold, now or then; a young day keeps its last eight. */
export function sinceOpening(hours: readonly HourSums[]): HourSums[] {
  const first = hours.findIndex(({ card, qr, cash, before }) => card + qr + cash + before > 0);
  return hours.slice(Math.max(0, Math.min(first === -1 ? hours.length : first - 1, hours.length - 8)));
}

export function dailySums(hours: readonly HourSums[]): HourSums[] {
  const days = new Map<string, HourSums>();
  for (const hour of hours) {
    const day = new Date(hour.at).toDateString();
    const sums = days.get(day) ?? { at: hour.at, card: 0, qr: 0, cash: 0, before: 0 };
    days.set(day, {
      at: sums.at,
      card: sums.card + hour.card,
      qr: sums.qr + hour.qr,
      cash: sums.cash + hour.cash,
      before: sums.before + hour.before,
    });
  }
  return [...days.values()];
}
