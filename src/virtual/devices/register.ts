// The virtual fiscal register: which commands it accepts or refuses. receipt-printer.ts executes receipts, document-writer.ts cash and
// reports.
import { type Bani, parseAmount } from '../../kernel/money.ts';
import { namesWhere, operationNamed } from '../../kernel/operations.ts';
import type { JsonObject, LedgerCommandName } from '../../link/protocol.ts';
import { readReceipt } from '../books/receipt.ts';
import { type DeviceWork, type Ending, refused } from '../client/device-work.ts';
import type { Task } from '../client/task.ts';
import type { Faults } from '../mishaps/mishaps.ts';
import { takeMishaps } from './counter.ts';
import { writeCash, writeReport } from './document-writer.ts';
import { createReceiptPrinter, type PrinterDeps } from './receipt-printer.ts';

export interface RegisterDeps extends PrinterDeps {
  /** Refuse everything but reports when the shift has been open for 24 h. Off: no daily Z is required. */
  limitShiftTo24h: boolean;
  firmware: string;
}

const commands: ReadonlySet<LedgerCommandName> = new Set(namesWhere(({ device }) => device === 'register'));
const maxShiftMs = 24 * 3_600_000;

/** The amount that selects faults; a report has none. */
export function registerAmountOf(name: string, args: JsonObject): Bani | undefined {
  const { prints, cash } = operationNamed(name);
  if (prints) return readReceipt(args.receipt).receipt?.totalBani;
  return cash ? parseAmount(args.amount) : undefined;
}

export function createRegister(deps: RegisterDeps): DeviceWork {
  const { bank, memory, screen, timing, mishaps, roll } = deps;
  const shop = { name: deps.deviceName, deviceId: deps.deviceId };
  const receipts = createReceiptPrinter(deps);

  async function execute(task: Task): Promise<Ending> {
    const faults = takeMishaps(deps, task);
    const no = refuseBeforehand(task);
    if (no) return showing(no, task);
    const ending = operationNamed(task.name).prints ? await receipts.print(task, faults) : await writeDocument(task, faults);
    if (faults.has('late-answer')) await task.sleep(Math.max(0, task.answerByMs - task.now()) + timing.lateByMs);
    return showing(ending, task);
  }

  function refuseBeforehand(task: Task): Ending | undefined {
    const { shiftOpenedAtMs } = memory;
    const isTooLong = deps.limitShiftTo24h && shiftOpenedAtMs !== undefined && task.now() - shiftOpenedAtMs > maxShiftMs;
    // An X report changes nothing, and a Z report ends the shift.
    if (isTooLong && task.name !== 'Report') return refused('The shift has been open for more than 24 h: make a Z report first.');
    if (task.name === 'MoneyOut' && (parseAmount(task.args.amount) ?? 0) > memory.drawerBani)
      return refused('There is not that much in the drawer.');
    return roll.paper === 'OUT' ? refused('The register is out of paper.') : undefined;
  }

  /** MoneyIn, MoneyOut, Report. */
  async function writeDocument(task: Task, faults: Faults): Promise<Ending> {
    const isReport = task.name === 'Report';
    if (!isReport && !operationNamed(task.name).cash) return refused(`The virtual register does not implement ${task.name}.`);
    if (!(await task.begin())) return refused('It came too late to begin.');
    if (faults.has('crash-before-bank') || faults.has('crash-after-bank')) return await deps.crash();
    await task.sleep(faults.has('slow') ? timing.slowMs : timing.printMs);
    const ending = isReport ? await writeReport({ memory, screen, shop }, task) : await writeCash(memory, task);
    if (faults.has('crash-after-print')) return await deps.crash();
    return ending;
  }

  function showing(ending: Ending, task: Task): Ending {
    const amountBani = registerAmountOf(task.name, task.args);
    const about = { commandId: task.id, ...(amountBani === undefined ? {} : { amountBani }) };
    if (ending.outcome === 'done') screen.show('approved', 'Done', about);
    else screen.show(roll.paper === 'OUT' ? 'outOfPaper' : 'refused', ending.reason ?? ending.outcome, about);
    return ending;
  }

  return {
    kind: 'register',
    commands,
    facts: () => ({ battery: 100, paper: roll.paper, signal: 90, bank: bank.name, firmware: deps.firmware, features: ['paid'] }),
    judge(name, args) {
      return whyNot(name, args) ?? (mishaps.isBusy(name, args) ? busy : undefined);
    },
    execute,
    recover: receipts.recover,
    lastDocument() {
      const last = memory.last();
      return last ? { document: last.type, documentNumber: last.documentNumber } : {};
    },
  };
}

const busy: Ending = { outcome: 'busy', reason: 'A person is in the menu of the register.' };

function whyNot(name: LedgerCommandName, args: JsonObject): Ending | undefined {
  if ((name === 'MoneyIn' || name === 'MoneyOut') && parseAmount(args.amount) === undefined) return refused('The amount is not valid.');
  if (name === 'Report' && typeof args.fiscal !== 'boolean') return refused('fiscal must be true for Z or false for X.');
  const problem = operationNamed(name).prints ? readReceipt(args.receipt).problem : undefined;
  return problem === undefined ? undefined : refused(problem);
}
