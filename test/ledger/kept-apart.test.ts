// Which commands may share a statement: none that shares a device, a number, a target or a key with another one, and not more text than fits.
import { randomUUID } from 'node:crypto';
import { beforeEach, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { createInsertGroup, type InsertedCommand } from '../../src/ledger/insert-batch.ts';
import { findCommand } from '../../src/ledger/store.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedInvoice, seedMerchant } from '../support/fixtures.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

let database: Database;
let merchantId: string;
/** Inserts of commands. */
let statements: number;
/** What they consist of on SQLite, where a statement writes one table. */
let parts: number;
let states: (string | undefined)[];

beforeEach(async () => {
  database = await memoryDatabase(createVirtualClock());
  merchantId = (await seedMerchant(database.queries)).id;
});

async function command(overrides: Partial<InsertedCommand> = {}): Promise<InsertedCommand> {
  const owner = overrides.merchantId ?? merchantId;
  const { id: deviceId } = await seedDevice(database.queries, owner);
  const own = { id: randomUUID(), merchantId: owner, deviceId, instanceId: 'i', name: 'Refund', args: {} } as const;
  return { ...own, answerWithinMs: 1, journalId: undefined, ...overrides };
}

async function statementsFor(...commands: InsertedCommand[]): Promise<number> {
  [statements, parts] = [0, 0];
  const inOneGo: Database['inOneGo'] = (all) => {
    statements += 1;
    parts += all.length;
    return database.inOneGo(all);
  };
  const group = createInsertGroup({ ...database, inOneGo, soon: (begin) => void setImmediate(begin) });
  states = (await Promise.all(commands.map((each) => group.add(each)))).map((each) => each?.state);
  return statements;
}
const idempotency = { key: 'k', requestHash: 'asked' };
const claimed = async () =>
  (await database.queries.selectFrom('claims').select(['kind', 'command_id']).orderBy('kind').execute()).map((row) => Object.values(row));

it('commands that share nothing are one statement', async () => {
  const [one, other] = [await command({ documentNr: 'a', receiptUid: 'a' }), await command({ documentNr: 'b', receiptUid: 'b' })];
  expect(await statementsFor(one, other, await command(), await command())).toBe(1);
});

it('commands of two merchants with the same numbers share nothing', async () => {
  const numbers = { documentNr: 'a', receiptUid: 'a' };
  const other = (await seedMerchant(database.queries)).id;
  expect(await statementsFor(await command(numbers), await command({ ...numbers, merchantId: other }))).toBe(1);
});

it.each([{ documentNr: 'a' }, { receiptUid: 'a' }])('those that share %j are one after the other', async (shared) => {
  expect(await statementsFor(await command(shared), await command(shared))).toBe(2);
});

it('those that share a key are one after the other: together, the second would fail the first', async () => {
  let commits = 0;
  const inOneGo: Database['inOneGo'] = (statements) => {
    commits += 1;
    return database.inOneGo(statements);
  };
  const group = createInsertGroup({ ...database, inOneGo, soon: (begin) => void setImmediate(begin) });
  const both = [await command({ idempotency }), await command({ idempotency })];
  const [first, second] = await Promise.all(both.map((each) => group.add(each)));
  expect([first?.state, second, commits]).toEqual(['sent', undefined, 2]);
});

it('those of one device, and those about one command, are one after the other', async () => {
  const one = await command();
  expect(await statementsFor(one, await command({ deviceId: one.deviceId }))).toBe(2);
  const { id: targetId } = await seedCommand(database.queries, merchantId, (await seedDevice(database.queries, merchantId)).id);
  expect(await statementsFor(await command({ targetId }), await command({ targetId }))).toBe(2);
});

it.each([
  ['what is asked', (text: string) => ({ args: { text } })],
  ['what came', (text: string) => ({ origin: { caller: 'c', request: text } })],
])('%s is a mebibyte in a statement, no more', async (_what, long) => {
  const half = long('x'.repeat(600_000));
  expect(await statementsFor(await command(half), await command(half))).toBe(2);
  const third = long('x'.repeat(400_000));
  expect(await statementsFor(await command(third), await command(third))).toBe(1);
});

it.each<[string, Partial<InsertedCommand>, number]>([
  ['nothing', {}, 2],
  ['a documentNr', { claims: { document: 'a' } }, 3],
  ['a Receipt.Uid', { claims: { receipt: 'a' } }, 3],
  ['its content', { requestHash: 'h' }, 3],
  ['a key', { idempotency }, 3],
])('a statement for one that takes %s writes nothing else', async (_what, takes, expected) => {
  await statementsFor(await command(takes));
  expect([states, parts]).toEqual([['sent'], expected]);
});

it('each takes its own number, content or key beside others that take none, and the next one with it alone is left out', async () => {
  const takers = () =>
    Promise.all([command({ claims: { document: 'd' } }), command({ claims: { receipt: 'r' } }), command({ idempotency }), command()]);
  const [document, receipt, keyed, plain] = await takers();
  const known = await command({ requestHash: 'h' });
  expect(await statementsFor(document, receipt, keyed, plain, known)).toBe(1);
  expect(await claimed()).toEqual([
    ['content', known.id],
    ['document', document.id],
    ['receipt', receipt.id],
  ]);
  expect(await database.queries.selectFrom('idempotency_keys').select('subject_id').execute()).toEqual([{ subject_id: keyed.id }]);
  // By the same statement: what is left out costs the others no second one.
  expect(await statementsFor(...(await takers()))).toBe(1);
  expect(states).toEqual([undefined, undefined, undefined, 'sent']);
});

it('one whose documentNr is the OID of an invoice is left out, and one that closes the document it names is not', async () => {
  const { oid } = await seedInvoice(database.queries, merchantId);
  const { id: deviceId } = await seedDevice(database.queries, merchantId);
  const paid = { state: 'done', settled_at: 1, settled_by: 'answer', document_state: 'open', document_nr: 'd', operation_id: '7' } as const;
  const { id } = await seedCommand(database.queries, merchantId, deviceId, paid);
  const closing = await command({ name: 'CloseDoc', deviceId, documentNr: 'd', operationId: '7', beside: 'the document it names' });
  const paying = await command({ name: 'Pay', documentNr: oid, isOfNoInvoice: true });
  expect(await statementsFor(await command(), paying, closing)).toBe(1);
  expect(states).toEqual(['sent', undefined, 'sent']);
  expect((await findCommand(database.queries, closing.id))?.targetId).toBe(id);
});
