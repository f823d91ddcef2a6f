// The day of a shop, three books side by side, as the gateway tells it.
import type { CommandRow } from './views.ts';

export const lines = ['sales', 'card', 'cash', 'refunds', 'cashIn', 'cashOut'] as const;
export type Line = (typeof lines)[number];

export interface Shop {
  shop: string;
  merchantId: string;
  devices: { id: string; name: string; kind: 'terminal' | 'register'; bank?: string }[];
  closes: { commandId: string; kind: 'bank' | 'Z'; deviceName: string; number?: string; at: string }[];
}

export interface Book {
  /** Absent: it did not tell totals, so there is nothing to compare. */
  totals?: Partial<Record<Line, number>>;
  deviceName?: string;
  number?: string;
  from?: string;
  to?: string;
  operations?: number;
}

export interface Difference {
  line: Line;
  amount: number;
  operations: (CommandRow & { why?: string })[];
}

export interface DayClose {
  shop: string;
  close: { commandId: string; kind: 'bank' | 'Z'; at: string };
  bank?: Book;
  z?: Book;
  ledger: Book;
  differences: Difference[];
  canCompare: boolean;
  note?: { actor: string; reason: string; at: string };
}
