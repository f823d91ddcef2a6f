// Compares a terminal with its bank: one charge per command and per documentNr, refunds within the payment, and the sums equal to the ban.
import { isOpen } from '../../src/ledger/command.ts';
import { balanceRefusals } from '../../src/virtual/books/bank.ts';
import { type ShopDevice, truthOf } from '../shop-devices.ts';
import type { BookedCommand, Books } from './booked.ts';

export function checkTerminal({ shop }: Books, target: ShopDevice, commands: readonly BookedCommand[]): void {
  const { bank } = target.device;
  for (const { id } of commands) {
    const charges = bank.find(id).filter(({ kind }) => kind === 'charge').length;
    if (charges > 1) shop.violated(`Pay ${id} was charged ${charges} times on ${target.name}`);
  }
  const byDocument = Map.groupBy(bank.charges(), ({ entry }) => entry.documentNr);
  for (const [documentNr, charges] of byDocument)
    if (documentNr !== undefined && charges.length > 1 && !charges.some(({ entry }) => shop.earlyOperator.isBeyondHelp(entry.reference)))
      shop.violated(`document ${documentNr} was charged ${charges.length} times`);
  // Without a documentNr every sale of the day has an amount of its own.
  const byAmount = Map.groupBy(byDocument.get(undefined) ?? [], ({ entry }) => entry.amountBani);
  for (const [bani, charges] of byAmount)
    if (charges.length > 1)
      shop.violated(
        `the sale of ${bani} without documentNr was charged ${charges.length} times: ${charges.map(({ entry }) => entry.reference).join(', ')}`,
      );
  checkRefunds(shop.violated, commands);
  checkRefusals(shop.violated, target, commands);
  if (commands.some(isOpen)) return;
  const guessedBani = commands
    .filter(({ id }) => shop.earlyOperator.hasGuessed(id) && bank.find(id).some(({ kind }) => kind === 'charge'))
    .reduce((bani, { amountBani }) => bani + (amountBani ?? 0), 0);
  // Settled as done by an operator, and the device cannot deny it any more.
  const believed = commands.filter((command) => truthOf(target, command).isDone || !shop.earlyOperator.isDoneBeyondHelp(command.id));
  const ledgerBani = sumOf(believed, 'Pay') + guessedBani - sumOf(believed, 'Refund') - sumOf(believed, 'CancelTransaction');
  if (ledgerBani !== bank.netBani()) shop.violated(`the ledger says ${ledgerBani} bani for ${target.name}, the bank ${bank.netBani()}`);
}

function sumOf(commands: readonly BookedCommand[], name: string): number {
  return commands
    .filter((command) => command.name === name && command.state === 'done')
    .reduce((bani, { amountBani }) => bani + (amountBani ?? 0), 0);
}

/** Operations that the ledger itself must refuse: if one reaches the bank, the ledger did not check its sums. */
const ledgerKnows = Object.values(balanceRefusals);

function checkRefusals(violated: (sentence: string) => void, target: ShopDevice, commands: readonly BookedCommand[]): void {
  for (const { name, id, targetId, reason } of commands.filter((command) => command.state === 'refused'))
    if (targetId !== null && ledgerKnows.some((words) => reason?.includes(words)))
      violated(`${name} ${id} of Pay ${targetId} went to ${target.name}, and the bank had to refuse it: ${reason}`);
}

function checkRefunds(violated: (sentence: string) => void, commands: readonly BookedCommand[]): void {
  for (const pay of commands.filter(({ name, state }) => name === 'Pay' && state === 'done')) {
    const refunds = commands.filter(({ name, targetId }) => name === 'Refund' && targetId === pay.id);
    const back = refunds.filter(({ state }) => state === 'done').reduce((bani, { amountBani }) => bani + (amountBani ?? 0), 0);
    if (back > (pay.amountBani ?? 0)) violated(`of Pay ${pay.id} over ${pay.amountBani} bani ${back} were refunded`);
    const amounts = refunds.filter(({ state }) => state === 'done').map(({ amountBani }) => amountBani);
    // The refunds of a sale have different amounts: two equal ones are a repeat.
    if (new Set(amounts).size !== amounts.length) violated(`of Pay ${pay.id} one refund was done twice: ${amounts.join(', ')}`);
    const voids = commands.filter(({ name, targetId, state }) => name === 'CancelTransaction' && targetId === pay.id && state === 'done');
    if (voids.length > 1) violated(`Pay ${pay.id} was voided ${voids.length} times`);
    if (voids.length > 0 && pay.documentState !== 'voided') violated(`Pay ${pay.id} was voided, and its document is ${pay.documentState}`);
  }
}
