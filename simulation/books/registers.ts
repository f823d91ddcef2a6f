// Compares a register with its fiscal memory and its bank: each receipt once, charged if and only if printed, and the drawer and every Z
// equal to the operations of the ledger in between.
import { isOpen } from '../../src/ledger/command.ts';
import type { FiscalDocument } from '../../src/virtual/books/fiscal-memory.ts';
import type { ShopDevice } from '../shop-devices.ts';
import type { BookedCommand, Books } from './booked.ts';

export function checkRegister(books: Books, target: ShopDevice, commands: readonly BookedCommand[]): void {
  checkPrintedOnce(books, target);
  checkChargedAsPrinted(books, target, commands);
  if (!commands.some(isOpen)) checkSums(books, target, commands);
}

/** Over all registers: a Uid is printed once, on any register. Amounts of receipts, and of cash, are unique in a day. */
function checkPrintedOnce({ shop }: Books, target: ShopDevice): void {
  const own = target.device.fiscalMemory().documents();
  const everywhere = shop.devices.flatMap(({ device }) => device.fiscalMemory().documents());
  for (const document of own) {
    const copies = own.filter(({ commandId }) => commandId === document.commandId).length;
    if (copies > 1) shop.violated(`command ${document.commandId} was printed ${copies} times on ${target.name}`);
    if (document.type === 'moneyIn' || document.type === 'moneyOut') {
      const times = everywhere.filter((other) => other.type === document.type && other.amountBani === document.amountBani).length;
      if (times > 1) shop.violated(`${document.type} of ${document.amountBani} was written ${times} times, once as ${document.commandId}`);
    }
    if (document.type !== 'receipt') continue;
    const same = everywhere.filter((other) => other.type === 'receipt' && other.totalBani === document.totalBani);
    // After a refusal by an operator, the register is not asked before the receipt is sent to another one [D143].
    const isElsewhere = ({ commandId }: FiscalDocument) => own.every((other) => other.commandId !== commandId);
    const isExcused =
      same.some(({ commandId }) => shop.earlyOperator.isBeyondHelp(commandId)) ||
      (same.some(isElsewhere) && same.some(({ commandId }) => shop.earlyOperator.hasOnceGuessed(commandId)));
    if (same.length > 1 && !isExcused)
      shop.violated(
        `the receipt of ${document.totalBani} was printed ${same.length} times: ${same.map(({ commandId }) => commandId).join(', ')}`,
      );
  }
}

function checkChargedAsPrinted({ shop }: Books, target: ShopDevice, commands: readonly BookedCommand[]): void {
  const { bank } = target.device;
  for (const command of commands.filter(({ name }) => name === 'PrintReceipt')) {
    const entries = bank.find(command.id);
    const bani = entries.reduce(
      (sum, { kind, amountBani }) => sum + (kind === 'charge' ? amountBani : kind === 'void' ? -amountBani : 0),
      0,
    );
    const isPrinted = target.device.fiscalMemory().find(command.id) !== undefined;
    const dueBani = isPrinted ? command.cardBani : 0;
    if (bani !== dueBani)
      shop.violated(
        `PrintReceipt ${command.id} on ${target.name} was ${isPrinted ? '' : 'not '}printed, and ${bani} of ${command.cardBani} bani are charged`,
      );
  }
}

function checkSums({ shop }: Books, target: ShopDevice, commands: readonly BookedCommand[]): void {
  const memory = target.device.fiscalMemory();
  const byId = new Map(commands.map((command) => [command.id, command]));
  let drawerBani = 0;
  let shiftBani = 0;
  for (const document of memory.documents()) {
    const command = byId.get(document.commandId);
    if (!command || (command.state !== 'done' && !shop.earlyOperator.hasGuessed(command.id))) continue;
    drawerBani += drawerChange(document, command);
    if (document.type === 'receipt') shiftBani += command.amountBani ?? 0;
    if (document.type !== 'Z') continue;
    if (document.totals.totalBani !== shiftBani)
      shop.violated(`Z ${document.commandId} of ${target.name} says ${document.totals.totalBani} bani, the ledger ${shiftBani}`);
    shiftBani = 0;
  }
  if (drawerBani !== memory.drawerBani)
    shop.violated(`the ledger says ${drawerBani} bani for the drawer of ${target.name}, the register ${memory.drawerBani}`);
}

function drawerChange(document: FiscalDocument, command: BookedCommand): number {
  if (document.type === 'receipt') return command.cashBani;
  if (document.type === 'moneyIn') return command.amountBani ?? 0;
  return document.type === 'moneyOut' ? -(command.amountBani ?? 0) : 0;
}
