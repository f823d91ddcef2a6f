// What must hold after the calm: ledger, banks and fiscal memories agree to the ban, nothing happened twice, no command is open
// that could have been settled, every answer was true, and the ERPs were notified of everything.
import type { Database } from '../../src/database/database.ts';
import { commandColumns, toCommand } from '../../src/ledger/command.ts';
import { isNewCore } from '../../test/support/core.ts';
import type { Erp } from '../erp/erp.ts';
import type { Shop } from '../shop.ts';
import { checkDocuments, checkNumbers, checkStandings } from './after-disputes.ts';
import { checkAnswers } from './answers.ts';
import type { BookedCommand, Books } from './booked.ts';
import { checkCallbacks } from './callbacks.ts';
import { checkCommands } from './commands.ts';
import { checkInvoices } from './invoices.ts';
import { checkRegister } from './registers.ts';
import { checkStored } from './stored.ts';
import { checkTerminal } from './terminals.ts';

async function allCommands(database: Database): Promise<BookedCommand[]> {
  const rows = await database.queries
    .selectFrom('commands')
    // A request to stop is no work of a device: its answers are checked where it is made.
    .where('name', '<>', 'Abort')
    .select(commandColumns)
    .select(['cash_bani', 'card_bani', 'request'])
    .orderBy('issued_at')
    .execute();
  return rows.map((row) => ({ ...toCommand(row), cashBani: row.cash_bani ?? 0, cardBani: row.card_bani ?? 0, request: row.request }));
}

export async function checkBooks(shop: Shop, database: Database, erp: Erp): Promise<void> {
  const books: Books = { shop, database, erp, commands: await allCommands(database) };
  for (const target of shop.devices) {
    const own = books.commands.filter(({ deviceId }) => deviceId === target.id);
    checkCommands(books, target, own);
    checkNumbers(books, target, own);
    checkDocuments(books, target, own);
    await checkStandings(books, target, own);
    if (target.kind === 'terminal') checkTerminal(books, target, own);
    else checkRegister(books, target, own);
  }
  checkAnswers(books);
  await checkSettledOnce(books);
  await checkCallbacks(books);
  await checkInvoices(books);
  if (isNewCore) checkStored(books);
}

/** Each command was settled once; a database trigger records settlements. */
async function checkSettledOnce({ shop, database }: Books): Promise<void> {
  const rows = await database.queries.selectFrom('audit_log').select('subject').where('action', '=', 'settled twice').execute();
  for (const { subject } of rows) shop.violated(`command ${subject} was settled twice`);
}
