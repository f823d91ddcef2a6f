// The virtual fiscal register. Strict order for a receipt with a card payment: the bank says yes, then the fiscal memory is
// written and the paper printed. A receipt whose money was taken ends `done`; `refused` only when the bank has given it back.
import { formatLei, parseAmount } from '../../kernel/money.ts';
import type { JsonObject, LedgerCommandName } from '../../link/protocol.ts';
import type { Bank, BankEntry } from '../books/bank.ts';
import { documentReport } from '../books/document-report.ts';
import { type FiscalDocument, type FiscalMemory, type ReceiptDocument, type VatTotal } from '../books/fiscal-memory.ts';
import { type PricedReceipt, readReceipt } from '../books/receipt.ts';
import { type VatTable, vatRateAt, vatWithin } from '../books/vat.ts';
import { type DeviceWork, type Ending, refused } from '../client/device-work.ts';
import type { JournalEntry } from '../client/journal.ts';
import type { Task } from '../client/task.ts';
import { type Magic, magicOf } from '../mishaps/magic-amounts.ts';
import type { Misdelivery } from '../mishaps/misdelivery.ts';
import { receiptPaper, reportPaper } from '../paper/paper.ts';
import type { Screen } from '../paper/screen.ts';

export interface RegisterTiming {
  /** How long a quick customer takes at the register's card reader. */
  customerMs: number;
  slowMs: number;
  bankMs: number;
  printMs: number;
  newRollMs: number;
  lateByMs: number;
}

export const defaultRegisterTiming: RegisterTiming = {
  customerMs: 150,
  slowMs: 20_000,
  bankMs: 20,
  printMs: 20,
  newRollMs: 5_000,
  lateByMs: 5_000,
};

export interface RegisterDeps {
  deviceId: string;
  deviceName: string;
  bank: Bank;
  memory: FiscalMemory;
  screen: Screen;
  misdelivery: Misdelivery;
  timing: RegisterTiming;
  vat: VatTable;
  hasMagic: boolean;
  /** Refuse all but X when the shift has been open for 24 h. Off: nothing forces a daily Z. */
  limitShiftTo24h: boolean;
  crash(): Promise<never>;
  firmware: string;
}

const commands: ReadonlySet<LedgerCommandName> = new Set<LedgerCommandName>(['MoneyIn', 'MoneyOut', 'Report', 'PrintReceipt']);
const maxShiftMs = 24 * 3_600_000;

