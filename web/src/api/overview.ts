// The overview as the gateway tells it. Money is in lei, times are ISO, hours are those of the viewer's day as the gateway was asked for it.

export type Mode = 'card' | 'qr' | 'cash';
export const modes: readonly Mode[] = ['card', 'qr', 'cash'];

export interface Sums {
  money: number;
  count: number;
}

export interface HourSums {
  /** Beginning of the hour (of the day in the 7-day view). */
  at: string;
  card: number;
  qr: number;
  cash: number;
  /** The same hour of the period before, all modes. */
  before?: number;
  tries?: number;
  paid?: number;
}

export interface BankSums {
  bank: string;
  name?: string;
  money: number;
  paid: number;
  tries: number;
  p95Ms?: number;
}

export interface ShopDevices {
  shop: string;
  devices: { id: string; name: string; kind: 'terminal' | 'register'; liveOn: string[]; lastSeenAt?: string }[];
}

export interface Overview {
  from: string;
  to?: string;
  total: Sums;
  /** The same part of the period before. */
  before?: Sums;
  byMode: Record<Mode, Sums>;
  byHour: HourSums[];
  byBank: BankSums[];
  tries: { all: number; paid: number; declined: number; unknown: number };
  answers: { p50Ms?: number; p95Ms?: number; ownP50Ms?: number; ownP95Ms?: number; histogram?: { uptoMs: number; count: number }[] };
  devices: ShopDevices[];
  callbacks: {
    delivered: number;
    pending: number;
    dead: number;
    bySteps?: { step: number; delayS: number; count: number }[];
    nextAttemptAt?: string;
  };
  attention: { counts: Record<string, number>; sums: Record<string, number>; oldest?: Record<string, string> };
  settled: { count: number; by: Record<string, number>; longest?: { commandId: string; ms: number; amount?: number } };
}
