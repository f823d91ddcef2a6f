// Cash in, cash out, X and Z on a register: each writes one document to the fiscal memory and reports it.
import { parseAmount } from '../../kernel/money.ts';
import type { BankEntry } from '../books/bank.ts';
import { documentReport } from '../books/document-report.ts';
import type { FiscalDocument, FiscalMemory } from '../books/fiscal-memory.ts';
import type { Ending } from '../client/device-work.ts';
import type { Task } from '../client/task.ts';
import { reportPaper, type Shop } from '../paper/paper.ts';
import type { Screen } from '../paper/screen.ts';

export function doneWith(document: FiscalDocument, bankEntries: BankEntry[] = []): Ending {
  return { outcome: 'done', report: documentReport(document, bankEntries) };
}

export async function writeReport(
  { memory, screen, shop }: { memory: FiscalMemory; screen: Screen; shop: Shop },
  task: Task,
): Promise<Ending> {
  const type = task.args.fiscal === true ? 'Z' : 'X';
  const document = await memory.append({
    commandId: task.id,
    atMs: task.now(),
    type,
    reportNumber: memory.nextReportNumber(type),
    totals: memory.shift(),
    drawerBani: memory.drawerBani,
  });
  if (document.type === 'Z' || document.type === 'X') screen.print(reportPaper(shop, document));
  return doneWith(document);
}

export async function writeCash(memory: FiscalMemory, task: Task): Promise<Ending> {
  const type = task.name === 'MoneyIn' ? 'moneyIn' : 'moneyOut';
  const amountBani = parseAmount(task.args.amount) ?? 0;
  const drawerAfterBani = memory.drawerBani + (type === 'moneyIn' ? amountBani : -amountBani);
  const { reason } = task.args;
  const base = { commandId: task.id, atMs: task.now(), type, amountBani, drawerAfterBani } as const;
  return doneWith(await memory.append({ ...base, ...(typeof reason === 'string' ? { reason } : {}) }));
}
