// Compares every command with the real work of its device: done if and only if it happened, and none is open whose outcome the device
// could report.
import { isOpen } from '../../src/ledger/command.ts';
import { canSettleItself } from '../reviewer.ts';
import { type ShopDevice, truthOf } from '../shop-devices.ts';
import type { BookedCommand, Books } from './booked.ts';

export function checkCommands({ shop }: Books, target: ShopDevice, commands: readonly BookedCommand[]): void {
  for (const command of commands) {
    const { isDone } = truthOf(target, command);
    const name = `${command.name} ${command.id} on ${target.name}`;
    if (command.state === 'done' && !isDone && !shop.earlyOperator.isDoneBeyondHelp(command.id))
      shop.violated(`${name} is "done" in the ledger, and nothing of it happened`);
    if ((command.state === 'refused' || command.state === 'never') && isDone && !shop.earlyOperator.isBeyondHelp(command.id))
      shop.violated(`${name} is "${command.state}" in the ledger (by ${command.settledBy}), and it happened`);
    if (isOpen(command) && canSettleItself(target, command)) shop.violated(`${name} was left open (${command.state})`);
    if (isOpen(command) && (command.reviewSinceMs === null || command.reviewedAtMs !== null))
      shop.violated(`${name} is open and not on the review list`);
    if (command.state === 'unknown' && command.callbackUri === null) shop.violated(`${name} ended as unknown`);
  }
  const known = new Set(commands.map(({ id }) => id));
  for (const entry of target.device.bank.entries())
    if (!known.has(entry.reference))
      shop.violated(`the bank of ${target.name} has a ${entry.kind} of ${entry.reference}, which no ledger knows`);
  for (const { commandId } of target.device.fiscalMemory().documents())
    if (!known.has(commandId)) shop.violated(`the memory of ${target.name} has a document of ${commandId}, which no ledger knows`);
}
