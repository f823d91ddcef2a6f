// What a story is played with: the till, the devices and the wire of the playground, and waiting for what really happens.
// A step is done when what it tells of has been seen; one that is not seen in time is trouble, and the story ends there and says so.
import type { WireView } from '../../cabinet/playground/view-schema.ts';
import { type Clock, sleep } from '../../kernel/clock.ts';
import { formatLei } from '../../kernel/money.ts';
import type { BankEntry } from '../../virtual/books/bank.ts';
import type { VirtualDevice } from '../../virtual/devices/virtual-device.ts';
import type { Changes } from '../changes.ts';
import type { QrSale } from '../erp/qr-sale.ts';
import type { Sale } from '../erp/sale.ts';
import type { ErpSink } from '../erp/sink.ts';
import type { Till } from '../erp/till.ts';
import type { WireLog } from '../wire-log.ts';

export type Params = Record<string, string | number>;

export interface StageDeps {
  clock: Clock;
  changes: Changes;
  wire: WireLog;
  till: Till;
  qrSale: QrSale;
  sink: () => ErpSink;
  momentMs: number;
}

export interface Stage extends StageDeps {
  terminal: VirtualDevice;
  register: VirtualDevice;
  /** Begins the next step, which must be the one of that name, and ends it with what it found. */
  step<Found>(key: string, play: () => Promise<Found>, paramsOf?: (found: Found) => Params): Promise<Found>;
  /** What came over the wire since the story began. */
  seenOnWire(wanted: Partial<WireView>): WireView | undefined;
  until<Found>(find: () => Found | undefined | false, withinMs?: number): Promise<Found>;
}

/** What a script leaves behind for the verdict. */
export interface Played {
  sales: Sale[];
  erpHadToDo: { key: string; params: Params };
  params: Params;
}

export interface Script {
  steps: readonly string[];
  play(stage: Stage): Promise<Played>;
}

export const nothing = { key: 'playground.erpHadToDo.nothing', params: {} };

export function amountParams(sale: Sale): Params {
  return { amount: formatLei(sale.totalBani) };
}

export function chargesOf(device: VirtualDevice, name: string): BankEntry[] {
  return device.bank
    .charges()
    .map(({ entry }) => entry)
    .filter(({ documentNr }) => documentNr === name);
}

/** The customer of a story: the card, a moment later the PIN. */
export async function customerPays({ terminal, until, clock, momentMs }: Stage): Promise<void> {
  await until(() => terminal.customer.waitsFor() === 'card');
  await sleep(clock, momentMs);
  terminal.customer.act('presentCard');
  await sleep(clock, momentMs);
  terminal.customer.act('pin');
}

/** Told, closed and printed. */
export function isThrough(sale: Sale): boolean {
  return sale.state === 'done';
}
