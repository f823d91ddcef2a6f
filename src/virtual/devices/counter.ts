// The common first part of terminal and register: the faults of the command are selected, and the customer presents a card.
// A command that ends here has not reached the bank or the fiscal memory.
import { type Bani, formatLei } from '../../kernel/money.ts';
import { type Ending, refused } from '../client/device-work.ts';
import type { Task } from '../client/task.ts';
import type { Misdelivery } from '../mishaps/misdelivery.ts';
import type { Faults, Mishap, Mishaps } from '../mishaps/mishaps.ts';
import type { Screen } from '../paper/screen.ts';
import type { Customer, CustomerAct } from './customer.ts';

/** The paper in the printer, as reported by Status; it survives a power cut. */
export interface Roll {
  paper: 'OK' | 'OUT';
}

export interface Timing {
  /** Time that the automatic customer takes. */
  customerMs: number;
  slowMs: number;
  bankMs: number;
  printMs: number;
  newRollMs: number;
  /** Delay of a late answer after answerBy. */
  lateByMs: number;
}

export const defaultTiming: Timing = {
  customerMs: 150,
  slowMs: 20_000,
  bankMs: 20,
  printMs: 20,
  newRollMs: 5_000,
  lateByMs: 5_000,
};

export interface CounterDeps {
  screen: Screen;
  roll: Roll;
  customer: Customer;
  mishaps: Mishaps;
  misdelivery: Misdelivery;
  timing: Timing;
}

export function takeMishaps({ mishaps, misdelivery, roll }: CounterDeps, task: Task): Faults {
  const faults = mishaps.take(task.name, task.args);
  roll.paper = faults.has('paper-out') ? 'OUT' : 'OK';
  if (faults.has('lost-answer')) misdelivery.lose(task.id);
  if (faults.has('answers-twice')) misdelivery.double(task.id);
  return faults;
}

export type Met = { no: Ending; faults?: undefined } | { no?: undefined; faults: Faults };

const actAsMishap: Partial<Record<CustomerAct, Mishap>> = {
  cancels: 'customer-cancels',
  'wrong-pin': 'wrong-pin',
  declined: 'declined',
};

/** Card and PIN. Unless the customer refuses, the bank can be asked; the customer's act may add a fault. */
export async function meetCustomer(deps: CounterDeps, task: Task, amountBani: Bani, faults: Faults): Promise<Met> {
  const { screen, customer, timing } = deps;
  screen.show('presentCard', `${formatLei(amountBani)} MDL: present the card`, { commandId: task.id, amountBani });
  const quickMs = faults.has('slow') ? timing.slowMs : timing.customerMs;
  const act = await task.waitForCustomer<CustomerAct>((acted) => customer.meet({ commandId: task.id, amountBani, quickMs }, acted));
  if (act === 'aborted') return { no: refused('It was aborted before the bank was asked.') };
  if (act === 'late' || act === 'leaves') return { no: refused('No card came in time.') };
  const ownDoing = actAsMishap[act];
  const all = new Set(ownDoing === undefined ? faults : [...faults, ownDoing]);
  if (all.has('customer-cancels')) return { no: refused('The customer pressed Cancel.') };
  return { faults: all };
}
