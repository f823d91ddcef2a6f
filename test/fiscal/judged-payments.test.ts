// Which card payments a receipt may print [D146], judged from their rows: before the plan, and once more under their locks.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { findPaidElements, guardPaid, linkPaid, type PaidElement, withPaid } from '../../src/fiscal/paid-payments.ts';
import { printReceipt } from '../../src/fiscal/print-receipt.ts';
import type { FiscalDeps } from '../../src/fiscal/register.ts';
import type { Receipt } from '../../src/kernel/receipt.ts';
import type { CommandPlan } from '../../src/ledger/calls/call.ts';
import { memoryDatabase } from '../support/engines.ts';
import { seedCommand, seedDevice, seedMerchant } from '../support/fixtures.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

let database: Database;
let merchantId: string;

beforeEach(async () => {
  database = await memoryDatabase(createVirtualClock());
  merchantId = (await seedMerchant(database.queries)).id;
});

type Row = Parameters<typeof seedCommand>[3];
const settled = { settled_at: 1, settled_by: 'answer' } as const;
const paidRow = { ...settled, state: 'done', document_state: 'closed', operation_id: '7', rrn: 'r7' } as const;

async function seed(row: Row, kind: 'terminal' | 'register' = 'terminal'): Promise<string> {
  const { id: deviceId } = await seedDevice(database.queries, merchantId, { kind });
  return (await seedCommand(database.queries, merchantId, deviceId, row)).id;
}
const payment = (documentNr: string, row: Row = {}) => seed({ ...paidRow, document_nr: documentNr, ...row });
const follower = (name: 'Refund' | 'CancelTransaction', target_id: string, row: Row = {}) => seed({ name, target_id, ...row });
const refunded = (target_id: string, amount_bani: number) => follower('Refund', target_id, { ...settled, state: 'done', amount_bani });
const printOf = async (elements: PaidElement[], row: Row = {}) => {
  const id = await seed({ name: 'PrintReceipt', ...row }, 'register');
  await linkPaid(database.queries, elements, id);
  return id;
};

const element = (documentNr: string, Amount?: unknown) => ({ PaymentCode: 1, documentNr, Amount });
const receipt = (...Payments: object[]): Receipt => ({ Uid: 'sale', Items: [{ Name: 'Bread', Quantity: 1, Price: 10 }], Payments });
const find = (...Payments: object[]) => findPaidElements(database.queries, merchantId, receipt(...Payments));
const refusal = (work: Promise<unknown>) =>
  work.then(
    () => expect.fail('nothing was thrown'),
    (error: object) => error,
  );

describe('a payment', () => {
  it('that is disputed is not printed', async () => {
    const OID = await payment('one', { state: 'disputed' });
    expect(await refusal(find(element('one')))).toMatchObject({ errorName: 'Timeout_or_no_response', fields: { OID, State: 'Disputed' } });
  });

  it('that is being voided after a refund in part has to wait, and the answer names it', async () => {
    const OID = await payment('one');
    await refunded(OID, 100);
    await follower('CancelTransaction', OID);
    const busy = await refusal(find(element('one')));
    expect(busy).toMatchObject({ errorName: 'Device_Busy', message: expect.stringContaining('A void or refund'), fields: { OID } });
  });

  it('whose record was removed is not printed', async () => {
    await payment('one', { removed_at: 1, args: '{}' });
    expect(await refusal(find(element('one')))).toMatchObject({ message: expect.stringContaining('has been removed') });
  });

  it('on a receipt that is being printed has to wait; on a printed one it is refused, on a disputed one 3; after a refusal it is free', async () => {
    await payment('one');
    const elements = await find(element('one'));
    const OID = await printOf(elements);
    expect(await refusal(find(element('one')))).toMatchObject({ errorName: 'Device_Busy', fields: { OID, State: 'Open' } });
    await printOf(elements, { ...settled, state: 'done' });
    expect(await refusal(find(element('one')))).toMatchObject({ errorName: 'The_status_cannot_be_applied' });
    const disputed = await printOf(elements, { ...settled, state: 'disputed' });
    expect(await refusal(find(element('one')))).toMatchObject({ errorName: 'Timeout_or_no_response', fields: { OID: disputed } });
    await printOf(elements, { ...settled, state: 'refused' });
    expect(await find(element('one'))).toHaveLength(1);
  });

  it.each(['refused', 'never'] as const)('that was %s and still has its number in this moment is none', async (state) => {
    const id = await payment('one', { state, document_state: null });
    await database.queries
      .insertInto('claims')
      .values({ merchant_id: merchantId, kind: 'document', value: 'one', command_id: id })
      .execute();
    expect(await refusal(find(element('one')))).toMatchObject({ errorName: 'Record_not_exist' });
  });

  it('is printed with its amount when the element has null for it', async () => {
    await payment('one');
    expect(await find(element('one', null))).toMatchObject([{ index: 0, remainderBani: 1000 }]);
  });
});

