// Device/Operation/Status [D64]: to ask without doing.
import { beforeEach, describe, expect, it } from 'vitest';
import { deviceAccessTopic } from '../../src/access/merchant-device.ts';
import { type OperationNames, operationStatus } from '../../src/ledger/operation-status.ts';
import { isNewCore } from '../support/core.ts';
import { asItIs, disputesIn } from '../support/disputes-in.ts';
import { createFakeRecipient } from '../support/fake-recipient.ts';
import { createSaleWorld, type SaleWorld, type Told } from '../support/sale-world.ts';

let world: SaleWorld;
const { decided, isBack, resolve } = disputesIn(() => world);
let terminal: Awaited<ReturnType<SaleWorld['terminal']>>;
let register: Awaited<ReturnType<SaleWorld['register']>>;

beforeEach(async () => {
  world = await createSaleWorld();
  terminal = await world.terminal();
  register = await world.register();
});

function status(names: OperationNames, extras: object = {}) {
  const request = { merchantId: world.merchantId, modules: new Set(['POS', 'Fiscal'] as const), ...names, ...extras };
  return operationStatus({ database: world.database, ledger: world.ledger }, request);
}
const told = (names: OperationNames, extras: object = {}) => world.run(status(names, extras));
const cashIn = (extras: object = {}) =>
  world.fiscal.cashIn({ merchantId: world.merchantId, deviceId: register.id, amountBani: 500, hashRequest: () => 'in', ...extras });

