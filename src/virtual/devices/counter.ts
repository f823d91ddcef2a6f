// What terminal and register do alike before their own work begins: what befalls the command is taken, and the customer is met.
// Nothing has happened yet: whatever ends here ends without bank and fiscal memory having heard of it.
import { type Bani, formatLei } from '../../kernel/money.ts';
import { type Ending, refused } from '../client/device-work.ts';
import type { Task } from '../client/task.ts';
import type { Misdelivery } from '../mishaps/misdelivery.ts';
import type { Befalls, Mishap, Mishaps } from '../mishaps/mishaps.ts';
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

export function takeMishaps({ mishaps, misdelivery, roll }: CounterDeps, task: Task): Befalls {
  const befalls = mishaps.take(task.name, task.args);
  roll.paper = befalls.has('paper-out') ? 'OUT' : 'OK';
  if (befalls.has('lost-answer')) misdelivery.lose(task.id);
  if (befalls.has('answers-twice')) misdelivery.double(task.id);
  return befalls;
}

export type Met = { no: Ending; befalls?: undefined } | { no?: undefined; befalls: Befalls };

const actAsMishap: Partial<Record<CustomerAct, Mishap>> = {
  cancels: 'customer-cancels',
  'wrong-pin': 'wrong-pin',
  declined: 'declined',
};

/** Card and PIN; without a no the bank can be asked, and what the customer did befalls the command like anything else. */
export async function meetCustomer(deps: CounterDeps, task: Task, amountBani: Bani, befalls: Befalls): Promise<Met> {
  const { screen, customer, timing } = deps;
  screen.show('presentCard', `${formatLei(amountBani)} MDL: present the card`, { commandId: task.id, amountBani });
  const quickMs = befalls.has('slow') ? timing.slowMs : timing.customerMs;
  const act = await task.waitForCustomer<CustomerAct>((acted) => customer.meet({ commandId: task.id, amountBani, quickMs }, acted));
  if (act === 'aborted') return { no: refused('It was aborted before the bank was asked.') };
  if (act === 'late' || act === 'leaves') return { no: refused('No card came in time.') };
  const ownDoing = actAsMishap[act];
  const all = new Set(ownDoing === undefined ? befalls : [...befalls, ownDoing]);
  if (all.has('customer-cancels')) return { no: refused('The customer pressed Cancel.') };
  return { befalls: all };
}
