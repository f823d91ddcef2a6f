// A receipt on a register, from the customer's card to the paper. Strict order: the bank approves, then the fiscal memory is written and the
// paper printed. A receipt whose money was taken ends `done`; `refused` only if the bank has reversed the charges.
// Power cut before the bank: no effect. After the bank: the charges are in the bank's book under the command's id, and recovery prints the
// receipt or reverses them. After the memory is written: the receipt is done and is not printed again.

import type { Bank } from '../books/bank.ts';
import type { FiscalDocument, FiscalMemory, ReceiptDocument, VatTotal } from '../books/fiscal-memory.ts';
import { type PricedReceipt, readReceipt } from '../books/receipt.ts';
import { type VatTable, vatRateAt, vatWithin } from '../books/vat.ts';
import { type Ending, refused } from '../client/device-work.ts';
import type { JournalEntry } from '../client/journal.ts';
import type { Task } from '../client/task.ts';
import type { Faults } from '../mishaps/mishaps.ts';
import { receiptPaper } from '../paper/paper.ts';
import { cardsOf, createCardCharges } from './card-charges.ts';
import { type CounterDeps, meetCustomer } from './counter.ts';
import { doneWith } from './document-writer.ts';

export interface PrinterDeps extends CounterDeps {
  deviceId: string;
  deviceName: string;
  bank: Bank;
  memory: FiscalMemory;
  vat: VatTable;
  crash(): Promise<never>;
}

export function createReceiptPrinter(deps: PrinterDeps) {
  const { bank, memory, screen, timing, roll } = deps;
  const shop = { name: deps.deviceName, deviceId: deps.deviceId };
  const charges = createCardCharges({ bank, bankMs: timing.bankMs });

  async function print(task: Task, faults: Faults): Promise<Ending> {
    const { receipt } = readReceipt(task.args.receipt);
    if (!receipt) return refused('The receipt cannot be read.');
    if (hasUnknownVat(receipt, task.now())) return refused('An item has a VAT letter that is not in force.');
    const met = cardsOf(receipt).length > 0 ? await meetCustomer(deps, task, receipt.totalBani, faults) : { faults };
    if (met.no) return met.no;
    if (!(await task.begin())) return refused('It came too late to begin.');
    if (met.faults.has('crash-before-bank')) return await deps.crash();
    const no = await charges.charge(task, receipt, met.faults);
    if (no) return no;
    if (met.faults.has('crash-after-bank')) return await deps.crash();
    return await putOnPaper(task, receipt, met.faults);
  }

  async function putOnPaper(task: Task, receipt: PricedReceipt, faults: Faults): Promise<Ending> {
    const about = { commandId: task.id, amountBani: receipt.totalBani };
    if (faults.has('paper-out-reversed') && cardsOf(receipt).length > 0) {
      roll.paper = 'OUT';
      return await charges.reverse(task.id, 'The paper ran out; the bank took the payment back.');
    }
    if (faults.has('paper-out-mended') || faults.has('paper-out-reversed')) {
      roll.paper = 'OUT';
      screen.show('outOfPaper', 'Out of paper: waiting for a new roll', about);
      await task.sleep(timing.newRollMs);
      roll.paper = 'OK';
    }
    screen.show('printing', 'Printing', about);
    await task.sleep(timing.printMs);
    const document = await write(task.id, task.now(), receipt);
    if (faults.has('crash-after-print')) return await deps.crash();
    return doneWith(document, bank.find(task.id));
  }

  function hasUnknownVat(receipt: PricedReceipt, atMs: number): boolean {
    return receipt.lines.some((line) => !vatRateAt(deps.vat, line.vatLetter, atMs));
  }

  async function write(commandId: string, atMs: number, receipt: PricedReceipt): Promise<FiscalDocument> {
    const byPayment: ReceiptDocument['byPayment'] = {};
    for (const { kind, amountBani } of receipt.payments) byPayment[kind] = (byPayment[kind] ?? 0) + amountBani;
    const fiscalNumber = memory.nextFiscalNumber();
    const document = await memory.append({
      type: 'receipt',
      commandId,
      atMs,
      receiptId: `${deps.deviceId.slice(0, 8)}-${fiscalNumber}`,
      fiscalNumber,
      uid: receipt.uid,
      totalBani: receipt.totalBani,
      changeBani: receipt.changeBani,
      byVat: vatTotals(deps.vat, receipt, atMs),
      byPayment,
    });
    if (document.type === 'receipt') screen.print(receiptPaper(shop, receipt, document));
    return document;
  }

  /** Promise 6. A receipt in the memory is done; approved charges are completed; nothing is done twice. */
  async function recover(entry: JournalEntry): Promise<Ending> {
    const document = memory.find(entry.id);
    if (document) return doneWith(document, bank.find(entry.id));
    const { receipt } = readReceipt(entry.args.receipt);
    if (receipt && charges.areAllStanding(entry.id, receipt)) {
      return doneWith(await write(entry.id, screen.now(), receipt), bank.find(entry.id));
    }
    return await charges.reverse(entry.id, 'The power was cut before anything was printed.');
  }

  return { print, recover };
}

function vatTotals(table: VatTable, receipt: PricedReceipt, atMs: number): Record<string, VatTotal> {
  const byVat: Record<string, VatTotal> = {};
  for (const line of receipt.lines) (byVat[line.vatLetter] ??= { grossBani: 0, vatBani: 0 }).grossBani += line.totalBani;
  for (const [letter, total] of Object.entries(byVat)) {
    const rate = vatRateAt(table, letter, atMs);
    if (rate) total.vatBani = vatWithin(total.grossBani, rate);
  }
  return byVat;
}
