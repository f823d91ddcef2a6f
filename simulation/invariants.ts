// What must hold when all is calm again: ledger, bank and fiscal memory agree to the ban, nothing happened twice, nothing is left open
// that could have been settled, and the ERP was told of everything.
import type { Database } from '../src/database/database.ts';
import { type Command, commandColumns, isOpen, toCommand } from '../src/ledger/command.ts';
import { canSettleItself, truthOf } from './reviewer.ts';
import type { Shop, ShopDevice } from './shop.ts';

export async function allCommands(database: Database): Promise<Command[]> {
  const rows = await database.queries.selectFrom('commands').select(commandColumns).orderBy('issued_at').execute();
  return rows.map(toCommand);
}

export async function isSettled(shop: Shop, database: Database): Promise<boolean> {
  const open = (await allCommands(database)).filter(isOpen);
  const pending = await database.queries.selectFrom('callbacks').select('id').where('state', '=', 'pending').executeTakeFirst();
  return open.length === 0 && pending === undefined && shop.devices.every(({ device }) => device.isOn());
}

export async function checkBooks(shop: Shop, database: Database): Promise<void> {
  const commands = await allCommands(database);
  for (const target of shop.devices)
    checkDevice(
      shop,
      target,
      commands.filter(({ deviceId }) => deviceId === target.id),
    );
  await checkSettledOnce(shop, database);
  await checkNotices(shop, database, commands);
}

function checkDevice(shop: Shop, target: ShopDevice, commands: Command[]): void {
  const { bank } = target.device;
  const known = new Set(commands.map(({ id }) => id));
  for (const command of commands) {
    const { isDone } = truthOf(target, command);
    const name = `${command.name} ${command.id}`;
    if (command.state === 'done' && !isDone) shop.violated(`${name} is "done" in the ledger, and nothing of it happened`);
    if ((command.state === 'refused' || command.state === 'never') && isDone)
      shop.violated(`${name} is "${command.state}" in the ledger (by ${command.settledBy}), and it happened`);
    if (isOpen(command) && canSettleItself(target, command)) shop.violated(`${name} was left open (${command.state})`);
    if (isOpen(command) && (command.reviewSinceMs === null || command.reviewedAtMs !== null))
      shop.violated(`${name} is open and not on the review list`);
    const mine = bank.find(command.id).filter(({ kind }) => kind === 'charge').length;
    const documents = target.device
      .fiscalMemory()
      .documents()
      .filter(({ commandId }) => commandId === command.id).length;
    if (target.kind === 'terminal' && mine > 1) shop.violated(`${name} was charged ${mine} times`);
    if (documents > 1) shop.violated(`${name} was printed ${documents} times`);
  }
  for (const entry of bank.entries())
    if (!known.has(entry.reference)) shop.violated(`the bank has a ${entry.kind} of ${entry.reference}, which no ledger knows`);
  for (const { commandId } of target.device.fiscalMemory().documents())
    if (!known.has(commandId)) shop.violated(`the fiscal memory has a document of ${commandId}, which no ledger knows`);
  checkDoubles(shop, target);
  if (target.kind === 'terminal') checkSums(shop, target, commands);
}

function checkDoubles(shop: Shop, target: ShopDevice): void {
  const charged = new Map<string, number>();
  if (target.kind === 'terminal') {
    for (const { entry } of target.device.bank.charges())
      if (entry.documentNr !== undefined) charged.set(entry.documentNr, (charged.get(entry.documentNr) ?? 0) + 1);
  }
  for (const [documentNr, times] of charged) if (times > 1) shop.violated(`document ${documentNr} was charged ${times} times`);
  const printed = new Map<string, number>();
  for (const document of shop.devices.flatMap(({ device }) => device.fiscalMemory().documents()))
    if (document.type === 'receipt') printed.set(document.uid, (printed.get(document.uid) ?? 0) + 1);
  for (const [uid, times] of printed) if (times > 1) shop.violated(`receipt ${uid} was printed ${times} times`);
}

/** To the ban: what was paid less what was given back. */
function checkSums(shop: Shop, target: ShopDevice, commands: Command[]): void {
  const done = commands.filter(({ state }) => state === 'done');
  const sum = (name: string) =>
    done.filter((command) => command.name === name).reduce((bani, { amountBani }) => bani + (amountBani ?? 0), 0);
  const ledgerBani = sum('Pay') - sum('Refund') - sum('CancelTransaction');
  if (commands.some(isOpen)) return;
  if (ledgerBani !== target.device.bank.netBani())
    shop.violated(`the ledger says ${ledgerBani} bani for terminal ${target.id}, the bank ${target.device.bank.netBani()}`);
}

/** Each command was settled once: the timeline is written by whoever settled, and the trigger by the database itself. */
async function checkSettledOnce(shop: Shop, database: Database): Promise<void> {
  const rows = await database.queries.selectFrom('audit_log').select('subject').where('action', '=', 'settled twice').execute();
  for (const { subject } of rows) shop.violated(`command ${subject} was settled twice`);
}

const finalWords: Record<string, string> = { done: 'Completed', refused: 'Refused', never: 'Refused' };

async function checkNotices(shop: Shop, database: Database, commands: Command[]): Promise<void> {
  const rows = await database.queries
    .selectFrom('callbacks')
    .select(['subject_id', 'state', 'url', 'sequence'])
    .orderBy('sequence')
    .execute();
  const bySubject = Map.groupBy(rows, ({ subject_id: id }) => id);
  for (const row of rows) {
    if (row.state === 'pending') shop.violated(`callback ${row.url} is still pending`);
    if (row.state === 'delivered' && !shop.heardCallbacks.has(row.url))
      shop.violated(`callback ${row.url} is "delivered", and nobody heard it`);
  }
  for (const command of commands) {
    if (command.callbackUri === null || isOpen(command)) continue;
    const notices = bySubject.get(command.id) ?? [];
    // What never began was answered as such and needs no notice, unless "Unknown" was told before.
    if (command.state === 'never' && notices.length === 0) continue;
    const expected = `state=${finalWords[command.state]}`;
    if (!notices.at(-1)?.url.includes(expected))
      shop.violated(`${command.name} ${command.id} is ${command.state}, and the ERP was not told so`);
    if (notices.length > 2) shop.violated(`${command.name} ${command.id} was told ${notices.length} times`);
  }
}