describe('under the locks of its payments a receipt is checked again', () => {
  const guard = (elements: PaidElement[]) => database.transaction((queries) => guardPaid(database, queries, elements));

  it('a payment that was refunded in part since is 40, with the remainder', async () => {
    const id = await payment('one');
    const elements = await find(element('one'));
    await guard(elements);
    await refunded(id, 400);
    expect(await refusal(guard(elements))).toMatchObject({ message: expect.stringContaining('Receipt.Payments[0].Amount must be 6.00') });
  });

  it('a payment that was resolved as not executed since is 20', async () => {
    const id = await payment('one');
    const elements = await find(element('one'));
    await database.queries.updateTable('commands').set({ state: 'refused', document_state: null }).where('id', '=', id).execute();
    expect(await refusal(guard(elements))).toMatchObject({ errorName: 'Record_not_exist' });
  });

  it('in the order of the payments’ ids, so that two receipts cannot wait for each other', async () => {
    const ids = ['a', 'b', 'c'].map((digit) => `${digit.repeat(8)}-0000-4000-8000-000000000000`);
    for (const order of [
      [0, 1, 2],
      [2, 1, 0],
      [1, 2, 0],
    ]) {
      database = await memoryDatabase(createVirtualClock());
      merchantId = (await seedMerchant(database.queries)).id;
      for (const place of order) await payment(`doc ${place}`, { id: ids[place] ?? '', operation_id: `${place}` });
      const elements = await find(...order.map((place) => element(`doc ${place}`)));
      // The first that is judged is the one that is refused.
      for (const place of order) await refunded(ids[place] ?? '', 1000);
      const first = `Receipt.Payments[${order.indexOf(0)}]`;
      expect(await refusal(guard(elements))).toMatchObject({ message: expect.stringContaining(first) });
    }
  });
});

describe('the receipt for the register', () => {
  it('is the receipt itself when nothing was paid before', () => {
    const value = receipt({ PaymentCode: 0 });
    expect(withPaid(value, [])).toBe(value);
  });

  it.each([
    ['no report, after an operator’s decision', null],
    ['no authorization code', '{"rrn":"r7"}'],
    ['one that is no text', '{"authCode":7}'],
  ])('names no authorization code where there is %s', async (_what, report) => {
    await payment('one', { report });
    const elements = await find(element('one'));
    const { Payments } = withPaid(receipt(element('one')), elements) as { Payments: { paid: object }[] };
    expect(Payments[0]?.paid).toEqual({ rrn: 'r7', operationId: '7', documentNr: 'one', amount: 10 });
  });
});

