// The day of a shop, three books side by side, as the API returns it. Amounts are in lei.
import type { CommandRow } from './views.ts';

export type Line = 'cardSales' | 'cardRefunds' | 'cardNet' | 'cashSales' | 'cashIn' | 'cashOut' | 'drawer';

export interface Shop {
  merchantId: string;
  merchantName: string;
  /** The point-of-sale code. */
  code: string;
  devices: { id: string; name: string; kind: 'terminal' | 'register'; bank?: string }[];
  closes: { id: string; kind: 'bank' | 'z'; deviceId: string; at: string; number?: string }[];
}

export interface Source {
  commandId: string;
  kind: 'bank' | 'z';
  deviceName: string;
  number?: string;
  from?: string;
  to: string;
  operations: number;
}

export interface DayLine {
  line: Line;
  bank?: number;
  z?: number;
  ledger: number;
  /** The largest between two of the three; absent: there is nothing to compare with. */
  difference?: number;
}

export interface DayGroup {
  kind: 'noReceipt' | 'otherRegister' | 'otherCode' | 'byTerminal' | 'byRegister' | 'suspect';
  sum: number;
  /** Its part of bank minus Z. */
  effect: number;
  count: number;
  operations: CommandRow[];
}

export interface DayClose {
  shop?: string;
  sources: Source[];
  canCompare: { bank: boolean; z: boolean };
  lines: DayLine[];
  groups: DayGroup[];
  /** Card sales: bank minus Z is the sum of the groups' effects and the rest. */
  equation?: { bank: number; z: number; rest: number };
  unexplained: { bank?: number; z?: number };
  operations: number;
  note?: { at: string; actor: string; reason: string };
}