describe('an operation', () => {
  it('is answered as its call was, by each of its names, although the device is disabled', async () => {
    const documentNr = world.random.uuid();
    const receiptUid = world.random.uuid();
    const paid = await world.run(world.pay(terminal.id, 10, documentNr, { idempotency: { key: 'pay', requestHash: 'h' } }));
    const receipt = { Uid: receiptUid, Items: [{ Name: 'Bread', Quantity: 1, Price: 10 }], Payments: [{ PaymentCode: 0, Amount: 10 }] };
    const printed = await world.run(world.fiscal.printReceipt({ merchantId: world.merchantId, deviceId: register.id, receipt }));
    await world.database.queries.updateTable('devices').set({ disabled_at: 1 }).execute();
    world.database.wake(deviceAccessTopic);
    for (const names of [{ oid: String(paid.oid) }, { documentNr }, { idempotencyKey: 'pay' }]) expect(await told(names)).toEqual(paid);
    for (const names of [{ oid: String(printed.oid) }, { receiptUid }]) expect(await told(names)).toEqual(printed);
    expect(await status({ documentNr })).toMatchObject({ State: 'Done', Operation: 'Pay', OID: paid.oid });
  });

  it('that was refused or never began is answered so, and the query starts no new attempt', async () => {
    const documentNr = world.random.uuid();
    const refused = await world.run(world.pay(terminal.id, 10.61, documentNr));
    expect(refused.code).toBe(50);
    for (let count = 0; count < 3; count += 1) expect(await told({ documentNr })).toEqual(refused);
    await expect(status({ documentNr })).rejects.toMatchObject({ fields: { State: 'Refused' } });
    const lost = world.random.uuid();
    world.weather = { ...world.weather, lossRate: 1 };
    const paying = world.run(world.pay(terminal.id, 10, lost));
    await world.clock.advance(20_000);
    world.weather = { ...world.weather, lossRate: 0 };
    await paying;
    await world.clock.advance(60_000);
    expect((await world.lastCommand()).state).toBe('never');
    expect((await told({ documentNr: lost })).code).toBe(30);
    await expect(status({ documentNr: lost })).rejects.toMatchObject({ fields: { State: 'Never' } });
    expect(world.ledgerSends().filter(({ name }) => name === 'Pay').length).toBeGreaterThan(0);
    expect(await world.commands()).toHaveLength(2);
    expect(terminal.bank.charges()).toHaveLength(0);
  });

  it('of several attempts under one documentNr is the one that was done', async () => {
    const documentNr = world.random.uuid();
    await world.run(world.pay(terminal.id, 10.61, documentNr));
    const paid = await world.run(world.pay(terminal.id, 10, documentNr));
    expect(await told({ documentNr })).toEqual(paid);
    const operationId = String(paid.report?.operationId);
    await world.run(world.cards.closeDoc({ merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId }));
    // A repeated Pay would be 22 by now.
    expect(await told({ documentNr })).toEqual({ ...paid, state: 'Closed' });
  });

  it('that runs is 3 at once; one whose outcome is unknown is recalled, and answered', async () => {
    const documentNr = world.random.uuid();
    const paying = world.pay(terminal.id, 10.66, documentNr);
    await world.clock.advance(5_000);
    const startedAt = world.clock.elapsed();
    await expect(status({ documentNr })).rejects.toMatchObject({ errorName: 'Timeout_or_no_response', fields: { State: 'Open' } });
    expect(world.clock.elapsed()).toBe(startedAt);
    world.setAway(terminal.id, true);
    expect((await world.run(paying)).code).toBe(3);
    await expect(world.run(status({ documentNr })).then(({ code }) => code)).resolves.toBe(3);
    world.setAway(terminal.id, false);
    const recallsBefore = world.sendsOf('Recall').length;
    expect((await told({ documentNr })).code).toBe(0);
    expect(world.sendsOf('Recall').length).toBeGreaterThan(recallsBefore);
    expect(terminal.bank.charges()).toHaveLength(1);
  });

  it('that is disputed is 3 until an operator has resolved it, whatever was tried since', async () => {
    const documentNr = world.random.uuid();
    const id = await decided(terminal.id, () => world.pay(terminal.id, 10, documentNr), 'refused');
    world.onAnswer = asItIs;
    const other = await world.terminal();
    expect((await world.run(world.pay(other.id, 10.61, documentNr))).code).toBe(50);
    await isBack(terminal.id);
    await expect(world.meanwhile(status({ documentNr }))).rejects.toMatchObject({ fields: { OID: id, State: 'Disputed' } });
    await resolve(id, 'done');
    expect(await world.meanwhile(status({ documentNr }))).toMatchObject({ OID: id, State: 'Done' });
  });

  it('under a documentNr is a payment, of which the one that was done comes before any other attempt', async () => {
    const documentNr = world.random.uuid();
    const pay = (number: string | undefined) =>
      world.cards.pay({ merchantId: world.merchantId, deviceId: terminal.id, amountBani: 1_061, documentNr: number });
    const close = (number: string, { report }: Told) =>
      world.cards.closeDoc({
        merchantId: world.merchantId,
        deviceId: terminal.id,
        documentNr: number,
        operationId: String(report?.['operationId']),
      });
    expect((await world.run(pay(documentNr))).code).toBe(50);
    const paid = await world.run(pay(documentNr));
    expect((await world.run(close(documentNr, paid))).code).toBe(0);
    expect(await status({ documentNr })).toMatchObject({ OID: paid.oid, Operation: 'Pay' });
    // A CloseDoc gives a number to a payment that has none; the number is no payment's.
    const unnamed = await world.run(
      world.cards.pay({ merchantId: world.merchantId, deviceId: terminal.id, amountBani: 500, documentNr: undefined }),
    );
    expect((await world.run(close('another', unnamed))).code).toBe(0);
    await expect(world.meanwhile(status({ documentNr: 'another' }))).rejects.toMatchObject({ errorName: 'Record_not_exist' });
  });

  it('that was sent once more, because of a wrong clock, is found by its earlier id, too', async () => {
    await world.clock.advance(1_000);
    terminal.setFaults({ clockSkewMs: 60_000 });
    world.weather = { ...world.weather, shortestDelayMs: 1_000, maxDelayMs: 1_000 };
    const documentNr = world.random.uuid();
    const paying = world.pay(terminal.id, 10, documentNr);
    await world.clock.advance(500);
    const oid = String((await world.told(status({ documentNr }))).oid);
    await world.clock.advance(3_000);
    // On the new core it is sent once more by the ERP [D301].
    if (isNewCore) {
      expect(await world.run(paying)).toMatchObject({ code: 30, oid });
      expect(await told({ oid })).toMatchObject({ code: 30, state: 'Never' });
      return;
    }
    expect((await world.commands()).map(({ id, state }) => [id === oid, state])).toEqual([
      [true, 'never'],
      [false, 'sent'],
    ]);
    // Not 30: the terminal is about to charge it.
    expect((await world.told(status({ oid }))).code).toBe(3);
    const paid = await world.run(paying);
    expect(paid.code).toBe(0);
    expect(await told({ oid })).toEqual(paid);
  });

  it('that does not exist is 20, and so is another merchant’s and an invoice’s key', async () => {
    const documentNr = world.random.uuid();
    const paid = await world.run(world.pay(terminal.id, 10, documentNr, { idempotency: { key: 'pay', requestHash: 'h' } }));
    const foreign = { merchantId: world.otherMerchantId };
    for (const names of [{ oid: String(paid.oid) }, { documentNr }, { idempotencyKey: 'pay' }])
      expect((await told(names, foreign)).code).toBe(20);
    const nobody = world.random.uuid();
    for (const names of [{ oid: nobody }, { documentNr: nobody }, { receiptUid: nobody }])
      expect(await told(names)).toMatchObject({ code: 20, message: expect.stringContaining('nothing was begun under it') });
    expect((await told({ idempotencyKey: nobody })).code).toBe(20);
    await world.database.queries.updateTable('idempotency_keys').set({ subject_kind: 'invoice' }).execute();
    expect((await told({ idempotencyKey: 'pay' })).code).toBe(20);
  });

  it('whose Idempotency-Key was forgotten is not answered as one under which nothing was begun', async () => {
    const idempotency = { key: 'pay', requestHash: 'h' };
    const { oid } = await world.run(world.pay(terminal.id, 10, world.random.uuid(), { idempotency }));
    await world.database.queries.updateTable('idempotency_keys').set({ created_at: 1 }).execute();
    await world.database.queries.updateTable('commands').set({ settled_at: 1 }).execute();
    const forgotten = await told({ idempotencyKey: 'pay' });
    expect(forgotten.code).toBe(20);
    expect(forgotten.message).not.toContain('nothing was begun');
    expect(forgotten.message).toContain('24 hours');
    expect((await told({ oid: String(oid) })).code).toBe(0);
  });

  it('must have exactly one name, and a key that opens its module', async () => {
    const { oid = '' } = await world.run(cashIn());
    for (const names of [{}, { oid, documentNr: 'x' }, { receiptUid: 'x', idempotencyKey: 'y' }])
      await expect((async () => status(names))()).rejects.toMatchObject({ errorName: 'Invalid_Request' });
    expect((await told({ oid }, { modules: new Set(['POS']) })).code).toBe(11);
    expect((await told({ oid }, { modules: new Set(['Fiscal']) })).code).toBe(0);
  });
});

