// The ledger's insert and settlement for tests, each in a transaction of its own: undefined when something stands in the way.
import type { Database } from '../../src/database/database.ts';
import type { Command } from '../../src/ledger/command.ts';
import { type InsertedCommand, insertWithin } from '../../src/ledger/insert-batch.ts';
import { type Settlement, settleWithin } from '../../src/ledger/settle-batch.ts';

type Home = Pick<Database, 'engine' | 'transaction'>;

/** With the numbers that its slice would have it take. */
export function insertSent({ engine, transaction }: Home, command: InsertedCommand): Promise<Command | undefined> {
  return transaction((queries) => insertWithin(engine, queries, withNumbers(command)));
}

export function withNumbers(command: InsertedCommand): InsertedCommand {
  const { name, documentNr, receiptUid } = command;
  return { claims: { document: name === 'Pay' ? documentNr : undefined, receipt: receiptUid }, ...command };
}

export function settle({ engine, transaction }: Home, command: Command, settlement: Settlement): Promise<Command | undefined> {
  return transaction((queries) => settleWithin(engine, queries, { command, settlement }));
}
