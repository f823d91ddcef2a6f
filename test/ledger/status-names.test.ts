// By which names Device/Operation/Status finds an operation [D64], and whose: on a small database, with a ledger that asks no device.
import { beforeEach, describe, expect, it } from 'vitest';
import { claimKey } from '../../src/access/idempotency.ts';
import type { Database } from '../../src/database/database.ts';
import type { Module } from '../../src/kernel/callers.ts';
import { GatewayError } from '../../src/kernel/error-codes.ts';
import { operationOf } from '../../src/kernel/operations.ts';
import type { Command } from '../../src/ledger/command.ts';
import { type OperationNames, operationStatus } from '../../src/ledger/operation-status.ts';
import { findCommand } from '../../src/ledger/store.ts';
import { memoryDatabase } from '../support/engines.ts';
import { createFakeRecipient } from '../support/fake-recipient.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

let database: Database;
let merchantId: string;
let sent: unknown[][];
let lookAgain: (command: Command) => Promise<Command>;
let findHolder: (id: string) => Promise<Command | undefined>;

beforeEach(async () => {
  database = await memoryDatabase(createVirtualClock());
  merchantId = (await seedMerchant(database.queries)).id;
  sent = [];
  lookAgain = async (command) => command;
  findHolder = async () => undefined;
});

/** On a device of its own, because a device runs one command at a time. */
async function seed(overrides: Parameters<typeof seedCommand>[3], of = merchantId): Promise<string> {
  const { id: deviceId } = await seedDevice(database.queries, of);
  return (await seedCommand(database.queries, of, deviceId, overrides)).id;
}
const done = { state: 'done', settled_at: 1, settled_by: 'answer' } as const;
const paid = { ...done, document_state: 'open', operation_id: '7' } as const;
const refused = { state: 'refused', settled_at: 1, settled_by: 'answer' } as const;
const keep = (key: string, subjectId: string, subjectKind: 'command' | 'invoice' = 'command') =>
  claimKey(database.queries, { merchantId, key, requestHash: 'h', subjectKind, subjectId });

function status(names: OperationNames, { modules = ['POS', 'Fiscal'] as Module[], recipient = createFakeRecipient() } = {}) {
  const ledger = {
    lookAgain: (command: Command) => lookAgain(command),
    findHolder: ({ id }: Command) => findHolder(id),
    moduleOf: ({ name }: Command) => operationOf(name).mode,
    outcomeDelivery: { sent: (...given: unknown[]) => void sent.push(given) },
  } as unknown as Parameters<typeof operationStatus>[0]['ledger'];
  return operationStatus({ database, ledger }, { merchantId, modules: new Set(modules), recipient, ...names });
}
const foundBy = (names: OperationNames) =>
  status(names).then(
    ({ OID }) => OID,
    ({ fields, errorName }) => fields?.OID ?? errorName,
  );
const unknown = { errorName: 'Record_not_exist' };

describe('an operation', () => {
  it('is found by its OID, its documentNr, its ReceiptUid and its key, of this merchant only', async () => {
    const payment = await seed({ ...paid, document_nr: 'n' });
    const receipt = await seed({ ...done, name: 'PrintReceipt', receipt_uid: 'u' });
    await keep('k', payment);
    const names = [{ oid: payment }, { documentNr: 'n' }, { idempotencyKey: 'k' }, { receiptUid: 'u' }];
    expect(await Promise.all(names.map(foundBy))).toEqual([payment, payment, payment, receipt]);
    merchantId = (await seedMerchant(database.queries)).id;
    for (const name of names) expect(await foundBy(name)).toBe('Record_not_exist');
  });

  it('needs one name: none and two are refused', async () => {
    const oid = await seed(paid);
    for (const names of [{}, { oid, documentNr: 'n' }, { documentNr: 'n', idempotencyKey: 'k' }, { oid, receiptUid: 'u' }])
      await expect(status(names)).rejects.toMatchObject({ errorName: 'Invalid_Request' });
  });

  it('that is not known by its key may have been known, because keys expire; by another name it never was', async () => {
    await expect(status({ idempotencyKey: 'k' })).rejects.toMatchObject({ ...unknown, message: expect.stringContaining('A key expires') });
    await expect(status({ documentNr: 'n' })).rejects.toMatchObject({ ...unknown, message: expect.stringContaining('nothing was begun') });
  });

  it('is answered with its name, its standing and what its operations have left of it, and its caller has the outcome then', async () => {
    const oid = await seed({ ...paid, document_state: 'closed', report: '{"rrn":"1"}' });
    await seed({ ...done, name: 'Refund', target_id: oid, amount_bani: 300 });
    const recipient = createFakeRecipient();
    const answer = await status({ oid }, { recipient });
    expect(answer).toEqual({ OID: oid, State: 'Closed', Remainder: 7, Operation: 'Pay', report: '{"rrn":"1"}' });
    expect(sent).toEqual([[await findCommand(database.queries, oid), recipient]]);
  });

  it('needs a key that opens its module', async () => {
    const oid = await seed(paid);
    await expect(status({ oid }, { modules: ['Fiscal'] })).rejects.toMatchObject({ errorName: 'API_Key_Wrong_Product' });
    expect(await status({ oid }, { modules: ['POS'] })).toMatchObject({ OID: oid });
    expect(sent).toHaveLength(1);
  });

  it('is asked for at its device once more, in its last issue', async () => {
    const again = await seed({ state: 'unknown' });
    const oid = await seed({ ...refused, state: 'never', reissued_as: again });
    const asked: string[] = [];
    lookAgain = async (command) => {
      asked.push(command.id);
      return { ...command, state: 'done' };
    };
    expect(await status({ oid })).toMatchObject({ OID: again, State: 'Done' });
    expect(asked).toEqual([again]);
  });
});