export function createRegister(deps: RegisterDeps): DeviceWork {
  const { bank, memory, screen, timing, misdelivery } = deps;
  const shop = { name: deps.deviceName, deviceId: deps.deviceId };
  let paper = 'OK';

  function magicFor(name: string, args: JsonObject): Magic | undefined {
    if (!deps.hasMagic || name === 'Report') return undefined;
    const amountBani = name === 'PrintReceipt' ? readReceipt(args.receipt).receipt?.totalBani : parseAmount(args.amount);
    return magicOf('register', amountBani ?? 0);
  }

  function judge(name: LedgerCommandName, args: JsonObject): Ending | undefined {
    if ((name === 'MoneyIn' || name === 'MoneyOut') && parseAmount(args.amount) === undefined) return refused('The amount is no amount.');
    if (name === 'Report' && typeof args.fiscal !== 'boolean') return refused('fiscal must be true for Z or false for X.');
    if (name === 'PrintReceipt') {
      const { problem } = readReceipt(args.receipt);
      if (problem !== undefined) return refused(problem);
    }
    if (magicFor(name, args) === 'busy') return { outcome: 'busy', reason: 'Somebody is in the menu of the register.' };
    return undefined;
  }

  async function execute(task: Task): Promise<Ending> {
    const magic = magicFor(task.name, task.args);
    paper = 'OK';
    if (magic === 'lost-answer') misdelivery.lose(task.id);
    if (magic === 'answers-twice') misdelivery.double(task.id);
    const no = refuseBeforehand(task, magic);
    if (no) return showing(no, task.id);
    const ending = task.name === 'PrintReceipt' ? await printReceipt(task, magic) : await writeDocument(task, magic);
    if (magic === 'late-answer') await task.sleep(Math.max(0, task.answerByMs - task.now()) + timing.lateByMs);
    return showing(ending, task.id);
  }

  function refuseBeforehand(task: Task, magic: Magic | undefined): Ending | undefined {
    const { shiftOpenedAtMs } = memory;
    const isX = task.name === 'Report' && task.args.fiscal === false;
    const isZ = task.name === 'Report' && task.args.fiscal === true;
    const isTooLong = deps.limitShiftTo24h && shiftOpenedAtMs !== undefined && task.now() - shiftOpenedAtMs > maxShiftMs;
    // The Z itself is what ends such a shift.
    if (isTooLong && !isX && !isZ) return refused('The shift has been open for more than 24 h: make a Z report first.');
    if (task.name === 'MoneyOut' && (parseAmount(task.args.amount) ?? 0) > memory.drawerBani)
      return refused('There is not that much in the drawer.');
    if (magic === 'paper-out') {
      paper = 'OUT';
      return refused('The register is out of paper.');
    }
    return undefined;
  }

  /** MoneyIn, MoneyOut, Report: one document. */
  async function writeDocument(task: Task, magic: Magic | undefined): Promise<Ending> {
    if (!(await task.begin())) return refused('It came too late to begin.');
    if (magic === 'crash-before-bank' || magic === 'crash-after-bank') return await deps.crash();
    await task.sleep(magic === 'slow' ? timing.slowMs : timing.printMs);
    const base = { commandId: task.id, atMs: task.now() };
    let document: FiscalDocument;
    if (task.name === 'Report') {
      const type = task.args.fiscal === true ? 'Z' : 'X';
      document = await memory.append({
        ...base,
        type,
        reportNumber: memory.nextReportNumber(type),
        totals: memory.shift(),
        drawerBani: memory.drawerBani,
      });
      if (document.type === 'Z' || document.type === 'X') screen.print(reportPaper(shop, document));
    } else {
      const type = task.name === 'MoneyIn' ? 'moneyIn' : 'moneyOut';
      const amountBani = parseAmount(task.args.amount) ?? 0;
      const drawerAfterBani = memory.drawerBani + (type === 'moneyIn' ? amountBani : -amountBani);
      const { reason } = task.args;
      document = await memory.append({ ...base, type, amountBani, drawerAfterBani, ...(typeof reason === 'string' ? { reason } : {}) });
    }
    if (magic === 'crash-after-print') return await deps.crash();
    return doneWith(document);
  }

  async function printReceipt(task: Task, magic: Magic | undefined): Promise<Ending> {
    const { receipt } = readReceipt(task.args.receipt);
    if (!receipt) return refused('The receipt cannot be read.');
    if (missingVat(receipt, task.now())) return refused('An item has a VAT letter that is not in force.');
    const hasCard = cardsOf(receipt).length > 0;
    if (hasCard) {
      screen.show(`${formatLei(receipt.totalBani)} MDL: present the card`, task.id);
      const met = await task.waitForCustomer(magic === 'slow' ? timing.slowMs : timing.customerMs);
      if (met === 'aborted') return refused('It was aborted before the bank was asked.');
      if (met === 'late') return refused('No card came in time.');
    }
    if (!(await task.begin())) return refused('It came too late to begin.');
    if (magic === 'crash-before-bank') return await deps.crash();
    const no = await chargeCards(task, receipt, magic);
    if (no) return no;
    if (magic === 'crash-after-bank') return await deps.crash();
    if (hasCard && magic === 'paper-out-reversed') {
      paper = 'OUT';
      return await reverse(task.id, 'The paper ran out; the bank took the payment back.');
    }
    if (magic === 'paper-out-mended' || magic === 'paper-out-reversed') {
      paper = 'OUT';
      screen.show('Out of paper: waiting for a new roll', task.id);
      await task.sleep(timing.newRollMs);
      paper = 'OK';
    }
    await task.sleep(timing.printMs);
    const document = await print(task.id, task.now(), receipt);
    if (magic === 'crash-after-print') return await deps.crash();
    return doneWith(document, bank.find(task.id));
  }

  /** Every card payment is charged, or none remains charged and the ending says why. */
  async function chargeCards(task: Task, receipt: PricedReceipt, magic: Magic | undefined): Promise<Ending | undefined> {
    for (const payment of cardsOf(receipt)) {
      await task.sleep(timing.bankMs);
      const request = { reference: task.id, amountBani: payment.amountBani };
      if (magic === 'declined') {
        await bank.decline({ ...request, reason: 'The bank declined the card.' });
        return await reverse(task.id, 'The bank declined the card.');
      }
      await bank.charge({ ...request, documentNr: receipt.uid === '' ? undefined : receipt.uid });
    }
    return undefined;
  }

  function standingCharges(reference: string): BankEntry[] {
    return bank
      .charges()
      .filter((charge) => charge.entry.reference === reference && !charge.isVoided)
      .map((charge) => charge.entry);
  }

  async function reverse(reference: string, reason: string): Promise<Ending> {
    for (const { operationId, amountBani } of standingCharges(reference)) {
      const answer = await bank.void({ reference, operationId, token: undefined, amountBani });
      if (!answer.entry) return { outcome: 'unknown', reason: `The bank does not take the payment back: ${answer.refused}` };
    }
    return refused(reason);
  }

  function missingVat(receipt: PricedReceipt, atMs: number): boolean {
    return receipt.lines.some((line) => !vatRateAt(deps.vat, line.vatLetter, atMs));
  }

  async function print(commandId: string, atMs: number, receipt: PricedReceipt): Promise<FiscalDocument> {
    const byVat: Record<string, VatTotal> = {};
    for (const line of receipt.lines) (byVat[line.vatLetter] ??= { grossBani: 0, vatBani: 0 }).grossBani += line.totalBani;
    for (const [letter, total] of Object.entries(byVat)) {
      const rate = vatRateAt(deps.vat, letter, atMs);
      if (rate) total.vatBani = vatWithin(total.grossBani, rate);
    }
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
      byVat,
      byPayment,
    });
    if (document.type === 'receipt') screen.print(receiptPaper(shop, receipt, document));
    return document;
  }

  // Promise 6: what the memory holds is done; what the bank has said yes to is carried to the end; nothing is done twice.
  async function recover(entry: JournalEntry): Promise<Ending> {
    const document = memory.find(entry.id);
    if (document) return doneWith(document, bank.find(entry.id));
    const { receipt } = readReceipt(entry.args.receipt);
    const standing = standingCharges(entry.id);
    if (receipt && standing.length > 0 && standing.length === cardsOf(receipt).length) {
      return doneWith(await print(entry.id, screen.now(), receipt), bank.find(entry.id));
    }
    return await reverse(entry.id, 'The power went before anything was printed.');
  }

  function showing(ending: Ending, commandId: string): Ending {
    screen.show(ending.outcome === 'done' ? 'Done' : (ending.reason ?? ending.outcome), commandId);
    return ending;
  }

  return {
    kind: 'register',
    commands,
    facts: () => ({ battery: 100, paper, signal: 90, bank: bank.name, firmware: deps.firmware }),
    judge,
    execute,
    recover,
    lastDocument() {
      const last = memory.last();
      return last ? { document: last.type, documentNumber: last.documentNumber } : {};
    },
  };
}

function cardsOf(receipt: PricedReceipt): PricedReceipt['payments'] {
  return receipt.payments.filter((payment) => payment.kind === 'card');
}

function doneWith(document: FiscalDocument, bankEntries: BankEntry[] = []): Ending {
  return { outcome: 'done', report: documentReport(document, bankEntries) };
}
