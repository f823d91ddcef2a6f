// The environment of a story: the till, the devices and the messages of the playground, and waiting for real events.
// A step is done when its event is observed. If that does not happen in time, the step fails and the story ends.
import type { StoryView, WireView } from '../../cabinet/playground/view-schema.ts';
import { type Clock, sleep } from '../../kernel/clock.ts';
import { baniToLei } from '../../kernel/money.ts';
import type { BankEntry } from '../../virtual/books/bank.ts';
import type { VirtualDevice } from '../../virtual/devices/virtual-device.ts';
import type { Changes } from '../changes.ts';
import type { QrSale } from '../erp/qr-sale.ts';
import type { Sale } from '../erp/sale.ts';
import type { ErpSink } from '../erp/sink.ts';
import type { Till } from '../erp/till.ts';
import type { Shop } from '../shop.ts';
import type { WireLog } from '../wire-log.ts';

export type Params = Record<string, string | number>;

export interface StageDeps {
  clock: Clock;
  changes: Changes;
  wire: WireLog;
  shop: Shop;
  till: Till;
  qrSale: QrSale;
  sink: () => ErpSink;
  momentMs: number;
}

export interface Stage extends StageDeps {
  terminal: VirtualDevice;
  register: VirtualDevice;
  /** Begins the next step, which must have this name, and ends it with the result of `play`. */
  step<Found>(key: string, play: () => Promise<Found>, paramsOf?: (found: Found) => Params): Promise<Found>;
  /** A message sent or received since the story began. */
  seenOnWire(wanted: Partial<WireView>): WireView | undefined;
  /** Waits for a result. Rejects with the till's error message if the card sale of the story is refused. */
  until<Found>(find: () => Found | undefined | false, withinMs?: number): Promise<Found>;
  /** The card sale of the story, on its terminal and register. */
  sell(): Sale;
}

/** The result of a script, for the verdict. */
export interface Played {
  sales: Sale[];
  erpHadToDo: { key: string; params: Params };
  params: Params;
}

export interface Script {
  steps: readonly string[];
  play(stage: Stage): Promise<Played>;
}

const stepWithinMs = 20_000;

/** `beforeStep`: waits, if the story is played step by step. */
export function createStage(deps: StageDeps, run: StoryView, isStopped: () => boolean, beforeStep: () => Promise<void>): Stage {
  const { clock, changes, shop, wire, till } = deps;
  const startedAtMs = clock.elapsed();
  const firstSeq = wire.lastSeq();
  const terminal = shop.first('terminal').device;
  const register = shop.first('register').device;
  let sale: Sale | undefined;

  function checkStopped(): void {
    if (isStopped()) throw new Error('Stopped by the user.');
  }

  async function until<Found>(find: () => Found | undefined | false, withinMs = stepWithinMs): Promise<Found> {
    checkStopped();
    const late = () => new Error('The expected event did not happen in time.');
    const look = () => {
      if (sale?.state === 'refused') return { refusal: sale.message ?? '' };
      const found = find();
      return found !== undefined && found !== false && { found };
    };
    const seen = await changes.until(look, withinMs, late);
    if (seen.refusal !== undefined) throw new Error(seen.refusal);
    return seen.found;
  }

  async function step<Found>(key: string, play: () => Promise<Found>, paramsOf: (found: Found) => Params = () => ({})): Promise<Found> {
    const now = run.steps.find((one) => one.key === key);
    if (!now) throw new Error(`The story ${run.name} has no step ${key}.`);
    if (now !== run.steps[0]) await beforeStep();
    checkStopped();
    now.state = 'running';
    changes.changed();
    const found = await play();
    now.state = 'done';
    now.atMs = Math.round(clock.elapsed() - startedAtMs);
    now.params = paramsOf(found);
    changes.changed();
    return found;
  }

  return {
    ...deps,
    terminal,
    register,
    step,
    until,
    seenOnWire: (wanted) =>
      wire
        .messages()
        .find((message) => message.seq > firstSeq && Object.entries(wanted).every(([name, value]) => message[name as 'what'] === value)),
    sell() {
      sale = till.sell({ deviceId: terminal.deviceId, registerId: register.deviceId });
      return sale;
    },
  };
}

export const nothing = { key: 'playground.erpHadToDo.nothing', params: {} };

export function amountParams(sale: Sale): Params {
  return { amount: baniToLei(sale.totalBani) };
}

export function chargesOf(device: VirtualDevice, name: string): BankEntry[] {
  return device.bank
    .charges()
    .map(({ entry }) => entry)
    .filter(({ documentNr }) => documentNr === name);
}

/** The customer of a story presents the card and, after a pause, enters the PIN. */
export async function customerPays({ terminal, until, clock, momentMs }: Stage): Promise<void> {
  await until(() => terminal.customer.waitsFor() === 'card');
  await sleep(clock, momentMs);
  terminal.customer.act('presentCard');
  await sleep(clock, momentMs);
  terminal.customer.act('pin');
}

/** Paid, closed and printed, and the ERP has the outcome. */
export function isThrough(sale: Sale): boolean {
  return sale.state === 'done';
}
