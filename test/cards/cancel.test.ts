// CancelTransaction [D18] and what it means for the invoice that the payment belongs to [D19].
import { beforeEach, describe, expect, it } from 'vitest';
import { isNewCore } from '../support/core.ts';
import { seedInvoice } from '../support/fixtures.ts';
import { createSaleWorld, type SaleWorld } from '../support/sale-world.ts';

let world: SaleWorld;
let terminal: Awaited<ReturnType<SaleWorld['terminal']>>;
const key = (name: string, body = 'body') => ({ idempotency: { key: name, requestHash: body } });

beforeEach(async () => {
  world = await createSaleWorld();
  terminal = await world.terminal();
});

async function paid(lei: number, documentNr: string = world.random.uuid()) {
  const { code, report } = await world.run(world.pay(terminal.id, lei, documentNr));
  expect(code).toBe(0);
  return { documentNr, operationId: String(report?.operationId), rrn: String(report?.rrn), token: String(report?.token) };
}

function cancel(payment: { documentNr: string; operationId: string; token: string }, lei: number, extras: object = {}) {
  const call = { merchantId: world.merchantId, deviceId: terminal.id };
  return world.cards.cancelTransaction({ ...call, ...payment, amountBani: Math.round(lei * 100), ...extras });
}

const abortOf = (documentNr: string) => ({ documentNr, operationId: 'none', token: 'none' });

async function stateOf(oid: string): Promise<number | undefined> {
  const row = await world.database.queries.selectFrom('invoices').select('state').where('oid', '=', oid).executeTakeFirst();
  return row?.state;
}

const states = { newItem: 0, scanned: 1, payed: 2, expired: 3, cancelled: 4 };
const callbackUri = 'http://erp.example/?oid=#OID#&state=#State#';

describe('a void', () => {
  it('takes the money back, ends the open document and frees the terminal', async () => {
    const payment = await paid(10);
    expect(await world.run(cancel(payment, 10))).toMatchObject({ code: 0, report: { operationId: payment.operationId, amount: 10 } });
    expect(terminal.bank.netBani()).toBe(0);
    expect((await world.lastCommand('Pay')).documentState).toBe('voided');
    expect((await world.run(world.pay(terminal.id, 5))).code).toBe(0);
  });

  it('is 40 for another amount, 22 after a void or a refund, 20 for another documentNr', async () => {
    const payment = await paid(10);
    expect((await world.run(cancel(payment, 9.99))).code).toBe(40);
    expect((await world.run(cancel({ ...payment, documentNr: 'other' }, 10))).code).toBe(20);
    expect((await world.run(cancel(payment, 10))).code).toBe(0);
    expect((await world.run(cancel(payment, 10))).code).toBe(22);
    const second = await paid(20);
    const call = { merchantId: world.merchantId, deviceId: terminal.id };
    await world.run(world.cards.closeDoc({ ...call, ...second }));
    expect((await world.run(world.cards.refund({ ...call, ...second, amountBani: 1, currency: 'MDL' }))).code).toBe(0);
    expect((await world.run(cancel(second, 20))).code).toBe(22);
    expect(terminal.bank.netBani()).toBe(1999);
  });

  it('passes the token on unchecked: the bank refuses with 50, and it can be retried', async () => {
    const payment = await paid(10);
    expect((await world.run(cancel({ ...payment, token: 'wrong' }, 10))).code).toBe(50);
    expect((await world.lastCommand('Pay')).documentState).toBe('open');
    expect((await world.run(cancel(payment, 10))).code).toBe(0);
  });

  it('of a closed payment needs a free terminal', async () => {
    const first = await paid(10);
    await world.run(world.cards.closeDoc({ merchantId: world.merchantId, deviceId: terminal.id, ...first }));
    await paid(20);
    expect((await world.run(cancel(first, 10))).code).toBe(31);
  });

  it('many at once, and again under one Idempotency-Key, void once', async () => {
    const payment = await paid(10);
    const answers = await Promise.all(Array.from({ length: 5 }, () => world.run(cancel(payment, 10, key('v')))));
    expect(answers.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0]);
    expect((await world.run(cancel(payment, 10, key('v')))).code).toBe(0);
    expect((await world.run(cancel(payment, 10, key('v', 'other')))).code).toBe(22);
    expect(terminal.bank.entries().filter(({ kind }) => kind === 'void')).toHaveLength(1);
  });

  it('whose answer is lost is settled, and the document with it', async () => {
    const payment = await paid(10);
    world.onAnswer = (answer) => (answer.outcome === 'done' ? undefined : answer);
    expect((await world.run(cancel(payment, 10))).code).toBe(3);
    world.onAnswer = (answer) => answer;
    await world.clock.advance(30_000);
    expect((await world.lastCommand('CancelTransaction')).state).toBe('done');
    expect((await world.lastCommand('Pay')).documentState).toBe('voided');
  });
});

