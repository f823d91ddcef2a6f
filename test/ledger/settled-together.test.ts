// Which settlements may share a statement: none about one command or one document, and not more text than fits. Counted on SQLite in memory.
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { ConstraintViolation } from '../../src/database/errors.ts';
import type { Command } from '../../src/ledger/command.ts';
import { createSettleGroup, type SettledCommand } from '../../src/ledger/settle-batch.ts';
import { findCommand } from '../../src/ledger/store.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

let database: Database;
let merchantId: string;

beforeEach(async () => {
  database = await memoryDatabase(createVirtualClock());
  merchantId = (await seedMerchant(database.queries)).id;
});
afterEach(() => database.close());

async function open(overrides: Parameters<typeof seedCommand>[3] = {}): Promise<Command> {
  const { id: deviceId } = await seedDevice(database.queries, merchantId);
  const { id } = await seedCommand(database.queries, merchantId, deviceId, { name: 'Refund', ...overrides });
  return (await findCommand(database.queries, id)) as Command;
}

const paid = { name: 'Pay', state: 'done', settled_by: 'answer', settled_at: 1, document_state: 'open' } as const;
const done = (command: Command, more: Partial<SettledCommand['settlement']> = {}): SettledCommand => ({
  command,
  settlement: { state: 'done', by: 'answer', outcome: 'done', report: undefined, reason: undefined, ...more },
});

/** What the statements consist of on SQLite, where one writes one table. */
let parts: number;

async function settle(...rows: SettledCommand[]) {
  let statements = 0;
  parts = 0;
  const inOneGo: Database['inOneGo'] = (all) => {
    statements += 1;
    parts += all.length;
    return database.inOneGo(all);
  };
  const group = createSettleGroup({ ...database, inOneGo, soon: (begin) => void setImmediate(begin) });
  const settled = await Promise.all(rows.map((row) => group.add(row)));
  expect(settled.map((each) => each?.id)).toEqual(rows.map(({ command }) => command.id));
  return statements;
}

it('those about one command are one after the other, and so are a command and one about it', async () => {
  const target = await open();
  const [one, other] = [await open({ target_id: target.id }), await open({ target_id: target.id })];
  expect(await settle(done(one), done(other), done(target))).toBe(3);
});

it('reports are a mebibyte in a statement, no more', async () => {
  const reported = async (length: number) => done(await open(), { report: 'x'.repeat(length) });
  expect(await settle(await reported(600_000), await reported(600_000))).toBe(2);
  expect(await settle(await reported(400_000), await reported(400_000), done(await open()))).toBe(1);
});

it('those that close a document share it with others, and close it', async () => {
  const [one, other] = [await open(paid), await open(paid)];
  const closing = [await open({ name: 'CloseDoc', target_id: one.id }), await open({ name: 'CloseDoc', target_id: other.id })];
  await settle(...closing.map((each) => done(each)), done(await open()));
  for (const { id } of [one, other]) expect((await findCommand(database.queries, id))?.documentState).toBe('closed');
});

const payment = (number: string) => open({ name: 'Pay', document_nr: number, answer_by: 0 });
const refused = { state: 'refused', outcome: 'refused' } as const;
const decided = { ...refused, by: 'person', outcome: undefined } as const;

it.each<[string, () => Promise<SettledCommand>, number]>([
  ['a refund that was made', async () => done(await open()), 3],
  ['a CloseDoc', async () => done(await open({ name: 'CloseDoc', target_id: (await open(paid)).id })), 4],
  ['a refund of a payment whose document is open', async () => done(await open({ target_id: (await open(paid)).id })), 3],
  ['a payment that was made', async () => done(await payment('n'), { operationId: '7' }), 4],
  ['a payment that was refused', async () => done(await payment('n'), refused), 5],
  ['a refund that an operator decided', async () => done(await open({ answer_by: 0 }), decided), 4],
])('the settlement of %s alone writes no more than it needs', async (_what, make, expected) => {
  expect(await settle(await make())).toBe(1);
  expect(parts).toBe(expected);
});

it('each gives back its own number, is found by its bank number, or stays to be confirmed, whatever the others need', async () => {
  const [made, declined, decision] = [await payment('made'), await payment('declined'), await payment('decided')];
  expect(await settle(done(made, { operationId: '7' }), done(declined, refused), done(decision, decided), done(await open()))).toBe(1);
  const { queries } = database;
  expect(await queries.selectFrom('claims').select(['value', 'command_id']).execute()).toEqual([{ value: 'made', command_id: made.id }]);
  expect(await queries.selectFrom('bank_operations').select('payment_id').execute()).toEqual([{ payment_id: made.id }]);
  expect(await queries.selectFrom('decisions').select('command_id').execute()).toEqual([{ command_id: decision.id }]);
});

it('a refused one passes its number to the dispute that waits for it, also beside others that keep theirs', async () => {
  const [made, declined] = [await payment('made'), await payment('declined')];
  const disputed = await open({ name: 'Pay', state: 'disputed', settled_at: 1, settled_by: 'person' });
  const { queries } = database;
  await queries.updateTable('claims').set({ next_id: disputed.id }).where('value', '=', 'declined').execute();
  expect(await settle(done(made, { operationId: '7' }), done(declined, refused))).toBe(1);
  expect(await queries.selectFrom('claims').select(['value', 'command_id', 'next_id']).orderBy('value').execute()).toEqual([
    { value: 'declined', command_id: disputed.id, next_id: null },
    { value: 'made', command_id: made.id, next_id: null },
  ]);
});

it('a CloseDoc without a payment closes no document', async () => {
  const { id } = await open(paid);
  await settle(done(await open({ name: 'CloseDoc' })));
  expect((await findCommand(database.queries, id))?.documentState).toBe('open');
});

it('a CloseDoc that was refused leaves the document open', async () => {
  const { id } = await open(paid);
  await settle(done(await open({ name: 'CloseDoc', target_id: id }), refused));
  expect((await findCommand(database.queries, id))?.documentState).toBe('open');
});

it('those whose statement fails for one of them are settled each by itself', async () => {
  let isFirst = true;
  const inOneGo: Database['inOneGo'] = (all) => {
    if (!isFirst) return database.inOneGo(all);
    isFirst = false;
    return Promise.reject(new ConstraintViolation('check', 'one row is bad'));
  };
  const group = createSettleGroup({ ...database, inOneGo, soon: (begin) => void setImmediate(begin) });
  const rows = [done(await open()), done(await open())];
  expect(await Promise.all(rows.map((row) => group.add(row)))).toMatchObject([{ state: 'done' }, { state: 'done' }]);
});
