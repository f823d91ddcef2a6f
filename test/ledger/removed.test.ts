// A command whose record was removed after its time: nothing runs again under its number, and nothing more is done about its payment.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { wasRemoved } from '../../src/ledger/answers.ts';
import { findByContent, findClaimant, findPaymentOfDocument, releaseContent } from '../../src/ledger/claims.ts';
import type { Command } from '../../src/ledger/command.ts';
import { newestUnder } from '../../src/ledger/operation-status.ts';
import { requireKept } from '../../src/ledger/removed.ts';
import { findCommand } from '../../src/ledger/store.ts';
import { findHolderOfNumber } from '../../src/ledger/tried-before.ts';
import { memoryDatabase } from '../support/engines.ts';
import { lockAsSeeded, seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

let database: Database;
let merchantId: string;
let deviceId: string;

beforeEach(async () => {
  database = await memoryDatabase(createVirtualClock());
  merchantId = (await seedMerchant(database.queries)).id;
  deviceId = (await seedDevice(database.queries, merchantId)).id;
});

const refused = { state: 'refused', settled_at: 1, settled_by: 'answer' } as const;
const removed = { ...refused, removed_at: 1 } as const;
const seed = (overrides: object) => seedCommand(database.queries, merchantId, deviceId, overrides);
const notDone = { errorName: 'The_status_cannot_be_applied', message: expect.stringContaining('it is not tried again under this number') };

it('is answered with its last state, by its id and with the requested fields', () => {
  const told = (state: Command['state'], fields = {}) => wasRemoved({ state } as Command, fields);
  expect(told('done').message).toContain('it is not done again');
  expect(told('refused')).toMatchObject(notDone);
  expect(told('done', { State: 'Closed' }).fields).toEqual({ State: 'Closed' });
});

it('of a payment allows no further operation on it', () => {
  const removed = { id: 'p', state: 'done', documentState: 'voided', removedAtMs: 1 } as Command;
  expect(() => requireKept(removed, [])).toThrow('nothing more can be done about it here');
  expect(() => requireKept(removed, [])).toThrow(expect.objectContaining({ fields: { OID: 'p', State: 'Voided' } }));
  expect(() => requireKept({ removedAtMs: null } as Command, [])).not.toThrow();
});

describe.each([
  ['documentNr', 'document_nr', 'Pay', 'document'],
  ['Receipt.Uid', 'receipt_uid', 'PrintReceipt', 'receipt'],
] as const)('under its %s', (_what, column, name, kind) => {
  const refuse = (number = 'n', of = merchantId) => findHolderOfNumber(database, of, kind, number);

  it('nothing is retried', async () => {
    await seed({ ...removed, name, [column]: 'n', issued_at: 1 });
    await expect(refuse()).rejects.toMatchObject(notDone);
    await expect(refuse('other')).resolves.toBeUndefined();
    await expect(refuse('n', 'another merchant')).resolves.toBeUndefined();
  });

  it('what was refused lately may be retried', async () => {
    await seed({ ...refused, name, [column]: 'n' });
    await expect(refuse()).resolves.toBeUndefined();
  });
});

it('a documentNr belongs to the payment; operations on that payment do not count', async () => {
  const { id } = await seed({ ...refused, name: 'Pay', document_nr: 'n', issued_at: 1 });
  await seed({ state: 'done', settled_at: 1, settled_by: 'answer', name: 'Refund', document_nr: 'n', issued_at: 2 });
  await seed({ ...removed, name: 'Refund', document_nr: 'n', issued_at: 3 });
  expect(await newestUnder(database.queries, merchantId, 'document_nr', 'n')).toMatchObject({ id });
  await expect(findHolderOfNumber(database, merchantId, 'document', 'n')).resolves.toBeUndefined();
});

it('of several attempts under one number the open or done one counts, else the newest', async () => {
  const under = () => newestUnder(database.queries, merchantId, 'receipt_uid', 'u');
  const print = { ...refused, name: 'PrintReceipt', receipt_uid: 'u' } as const;
  const { id: first } = await seed({ ...print, issued_at: 1 });
  const { id: newest } = await seed({ ...print, issued_at: 3 });
  await seed({ ...print, issued_at: 2 });
  expect(await under()).toMatchObject({ id: newest });
  await database.queries.updateTable('commands').set({ state: 'done' }).where('id', '=', first).execute();
  await lockAsSeeded(database.queries, first);
  expect(await under()).toMatchObject({ id: first });
});

it('is not found by its content any more; a newer one with the same content is', async () => {
  const known = async () => (await findByContent(database.queries, { merchantId, deviceId, requestHash: 'h' }))?.id;
  const forget = async ({ id }: { id: string }) => releaseContent(database.queries, (await findCommand(database.queries, id)) as Command);
  const older = await seed({ ...refused, request_hash: 'h' });
  const newer = await seed({ ...refused, request_hash: 'h' });
  await forget(older);
  expect(await known()).toBe(newer.id);
  await forget(await seed(refused));
  expect(await known()).toBe(newer.id);
  await forget(newer);
  expect(await known()).toBeUndefined();
});

describe('a number that what was refused still has, because another attempt’s dispute passed it on in that moment', () => {
  const holder = async () => (await findClaimant(database.queries, merchantId, 'document', 'n'))?.id;
  const leftWithNumber = async () => {
    const { id } = await seed({ ...refused, document_nr: 'n' });
    const claim = { merchant_id: merchantId, kind: 'document', value: 'n', command_id: id } as const;
    await database.queries.insertInto('claims').values(claim).execute();
    return id;
  };
  const look = (transaction = database.transaction) => findHolderOfNumber({ ...database, transaction }, merchantId, 'document', 'n');

  it('is free for the next attempt', async () => {
    await leftWithNumber();
    expect(await look()).toBeUndefined();
    expect(await holder()).toBeUndefined();
  });

  it.each<[string, object]>([
    ['is disputed itself', { state: 'disputed', disputed_from: 'refused', review_since: 1, review_reason: 'so' }],
    ['is removed', { removed_at: 1 }],
  ])('stays taken if that one %s before its device’s lock is had', async (_what, meanwhile) => {
    const id = await leftWithNumber();
    await look(async (work) => {
      await database.queries.updateTable('commands').set(meanwhile).where('id', '=', id).execute();
      return database.transaction(work);
    });
    expect(await holder()).toBe(id);
  });

  it('is not tried again while its attempt is disputed: the second attempt is answered 3 with the OID of the first', async () => {
    const { id } = await seed({ state: 'disputed', settled_at: 1, settled_by: 'person', document_nr: 'n' });
    await expect(look()).rejects.toMatchObject({ errorName: 'Timeout_or_no_response', fields: { OID: id, State: 'Disputed' } });
  });

  it('is that of one that is open or done', async () => {
    const { id } = await seed({ state: 'done', settled_at: 1, settled_by: 'answer', document_state: 'closed', document_nr: 'n' });
    expect(await look()).toMatchObject({ id });
  });
});

it('under a documentNr a payment is found that is open, done or disputed, and no receipt that charged a card', async () => {
  const found = async () => (await findPaymentOfDocument(database.queries, merchantId, 'n'))?.id;
  expect(await found()).toBeUndefined();
  const { id } = await seed({ document_nr: 'n' });
  expect(await found()).toBe(id);
  await database.queries.updateTable('commands').set(refused).execute();
  expect(await found()).toBeUndefined();
  await database.queries.deleteFrom('claims').execute();
  await seed({ state: 'done', settled_at: 1, settled_by: 'answer', name: 'PrintReceipt', receipt_uid: 'n', card_bani: 5 });
  expect(await found()).toBeUndefined();
});