describe('an abort', () => {
  it('stops a payment that waits for the card: 0, by the payment’s own answer', async () => {
    const documentNr = world.random.uuid();
    const paying = world.pay(terminal.id, 10.64, documentNr);
    await world.clock.advance(2_000);
    const cancelled = world.run(cancel(abortOf(documentNr), 10.64));
    expect((await cancelled).code).toBe(0);
    expect((await world.run(paying)).code).toBe(50);
    expect(terminal.bank.charges()).toHaveLength(0);
    expect((await world.run(world.pay(terminal.id, 5))).code).toBe(0);
  });

  it('that comes too late is 22, and the payment remains', async () => {
    const documentNr = world.random.uuid();
    const paying = world.pay(terminal.id, 10, documentNr);
    await world.clock.advance(165); // the customer is done, the bank is being asked
    expect((await world.run(cancel(abortOf(documentNr), 10))).code).toBe(22);
    expect((await world.run(paying)).code).toBe(0);
    expect(terminal.bank.charges()).toHaveLength(1);
  });

  it('needs a payment on this terminal: 20 without one, 22 when it has ended, and on another terminal 20, or 22 [D302]', async () => {
    const documentNr = world.random.uuid();
    expect((await world.run(cancel(abortOf(documentNr), 10))).code).toBe(20);
    const payment = await paid(10, documentNr);
    expect((await world.run(cancel(abortOf(documentNr), 10))).code).toBe(22);
    await world.run(cancel(payment, 10));
    const other = await world.terminal();
    const second = world.random.uuid();
    const paying = world.pay(terminal.id, 10.64, second);
    await world.clock.advance(1_000);
    expect((await world.run(cancel(abortOf(second), 10.64, { deviceId: other.id }), 100)).code).toBe(isNewCore ? 22 : 20);
    expect((await world.run(paying)).code).toBe(0);
  });

  it('does not happen when the operationId is known under another documentNr', async () => {
    const first = await paid(10);
    await world.run(world.cards.closeDoc({ merchantId: world.merchantId, deviceId: terminal.id, ...first }));
    const documentNr = world.random.uuid();
    const paying = world.pay(terminal.id, 10.64, documentNr);
    await world.clock.advance(1_000);
    expect((await world.run(cancel({ ...first, documentNr }, 10.64), 100)).code).toBe(20);
    expect((await world.run(paying)).code).toBe(0);
  });

  it('of a command that is lost on the way tombstones it: 0, and it never runs', async () => {
    const documentNr = world.random.uuid();
    world.weather = { ...world.weather, lossRate: 1 };
    const paying = world.run(world.pay(terminal.id, 10, documentNr));
    await world.clock.advance(100);
    world.weather = { ...world.weather, lossRate: 0 };
    expect((await world.run(cancel(abortOf(documentNr), 10))).code).toBe(0);
    expect((await paying).code).toBe(30);
    expect(terminal.bank.charges()).toHaveLength(0);
  });

  it('unanswered is 3; the payment’s outcome is settled later', async () => {
    const documentNr = world.random.uuid();
    const paying = world.run(world.pay(terminal.id, 10.64, documentNr));
    await world.clock.advance(2_000);
    world.setAway(terminal.id, true);
    const startedAt = world.clock.elapsed();
    expect((await world.run(cancel(abortOf(documentNr), 10.64))).code).toBe(3);
    const tookMs = world.clock.elapsed() - startedAt;
    expect(tookMs >= 60_000 && tookMs < 61_000, `${tookMs} ms`).toBe(true);
    world.setAway(terminal.id, false);
    expect((await paying).code).toBe(0);
    expect(terminal.bank.charges()).toHaveLength(1);
  });

  it('under one Idempotency-Key answers the same again', async () => {
    const documentNr = world.random.uuid();
    const paying = world.pay(terminal.id, 10.64, documentNr);
    await world.clock.advance(2_000);
    const first = await world.run(cancel(abortOf(documentNr), 10.64, key('a')));
    await world.run(paying);
    expect(first.code).toBe(0);
    expect(await world.run(cancel(abortOf(documentNr), 10.64, key('a')))).toEqual(first);
    expect(await world.run(cancel(abortOf(documentNr), 10.64))).toMatchObject({ code: isNewCore ? 0 : 22, state: 'Refused' });
    expect((await world.run(cancel(abortOf(documentNr), 1, key('a', 'other')))).code).toBe(22);
  });
});

