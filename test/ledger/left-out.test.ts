// What is left out of a batch of first commits, and what fails it: a number under which a try was removed or done after all, a key that was taken in between.
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { ConstraintViolation } from '../../src/database/errors.ts';
import { createInsertGroup, type InsertedCommand } from '../../src/ledger/insert-batch.ts';
import { engines, memoryDatabase, openTestDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { withNumbers } from '../support/ledger-statements.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

let database: Database;
let merchantId: string;

beforeEach(async () => {
  database = await memoryDatabase(createVirtualClock());
  merchantId = (await seedMerchant(database.queries)).id;
});
afterEach(() => database.close());

async function command(overrides: Partial<InsertedCommand> = {}): Promise<InsertedCommand> {
  const { id: deviceId } = await seedDevice(database.queries, merchantId);
  const own = { id: randomUUID(), merchantId, deviceId, instanceId: 'i', name: 'Pay', args: {} } as const;
  return withNumbers({ ...own, answerWithinMs: 1, journalId: undefined, ...overrides });
}

describe.each([
  ['documentNr', 'document_nr'],
  ['receiptUid', 'receipt_uid'],
] as const)('under a %s of which a try was removed', (name, column) => {
  beforeEach(async () => {
    const { id: deviceId } = await seedDevice(database.queries, merchantId);
    const removed = { state: 'refused', settled_by: 'answer', settled_at: 1, removed_at: 1 } as const;
    await seedCommand(database.queries, merchantId, deviceId, { ...removed, [column]: 'a' });
  });
  const insert = async (more: Partial<InsertedCommand>) => createInsertGroup(database).add(await command(more));

  it('another one is left out', async () => {
    expect(await insert({ [name]: 'a' })).toBeUndefined();
    expect(await insert({ [name]: 'b' })).toMatchObject({ state: 'sent' });
  });
});

it.each(engines)('on %s: under a number that is disputed; another kind of command goes in', async (engine) => {
  await database.close();
  database = await openTestDatabase(engine);
  merchantId = (await seedMerchant(database.queries)).id;
  const { id: deviceId } = await seedDevice(database.queries, merchantId);
  const contradicted = { state: 'disputed', settled_at: 1, settled_by: 'person' } as const;
  await seedCommand(database.queries, merchantId, deviceId, { ...contradicted, document_nr: 'd' });
  await seedCommand(database.queries, merchantId, deviceId, { ...contradicted, name: 'PrintReceipt', receipt_uid: 'u' });
  const group = createInsertGroup(database);
  const insert = async (more: Partial<InsertedCommand>) => (await group.add(await command(more)))?.state;
  expect(await insert({ documentNr: 'd' })).toBeUndefined();
  expect(await insert({ name: 'PrintReceipt', receiptUid: 'u' })).toBeUndefined();
  expect(await insert({ name: 'Refund', documentNr: 'd' })).toBe('sent');
  expect(await insert({ documentNr: 'other' })).toBe('sent');
});

describe('a statement that meets an entry which was not there when it looked', () => {
  const failing = (kind: ConstructorParameters<typeof ConstraintViolation>[0] = 'unique') =>
    createInsertGroup({
      ...database,
      inOneGo: () => Promise.reject(new ConstraintViolation(kind, 'taken')),
      queries: database.queries.withPlugin({
        transformQuery() {
          throw new ConstraintViolation(kind, 'taken');
        },
        transformResult: async ({ result }) => result,
      }),
    });
  const idempotency = { key: 'k', requestHash: 'h' };

  it('leaves out a command whose key or number another gateway claimed meanwhile: its call looks it up', async () => {
    expect(await failing().add(await command({ idempotency }))).toBeUndefined();
  });

  it('fails a command that breaks another rule: no other entry explains that', async () => {
    await expect(failing('check').add(await command({ idempotency }))).rejects.toThrow('taken');
  });
});
