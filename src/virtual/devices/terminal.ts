// The virtual card terminal: how it executes each ledger command with customer, bank and screen.
// Before the bank is asked, a command has no effect; after the bank has approved, the answer is `done`, whatever fails afterwards.
import { type Bani, baniToLei, parseAmount } from '../../kernel/money.ts';
import { namesWhere, operationNamed, operationOf } from '../../kernel/operations.ts';
import type { JsonObject, LedgerCommandName } from '../../link/protocol.ts';
import type { Bank, BankAnswer, BankEntry } from '../books/bank.ts';
import { type DeviceWork, type Ending, refused } from '../client/device-work.ts';
import type { JournalEntry } from '../client/journal.ts';
import type { Task } from '../client/task.ts';
import type { Faults } from '../mishaps/mishaps.ts';
import { slip } from '../paper/paper.ts';
import { type CounterDeps, meetCustomer, takeMishaps } from './counter.ts';

export interface TerminalDeps extends CounterDeps {
  bank: Bank;
  /** Cuts the power. Never resolves. */
  crash(): Promise<never>;
  firmware: string;
}

const commands: ReadonlySet<LedgerCommandName> = new Set(namesWhere(({ device }) => device === 'terminal'));

/** The amount that selects faults. Not of a cancellation: it has the amount of its payment and would repeat the payment's fault. */
export function terminalAmountOf(name: string, args: JsonObject): Bani | undefined {
  return operationNamed(name).effect === 'void' ? undefined : parseAmount(args.amount);
}

export function createTerminal(deps: TerminalDeps): DeviceWork {
  const { bank, screen, mishaps, roll, timing } = deps;

  function judge(name: LedgerCommandName, args: JsonObject): Ending | undefined {
    const hasAmount = 'amount' in operationOf(name).args.properties;
    if (hasAmount && parseAmount(args.amount) === undefined) return refused('The amount is not valid.');
    if (hasAmount && args.currency !== undefined && args.currency !== 'MDL') return refused('The currency must be MDL.');
    if (mishaps.isBusy(name, args)) return { outcome: 'busy', reason: 'A person is in the menu of the terminal.' };
    return undefined;
  }

  async function execute(task: Task): Promise<Ending> {
    let faults = takeMishaps(deps, task);
    const { asksForCard, effect } = operationNamed(task.name);
    if (asksForCard) {
      if (faults.has('paper-out')) return showing(task, refused('The terminal is out of paper.'));
      const met = await meetCustomer(deps, task, amountOf(task.args), faults);
      if (met.no) return showing(task, met.no);
      faults = met.faults;
    }
    if (!(await task.begin())) return refused('It came too late to begin.');
    // Closing a document does not concern the customer: the screen still shows the payment.
    if (effect === 'close') return await askBank(task, faults);
    screen.show('asking', 'Asking the bank', { commandId: task.id, amountBani: amountOf(task.args) });
    const ending = showing(task, await askBank(task, faults));
    if (ending.outcome === 'done') screen.print(slip(bank.name, task.name, ending.report ?? {}));
    return ending;
  }

  function showing(task: Task, ending: Ending): Ending {
    const { authCode, maskedCard } = ending.report ?? {};
    const about = {
      commandId: task.id,
      amountBani: amountOf(task.args),
      ...(typeof authCode === 'string' ? { authCode } : {}),
      ...(typeof maskedCard === 'string' ? { maskedCard } : {}),
    };
    if (ending.outcome === 'done') screen.show('approved', 'Approved', about);
    // Only a refusal by the bank has a card.
    else if (maskedCard !== undefined) screen.show('declined', ending.reason ?? 'Declined', about);
    else screen.show(roll.paper === 'OUT' ? 'outOfPaper' : 'refused', ending.reason ?? '', about);
    return ending;
  }

  async function askBank(task: Task, faults: Faults): Promise<Ending> {
    if (faults.has('crash-before-bank')) return await deps.crash();
    await task.sleep(timing.bankMs);
    const ending = endingOf(task.name, await contact(task, faults));
    if (faults.has('crash-after-bank')) return await deps.crash();
    if (faults.has('late-answer')) await task.sleep(Math.max(0, task.answerByMs - task.now()) + timing.lateByMs);
    return ending;
  }

  function contact(task: Task, faults: Faults): Promise<BankAnswer> {
    const { args, id: reference } = task;
    const amountBani = amountOf(args);
    const operationId = String(args.operationId);
    if (faults.has('declined')) return bank.decline({ reference, amountBani, reason: 'The bank declined the card.' });
    if (faults.has('wrong-pin')) return bank.decline({ reference, amountBani, reason: 'Wrong PIN, three times.' });
    const { isPayment, effect, closesDay } = operationNamed(task.name);
    if (closesDay) return bank.settle({ reference });
    if (isPayment)
      return bank.charge({ reference, amountBani, documentNr: typeof args.documentNr === 'string' ? args.documentNr : undefined });
    if (effect === undefined) return bank.approve({ reference, amountBani });
    switch (effect) {
      case 'refund':
        return bank.refund({ reference, operationId, rrn: String(args.rrn), amountBani });
      case 'void':
        return bank.void({ reference, operationId, token: String(args.token), amountBani });
      case 'close':
        return bank.closeDocument({ reference, operationId, documentNr: String(args.documentNr) });
    }
  }

  return {
    kind: 'terminal',
    commands,
    facts: () => ({ battery: 80, paper: roll.paper, signal: 70, bank: bank.name, firmware: deps.firmware }),
    judge,
    execute,
    recover: async (entry) => recover(bank, entry),
  };
}
/** Promise 6: the outcome is in the bank's book. Without an entry of this command the bank was never asked. */
function recover(bank: Bank, entry: JournalEntry): Ending {
  const found = bank.find(entry.id).at(-1);
  return found ? endingOf(entry.name, { entry: found }) : refused('The power was cut before the bank was asked.');
}

function amountOf(args: JsonObject): Bani {
  return parseAmount(args.amount) ?? 0;
}

function endingOf(name: string, answer: BankAnswer): Ending {
  if (!answer.entry) return refused(answer.refused);
  const { entry } = answer;
  if (entry.kind === 'decline') {
    return {
      outcome: 'refused',
      reason: entry.reason ?? 'Declined.',
      report: { amount: baniToLei(entry.amountBani), maskedCard: entry.maskedCard },
    };
  }
  return { outcome: 'done', report: reportOf(name, entry) };
}

function reportOf(name: string, entry: BankEntry): JsonObject {
  const { closesDay, effect } = operationNamed(name);
  const amount = baniToLei(entry.amountBani);
  const time = new Date(entry.atMs).toISOString();
  if (closesDay) {
    const totals = { sales: baniToLei(entry.salesBani ?? entry.amountBani), refunds: baniToLei(entry.refundsBani ?? 0) };
    return { count: entry.count ?? 0, amount, totals, time };
  }
  if (effect === 'close') return { operationId: entry.originalId, documentNr: entry.documentNr, time };
  if (effect === 'void') return { operationId: entry.originalId, amount, rrn: entry.rrn, time };
  const { rrn, authCode, operationId, token, maskedCard } = entry;
  const report = { rrn, authCode, operationId, amount, token, maskedCard, time };
  return effect === 'refund' ? { ...report, originalOperationId: entry.originalId } : report;
}