describe('a key', () => {
  it('of an invoice is the name of no operation', async () => {
    await keep('k', await seed(paid), 'invoice');
    await expect(status({ idempotencyKey: 'k' })).rejects.toMatchObject(unknown);
  });

  it('of a try that was not done leads to the command that has its number now, as a repeat of the call does [D251]', async () => {
    const own = await seed({ ...refused, document_nr: 'n' });
    await keep('k', own);
    expect(await foundBy({ idempotencyKey: 'k' })).toBe(own);
    const other = await seed({ ...paid, document_nr: 'n' });
    findHolder = async (id) => (id === own ? findCommand(database.queries, other) : undefined);
    expect(await foundBy({ idempotencyKey: 'k' })).toBe(other);
    // By its own id it is answered about itself.
    expect(await foundBy({ oid: own })).toBe(own);
    findHolder = () => Promise.reject(new GatewayError('The_status_cannot_be_applied', 'Another amount.'));
    expect(await foundBy({ idempotencyKey: 'k' })).toBe('The_status_cannot_be_applied');
  });

  it.each(['sent', 'unknown', 'done', 'disputed'] as const)(
    'of a command that is %s leads to that one, whatever has its number',
    async (state) => {
      const settled = { sent: {}, unknown: {}, done: paid, disputed: done }[state];
      const id = await seed({ ...settled, state, document_nr: 'n' });
      await keep('k', id);
      const other = await seed({ ...paid, document_nr: 'other' });
      findHolder = () => findCommand(database.queries, other);
      expect(await foundBy({ idempotencyKey: 'k' })).toBe(id);
    },
  );
});

describe('a documentNr', () => {
  it('of several attempts is that of the one that was done, else of the newest', async () => {
    const first = await seed({ ...refused, document_nr: 'n', issued_at: 1 });
    const newest = await seed({ ...refused, document_nr: 'n', issued_at: 3 });
    expect(await foundBy({ documentNr: 'n' })).toBe(newest);
    await database.queries.updateTable('commands').set(paid).where('id', '=', first).execute();
    const claim = { merchant_id: merchantId, kind: 'document', value: 'n', command_id: first } as const;
    await database.queries.insertInto('claims').values(claim).execute();
    expect(await foundBy({ documentNr: 'n' })).toBe(first);
  });

  it('under which a register charged a card leads to the receipt, for a key that opens the module Fiscal [D251]', async () => {
    const receipt = await seed({ ...done, name: 'PrintReceipt', receipt_uid: 'n', card_bani: 5 });
    expect([await foundBy({ documentNr: 'n' }), await foundBy({ receiptUid: 'n' })]).toEqual([receipt, receipt]);
    await expect(status({ documentNr: 'n' }, { modules: ['POS'] })).rejects.toMatchObject({ errorName: 'API_Key_Wrong_Product' });
  });

  it('of attempts alone is that of the newest payment: a refund under it is another operation', async () => {
    const payment = await seed({ ...refused, document_nr: 'n', issued_at: 1 });
    await seed({ ...refused, name: 'Refund', document_nr: 'n', issued_at: 2 });
    expect(await foundBy({ documentNr: 'n' })).toBe(payment);
  });
});
