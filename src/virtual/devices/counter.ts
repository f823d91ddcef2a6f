// What terminal and register share before their own work begins: the command's faults are taken, and the customer is met.
// Nothing has happened yet: what ends here never reached bank or fiscal memory.
import { type Bani, formatLei } from '../../kernel/money.ts';
import { type Ending, refused } from '../client/device-work.ts';
import type { Task } from '../client/task.ts';
import type { Misdelivery } from '../mishaps/misdelivery.ts';
import type { Faults, Mishap, Mishaps } from '../mishaps/mishaps.ts';
import type { Screen } from '../paper/screen.ts';
import type { Customer, CustomerAct } from './customer.ts';

/** The paper in the printer, as Status tells it; it outlives a power cut. */
export interface Roll {
  paper: 'OK' | 'OUT';
}

export interface CounterDeps {
  screen: Screen;
  roll: Roll;
  customer: Customer;
  mishaps: Mishaps;
  misdelivery: Misdelivery;
  timing: { customerMs: number; slowMs: number };
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

/** Card and PIN; unless the customer refuses, the bank can be asked, and the customer's action is one more fault. */
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