describe('asking about a call that is recognised by its content', () => {
  const deposits = () => register.fiscalMemory().documents().length;

  it('ends the recognition once the outcome was received, not before', async () => {
    world.onAnswer = (answer) => (answer.outcome === 'done' ? undefined : answer);
    const { oid = '', code } = await world.run(cashIn());
    expect(code).toBe(3);
    const early = createFakeRecipient();
    expect((await told({ oid }, { recipient: early })).code).toBe(3);
    early.receive();
    world.onAnswer = (answer) => answer;
    await world.clock.advance(60_000);
    const gone = createFakeRecipient();
    expect((await told({ oid }, { recipient: gone })).code).toBe(0);
    gone.leave();
    const repeat = createFakeRecipient();
    expect(await world.run(cashIn({ recipient: repeat }))).toMatchObject({ code: 0, isRepeated: true, oid });
    repeat.leave();
    const there = createFakeRecipient();
    expect((await told({ oid }, { recipient: there })).code).toBe(0);
    there.receive();
    await world.clock.advance(10);
    expect(await world.run(cashIn())).toMatchObject({ code: 0, isRepeated: false });
    expect(deposits()).toBe(2);
  });

  it('does not make a repeat of an equal call while the first caller still waits', async () => {
    const first = cashIn({ recipient: createFakeRecipient() });
    await world.clock.advance(3);
    const { id } = await world.lastCommand();
    await expect(status({ oid: id })).rejects.toMatchObject({ errorName: 'Timeout_or_no_response' });
    expect((await world.run(cashIn(), 3)).code).toBe(31);
    expect((await world.run(first)).code).toBe(0);
  });
});