describe('what names no payment of this terminal', () => {
  it('is 22 with the payment on the other terminal where an invoice was paid, not 20: the shop has the money [D245]', async () => {
    const { oid } = await seedInvoice(world.database.queries, world.merchantId);
    const other = await world.terminal();
    const { oid: paymentId } = await world.run(world.pay(other.id, 10, oid));
    const told = await world.run(cancel(abortOf(oid), 10));
    expect(told).toMatchObject({
      code: 22,
      oid: paymentId,
      state: 'Done',
      message: expect.stringContaining('on another terminal') as string,
    });
    expect(await stateOf(oid)).toBe(states.newItem);
  });

  it('withdraws no invoice under the operationId of another payment: the caller meant that payment', async () => {
    const { operationId, token } = await paid(10);
    const { oid } = await seedInvoice(world.database.queries, world.merchantId);
    expect((await world.run(cancel({ documentNr: oid, operationId, token }, 10))).code).toBe(20);
    expect(await stateOf(oid)).toBe(states.newItem);
    expect(await world.run(cancel(abortOf(oid), 10))).toMatchObject({ code: 0 });
    expect(await stateOf(oid)).toBe(states.cancelled);
  });

  it('is 22 with the print if a register has charged a card under the number [D146]', async () => {
    const register = await world.register();
    const receipt = { Uid: 'sale 7', Items: [{ Name: 'Tea', Quantity: 1, Price: 10 }], Payments: [{ PaymentCode: 1 }] };
    const print = world.fiscal.printReceipt({ merchantId: world.merchantId, deviceId: register.id, receipt });
    const { code, oid: id } = await world.run(print);
    expect(code).toBe(0);
    const told = await world.run(cancel(abortOf('sale 7'), 10));
    expect(told).toMatchObject({ code: 22, oid: id, message: expect.stringContaining('A register has charged a card') as string });
  });
});

describe('the invoice of a payment', () => {
  it.each([
    ['NewItem', {}],
    ['Scanned', { state: states.scanned, scanned_at: 1 }],
  ])('becomes Cancelled with its callback when the payment is voided (%s)', async (_name, overrides) => {
    const { oid } = await seedInvoice(world.database.queries, world.merchantId, { callback_uri: callbackUri, ...overrides });
    const payment = await paid(10, oid);
    expect(await stateOf(oid)).not.toBe(states.cancelled);
    expect((await world.run(cancel(payment, 10))).code).toBe(0);
    expect(await stateOf(oid)).toBe(states.cancelled);
    await world.clock.advance(1_000);
    expect(world.callbackUrls).toEqual([`http://erp.example/?oid=${oid}&state=Cancelled`]);
  });

  it('becomes Cancelled when the payment is aborted, however the outcome arrives', async () => {
    const { oid } = await seedInvoice(world.database.queries, world.merchantId, { callback_uri: callbackUri });
    const paying = world.pay(terminal.id, 10.64, oid);
    await world.clock.advance(2_000);
    expect((await world.run(cancel(abortOf(oid), 10.64))).code).toBe(0);
    await world.run(paying);
    expect(await stateOf(oid)).toBe(states.cancelled);

    const lost = (await seedInvoice(world.database.queries, world.merchantId)).oid;
    world.weather = { ...world.weather, lossRate: 1 };
    const second = world.run(world.pay(terminal.id, 10, lost));
    await world.clock.advance(100);
    world.weather = { ...world.weather, lossRate: 0 };
    expect((await world.run(cancel(abortOf(lost), 10))).code).toBe(0);
    await second;
    expect(await stateOf(lost)).toBe(states.cancelled);
  });

  it('stays unchanged when the payment is refused without an abort, refunded, or when the void is refused', async () => {
    const { oid } = await seedInvoice(world.database.queries, world.merchantId);
    expect((await world.run(world.pay(terminal.id, 10.61, oid))).code).toBe(50);
    const payment = await paid(10, oid);
    expect((await world.run(cancel({ ...payment, token: 'wrong' }, 10))).code).toBe(50);
    const call = { merchantId: world.merchantId, deviceId: terminal.id };
    await world.run(world.cards.closeDoc({ ...call, ...payment }));
    await world.run(world.cards.refund({ ...call, ...payment, amountBani: 100, currency: undefined }));
    expect(await stateOf(oid)).toBe(states.newItem);
  });

  it('stays Payed, and another merchant’s is left alone', async () => {
    const payed = await seedInvoice(world.database.queries, world.merchantId);
    const foreign = await seedInvoice(world.database.queries, world.otherMerchantId);
    const payment = await paid(10, payed.oid);
    await world.database.queries
      .updateTable('invoices')
      .set({ state: states.payed, scanned_at: 1, ended_at: 2, receipt_id: 'r', paid_device_id: terminal.id })
      .where('oid', '=', payed.oid)
      .execute();
    expect((await world.run(cancel(payment, 10))).code).toBe(0);
    expect((await world.run(cancel(await paid(10, foreign.oid), 10))).code).toBe(0);
    expect(await stateOf(payed.oid)).toBe(states.payed);
    expect(await stateOf(foreign.oid)).toBe(states.newItem);
  });
});