describe('the plan of a print', () => {
  async function planOf(value: object, features?: string[]): Promise<CommandPlan> {
    const { id } = await seedDevice(database.queries, merchantId, { kind: 'register' });
    let plan: CommandPlan | undefined;
    const ledger = {
      ownDevice: async () => ({ id, kind: 'register' }),
      run: async (_call: unknown, make: () => Promise<CommandPlan>) => {
        plan = await make();
        throw new Error('planned');
      },
    };
    const presence = { of: () => features && { features } };
    const deps = { database, ledger, link: { presence } } as unknown as FiscalDeps;
    const failure = (await refusal(printReceipt(deps, { merchantId, deviceId: id, receipt: value }))) as Error;
    if (!plan) throw failure;
    return plan;
  }

  it('asks nothing of the register and takes no documentNr for cash alone', async () => {
    const plan = await planOf(receipt({ PaymentCode: 0 }));
    expect([plan.claims, plan.guard, plan.writeBeside]).toEqual([{ receipt: 'sale', document: undefined }, undefined, undefined]);
  });

  it('takes no number where the receipt has none', async () => {
    const { Uid: _, ...unnamed } = receipt({ PaymentCode: 1 });
    expect((await planOf(unnamed)).claims).toEqual({ receipt: undefined, document: undefined });
  });

  it('takes its number for the card that the register charges, also beside one that was paid under another number', async () => {
    await payment('other');
    const both = [element('other'), { PaymentCode: 1, Amount: 5 }];
    const plan = await planOf({ ...receipt(...both), Items: [{ Name: 'Bread', Quantity: 1, Price: 15 }] }, ['paid']);
    expect([plan.claims, plan.cardBani]).toEqual([{ receipt: 'sale', document: 'sale' }, 500]);
  });

  it('is refused, with the payment’s OID, where a card was charged under its number and the receipt does not name that payment', async () => {
    const OID = await payment('sale');
    const two = [
      { PaymentCode: 1, Amount: 5 },
      { PaymentCode: 1, Amount: 5 },
    ];
    expect(await refusal(planOf(receipt(...two)))).toMatchObject({ errorName: 'The_status_cannot_be_applied', fields: { OID } });
  });

  it('is not advised to name the payment that was charged under its number, if that is refused too', async () => {
    const two = receipt({ PaymentCode: 1, Amount: 5 }, { PaymentCode: 1, Amount: 5 });
    const OID = await payment('sale');
    const advice = { message: expect.stringContaining('Name the payment') as string };
    await refunded(OID, 400);
    expect(await refusal(planOf(two))).toMatchObject({ ...advice, fields: { OID, State: 'Closed', Remainder: 6 } });
    await refunded(OID, 600);
    const message = 'The card payment of Receipt.Uid was refunded. Nothing was sent.';
    expect(await refusal(planOf(two))).toMatchObject({ message, fields: { OID, State: 'Refunded' } });
    await follower('Refund', OID, { ...settled, state: 'disputed', review_since: 1 });
    expect(await refusal(planOf(two))).toMatchObject({ errorName: 'Timeout_or_no_response', fields: { OID, State: 'Disputed' } });
  });

  it('is not advised to name a payment where a register has charged a card under its number', async () => {
    const OID = await seed({ ...settled, name: 'PrintReceipt', state: 'done', receipt_uid: 'other' }, 'register');
    await database.queries
      .insertInto('claims')
      .values({ merchant_id: merchantId, kind: 'document', value: 'sale', command_id: OID })
      .execute();
    const message = expect.not.stringContaining('Name the payment') as string;
    expect(await refusal(planOf(receipt(element('sale'))))).toMatchObject({ errorName: 'Record_not_exist' });
    expect(await refusal(planOf(receipt({ PaymentCode: 1 })))).toMatchObject({ message, fields: { OID, State: 'Done' } });
  });

  it('passes a receipt without an amount on to the register', async () => {
    const plan = await planOf({ ...receipt({ PaymentCode: 0 }), Items: [{ Name: 'Bread', Quantity: 2, Price: 9_999_999_999.99 }] });
    expect([plan.amountBani, plan.cashBani, plan.cardBani]).toEqual([undefined, undefined, undefined]);
  });
});
