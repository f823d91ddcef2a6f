// Disputes that meet [D143]: a payment and what refers to it are disputed together, or one of them changes while a call about it is under way;
// and disputes beside a receipt of the same number, an invoice, or an equal request without a name.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listOrphans } from '../../src/cabinet/sales/orphans.ts';
import { states } from '../../src/invoices/rules.ts';
import { operationStatus } from '../../src/ledger/operation-status.ts';
import type { AnswerMessage } from '../../src/link/wire-schemas.ts';
import { isNewCore } from '../support/core.ts';
import { asItIs, denies, disputesIn, isRecalled } from '../support/disputes-in.ts';
import { interruptible } from '../support/interruptible.ts';
import { createSaleWorld } from '../support/sale-world.ts';

let world: Awaited<ReturnType<typeof createSaleWorld>>;
beforeEach(async () => {
  world = await createSaleWorld();
});
afterEach(() => world.stop());

const statusOf = (oid: string) =>
  world.told(operationStatus(world.life, { merchantId: world.merchantId, modules: new Set(['POS', 'Fiscal'] as const), oid }));
const { decide, resolve, decided, isBack, isBackSilent, paidOn, remainsOf } = disputesIn(() => world);
const find = (id: string) => world.ledger.find(id);

describe.each(['CloseDoc', 'CancelTransaction'] as const)('a payment and its %s that an operator called done', (follower) => {
  it('and the terminal denies, and that are resolved as not executed one after the other, leave the terminal free', async () => {
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    const numbers = { operationId: '000077', rrn: '77' };
    const paymentId = await decided(terminal.id, () => world.pay(terminal.id, 10.61, documentNr), 'done', numbers);
    await isBackSilent(terminal.id);
    const named = { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId: '000077' };
    const follow = () =>
      follower === 'CloseDoc' ? world.cards.closeDoc(named) : world.cards.cancelTransaction({ ...named, token: 't', amountBani: 1_061 });
    const followerId = await decided(terminal.id, follow, 'done');
    await isBack(terminal.id, denies);
    expect([(await find(paymentId))?.state, (await find(followerId))?.state]).toEqual(['disputed', 'disputed']);
    world.onAnswer = asItIs;

    await resolve(followerId, 'refused');
    expect(await find(paymentId)).toMatchObject({ state: 'disputed', documentState: null });
    // A disputed payment locks no terminal.
    const next = await paidOn(terminal.id, true);
    await resolve(paymentId, 'refused');
    expect(await find(paymentId)).toMatchObject({ state: 'refused', documentState: null });
    expect(await statusOf(next.id)).toMatchObject({ code: 0, state: 'Closed' });
    expect((await world.run(world.pay(terminal.id, 5))).code).toBe(0);
  });
});

it('a void of a payment that was not made either does not say that the cancelled invoice was paid', async () => {
  const terminal = await world.terminal();
  const { oid } = await invoiceOf();
  const numbers = { operationId: '000077', rrn: '77' };
  const paymentId = await decided(terminal.id, () => world.pay(terminal.id, 10, oid), 'done', numbers);
  await isBackSilent(terminal.id);
  const named = { merchantId: world.merchantId, deviceId: terminal.id, documentNr: oid, operationId: '000077' };
  const voiding = () => world.cards.cancelTransaction({ ...named, token: 't', amountBani: 1_000 });
  const voidId = await decided(terminal.id, voiding, 'done');
  await isBack(terminal.id, denies);
  for (const id of [paymentId, voidId]) await resolve(id, 'refused');
  expect([(await find(paymentId))?.state, (await find(voidId))?.state]).toEqual(['refused', 'refused']);
  expect(await remainsOf(voidId)).toEqual([]);
});

describe('a void that an operator called done, and that was not made,', () => {
  it.each([true, false])(
    'and whose bank day was closed since gives the payment back to that day (document closed: %s)',
    async (isClosed) => {
      const terminal = await world.terminal();
      const sale = await paidOn(terminal.id, isClosed);
      const voidId = await decided(
        terminal.id,
        () => world.cards.cancelTransaction({ ...sale.named, token: sale.token, amountBani: 1_000 }),
        'done',
      );
      await isBackSilent(terminal.id);
      expect((await world.run(world.cards.closeDay({ merchantId: world.merchantId, deviceId: terminal.id }))).code).toBe(0);
      world.onAnswer = denies;
      await world.meanwhile(world.ledger.askDevice((await find(voidId)) as never, 'ana'));
      expect(await find(voidId)).toMatchObject({ state: 'disputed' });
      world.onAnswer = asItIs;
      await resolve(voidId, 'refused');
      expect(await find(sale.id)).toMatchObject({ documentState: 'closed' });
      // The new core knows the closes of the device instead [D307]; the refund below is refused by them.
      if (!isNewCore) expect((await find(sale.id))?.bankDayClosedAtMs).toEqual(expect.any(Number));
      const refund = world.cards.refund({ ...sale.named, rrn: sale.rrn, amountBani: 1_000, currency: undefined });
      expect(await world.run(refund)).toMatchObject({ code: 22, message: expect.stringContaining('use CancelTransaction') as string });
      expect((await world.run(world.pay(terminal.id, 5))).code).toBe(0);
    },
  );
});

describe('a payment that is resolved as not executed while a call about it waits for its commit', () => {
  it.each(['Refund', 'CancelTransaction'] as const)('is not taken back by that %s: nothing is sent', async (name) => {
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    const numbers = { operationId: '000077', rrn: '77' };
    const paymentId = await decided(terminal.id, () => world.pay(terminal.id, 10, documentNr), 'done', numbers);
    const byHand = { commandId: paymentId, actor: 'ana', reason: 'The terminal is away.' };
    await world.meanwhile(world.cards.closeDocumentByHand(byHand));
    const { database, beforeNextTransaction } = interruptible(world.database);
    const slow = await world.startLife({ database });
    await isBackSilent(terminal.id);
    const [isThere, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    beforeNextTransaction(() => {
      isThere.resolve();
      return goesOn.promise;
    });
    const named = { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId: '000077' };
    const call =
      name === 'Refund'
        ? slow.cards.refund({ ...named, rrn: '77', amountBani: 1_000, currency: undefined })
        : slow.cards.cancelTransaction({ ...named, token: 't', amountBani: 1_000 });
    const answer = world.told(call);
    await isThere.promise;
    world.onAnswer = denies;
    await world.meanwhile(world.ledger.askDevice((await find(paymentId)) as never, 'ana'));
    expect(await find(paymentId)).toMatchObject({ state: 'disputed' });
    world.onAnswer = asItIs;
    await resolve(paymentId, 'refused');
    goesOn.resolve();
    // The number names a payment that was not made: with the new core nothing is left to take back [D302].
    expect((await world.meanwhile(answer)).code).toBe(isNewCore && name === 'CancelTransaction' ? 0 : 20);
    expect(world.sendsOf(name)).toEqual([]);
  });
});

describe('a CancelTransaction under its own key or content', () => {
  it.each(['key', 'content'] as const)(
    'is not answered by an earlier try that it stopped while a later one is disputed (%s)',
    async (by) => {
      const terminal = await world.terminal({ timing: { customerMs: 5_000 } });
      const documentNr = world.random.uuid();
      const named = { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId: 'none' };
      const recognised = by === 'key' ? { idempotency: { key: 'k', requestHash: 'h' } } : { hashRequest: () => 'h' };
      const gone = { received: Promise.resolve(false), hasLeft: () => true, onLeft() {} };
      const cancel = (recipient?: typeof gone) =>
        world.cards.cancelTransaction({ ...named, ...recognised, token: 't', amountBani: 1_000, recipient });
      const first = world.told(world.pay(terminal.id, 10, documentNr));
      await world.clock.advance(500);
      expect((await world.run(cancel(by === 'content' ? gone : undefined))).code).toBe(0);
      expect((await first).code).toBe(50);

      world.onAnswer = () => undefined;
      expect((await world.run(world.pay(terminal.id, 10, documentNr))).code).toBe(3);
      const { id } = await world.lastCommand();
      expect(terminal.bank.charges()).toHaveLength(1);
      await world.database.queries.updateTable('commands').set({ ended_unknown_at: world.clock.now() }).where('id', '=', id).execute();
      world.setAway(terminal.id, true);
      await decide(id, 'refused');
      await isBack(terminal.id);
      expect(await find(id)).toMatchObject({ state: 'disputed' });
      const answer = await world.run(cancel());
      // The key names the request that stopped the first; with the new core the answer names the other one beside it [D302, D315].
      if (isNewCore && by === 'key') expect(answer).toMatchObject({ code: 0, state: 'Refused' });
      else expect(answer.code).not.toBe(0);
    },
  );
});

describe('a CloseDoc that an operator called refused', () => {
  it('and that the terminal is still at closes the document when the terminal has done it, without an operator', async () => {
    const terminal = await world.terminal();
    const sale = await paidOn(terminal.id, false);
    const id = await decided(terminal.id, () => world.cards.closeDoc(sale.named), 'refused');
    await isBack(terminal.id, (answer) => (isRecalled(answer) ? { ...answer, report: { state: 'running' } } : answer));
    expect(await find(id)).toMatchObject({ state: 'disputed' });
    world.onAnswer = asItIs;
    await world.meanwhile(world.ledger.askDevice((await find(id)) as never, 'ana'));
    expect(await find(id)).toMatchObject({ state: 'done', settledBy: 'recall', reviewedAtMs: expect.any(Number) as number });
    expect(await find(sale.id)).toMatchObject({ documentState: 'closed' });
    expect(await world.ledger.listReview(10)).toEqual([]);
    expect((await world.run(world.pay(terminal.id, 5))).code).toBe(0);
  });
});

describe('a payment that an operator called done and its terminal denies', () => {
  const numbers = { operationId: '000077', rrn: '77' };
  async function denied(isClosedByHand: boolean) {
    const terminal = await world.terminal({ timing: { customerMs: 5_000 } });
    const documentNr = world.random.uuid();
    const id = await decided(terminal.id, () => world.pay(terminal.id, 10.61, documentNr), 'done', numbers);
    const request = { commandId: id, actor: 'ana', reason: 'The terminal is away.' };
    if (isClosedByHand) await world.meanwhile(world.cards.closeDocumentByHand(request));
    await isBack(terminal.id, denies);
    expect(await find(id)).toMatchObject({ state: 'disputed' });
    world.onAnswer = asItIs;
    return { id, terminal, named: { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId: '000077' } };
  }

  it('is not said to be closed, although its document was closed by hand', async () => {
    const { id, named } = await denied(true);
    expect(await world.run(world.cards.closeDoc(named))).toMatchObject({ code: 3, oid: id, state: 'Disputed' });
  });

  it('is meant by its operationId: no other payment is stopped by it', async () => {
    const { terminal, named } = await denied(false);
    const documentNr = world.random.uuid();
    const running = world.told(world.pay(terminal.id, 5, documentNr));
    await world.clock.advance(500);
    const cancel = world.cards.cancelTransaction({ ...named, documentNr, token: 't', amountBani: 500 });
    expect(await world.run(cancel)).toMatchObject({ code: 20 });
    await world.clock.advance(60_000);
    expect((await running).code).toBe(0);
  });
});

it('a payment that is resolved as not executed after its receipt was printed is listed, and no longer once it is executed after all', async () => {
  const [terminal, register] = [await world.terminal(), await world.register()];
  const documentNr = world.random.uuid();
  const id = await decided(terminal.id, () => world.pay(terminal.id, 10.61, documentNr), 'done', { operationId: '000077', rrn: '77' });
  world.onAnswer = asItIs;
  const receipt = { Uid: 'another', Items: [{ Name: 'Tea', Quantity: 1, Price: 10.61 }], Payments: [{ PaymentCode: 1, documentNr }] };
  const print = world.fiscal.printReceipt({ merchantId: world.merchantId, deviceId: register.id, receipt });
  expect((await world.run(print)).code).toBe(0);
  // What Attention lists: the mark of the old core, the standing of the printed payment in the new one.
  const isListed = async () => {
    const { queries } = world.database;
    if (!isNewCore)
      return (await queries.selectFrom('receipt_payments').select('voided_at').execute()).map((row) => row.voided_at !== null);
    const printed = queries.selectFrom('printed_payments').innerJoin('commands', 'commands.id', 'printed_payments.payment_id');
    return (await printed.select('standing').execute()).map(({ standing }) => standing !== 'Done' && standing !== 'Closed');
  };
  expect(await isListed()).toEqual([false]);
  await isBack(terminal.id, denies);
  await resolve(id, 'refused');
  expect(await isListed()).toEqual([true]);
  expect(await world.steps(id)).toContain('not undone');

  const journalId = String((await find(id))?.journalId);
  const report = { rrn: '78', operationId: '000078', amount: 10.61 };
  world.sayAs(terminal.id, {
    v: 1,
    id,
    device: terminal.id,
    clock: new Date(world.clock.now()).toISOString(),
    journalId,
    outcome: 'done',
    report,
  });
  await world.clock.advance(1_000);
  await resolve(id, 'done');
  expect(await isListed()).toEqual([false]);
});

const receipt = (Uid?: string) => ({
  ...(Uid === undefined ? {} : { Uid }),
  Items: [{ Name: 'Tea', Quantity: 1, Price: 10 }],
  Payments: [{ PaymentCode: 1 }],
});
const stateOf = async (qr: string) => (await world.life.invoices.status(qr, { merchantId: world.merchantId, name: 'erp' })).state;
const invoiceOf = () => world.meanwhile(world.life.invoices.create({ merchantId: world.merchantId, receipt: receipt() }));

it('a payment that was made after all names the receipt that a register charged under its number since as a possible double charge', async () => {
  const [terminal, register] = [await world.terminal(), await world.register()];
  const documentNr = world.random.uuid();
  const id = await decided(terminal.id, () => world.pay(terminal.id, 10, documentNr), 'refused');
  world.onAnswer = asItIs;
  const print = world.fiscal.printReceipt({ merchantId: world.merchantId, deviceId: register.id, receipt: receipt(documentNr) });
  expect((await world.run(print)).code).toBe(0);
  await isBack(terminal.id);
  expect([terminal.bank.charges().length, register.bank.charges().length]).toEqual([1, 1]);
  expect((await find(id))?.reviewReason).toContain('it may be done twice');
});

it('a void that turns out not to be made lists the invoice that it has cancelled', async () => {
  const terminal = await world.terminal();
  const { oid } = await invoiceOf();
  const { report } = await world.run(world.pay(terminal.id, 10, oid));
  const { operationId, token } = report as { operationId: string; token: string };
  const cancel = { merchantId: world.merchantId, deviceId: terminal.id, documentNr: oid, operationId, token, amountBani: 1_000 };
  const id = await decided(terminal.id, () => world.cards.cancelTransaction(cancel), 'done');
  await isBack(terminal.id, denies);
  await resolve(id, 'refused');
  expect(await world.steps(id)).toContain('not undone');
});

async function payAt(deviceId: string, oid: string) {
  const qr = await world.life.invoices.qrOf(oid, 1);
  const asker = { merchantId: world.merchantId, name: 'till', hasKey: true };
  await world.meanwhile(world.life.invoices.scan(qr, asker));
  await world.meanwhile(world.life.invoices.pay(qr, { receiptId: 'F-1', deviceId }, asker));
}
/** Another device takes the money. */
const payAtTill = async (oid: string) => payAt((await world.register()).id, oid);
const paidTwice = async () => (await listOrphans(world.database.queries, 10)).map(({ oid, reason }) => ({ oid, reason }));

it('a refund that turns out not to be made lists that the invoice, which was then paid at a till, was paid twice', async () => {
  const terminal = await world.terminal();
  const { oid } = await invoiceOf();
  const { report } = await world.run(world.pay(terminal.id, 10, oid));
  const { operationId, rrn } = report as { operationId: string; rrn: string };
  const named = { merchantId: world.merchantId, deviceId: terminal.id, documentNr: oid, operationId, amountBani: 1_000 };
  await world.run(world.cards.closeDoc(named));
  const id = await decided(terminal.id, () => world.cards.refund({ ...named, rrn, currency: 'MDL' }), 'done');
  await payAtTill(oid);
  expect(await paidTwice()).toEqual([]);
  await isBack(terminal.id, denies);
  await resolve(id, 'refused');
  expect(await world.steps(id)).toContain('not undone');
  expect(await paidTwice()).toEqual([{ oid, reason: 'paid-by-card-too' }]);
});

it('an invoice whose payment was voided while another one of it was disputed is cancelled when that one proves not to be made', async () => {
  const [terminal, other] = [await world.terminal(), await world.terminal()];
  const { oid, qr } = await invoiceOf();
  const id = await decided(terminal.id, () => world.pay(terminal.id, 10, oid), 'refused');
  world.onAnswer = asItIs;
  const { report } = await world.run(world.pay(other.id, 10, oid));
  await isBack(terminal.id);
  expect((await find(id))?.state).toBe('disputed');
  const named = { merchantId: world.merchantId, deviceId: other.id, documentNr: oid, operationId: String(report?.['operationId']) };
  const voided = await world.run(world.cards.cancelTransaction({ ...named, token: String(report?.['token']), amountBani: 1_000 }));
  expect(voided.code).toBe(0);
  expect(await stateOf(qr)).toBe(states.newItem);
  await resolve(id, 'refused');
  expect(await stateOf(qr)).toBe(states.cancelled);
});

it.each([
  ['lists the invoice that was completed with it', true],
  ['lists nothing of an invoice that was not completed', false],
])('a payment that turns out not to be made %s', async (_what, isCompleted) => {
  const terminal = await world.terminal();
  const { oid, qr } = await invoiceOf();
  const id = await decided(terminal.id, () => world.pay(terminal.id, 10, oid), 'done', { operationId: '000077', rrn: '77' });
  if (isCompleted) await payAt(terminal.id, oid);
  await isBack(terminal.id, denies);
  await resolve(id, 'refused');
  const listed = [`The invoice ${oid} stays Payed although its card payment was not made.`];
  expect(await remainsOf(id)).toEqual(isCompleted ? listed : []);
  expect(await stateOf(qr)).toBe(isCompleted ? states.paid : states.newItem);
});

it.each<[string, (oid: string) => Promise<unknown>]>([
  [
    'Cancelled',
    async (oid) => {
      const named = { merchantId: world.merchantId, deviceId: world.random.uuid(), documentNr: oid, operationId: 'none' };
      const withdraw = world.cards.cancelTransaction({ ...named, token: '', amountBani: 1_000, isForInvoices: true });
      expect((await world.run(withdraw)).code).toBe(0);
    },
  ],
  ['Expired', async () => world.clock.advance(60 * 60_000)],
  ['Payed by another payment', payAtTill],
])('a payment that was made after all lists that its invoice is %s', async (state, end) => {
  const terminal = await world.terminal();
  const validTo = new Date(world.clock.now() + 80 * 60_000).toISOString();
  const { oid } = await world.meanwhile(world.life.invoices.create({ merchantId: world.merchantId, receipt: receipt(), validTo }));
  const id = await decided(terminal.id, () => world.pay(terminal.id, 10, oid), 'refused');
  await end(oid);
  await world.clock.advance(60_000);
  await isBack(terminal.id);
  expect(await find(id)).toMatchObject({ state: 'disputed' });
  await resolve(id, 'done');
  expect(await remainsOf(id)).toEqual([`The invoice ${oid} stays ${state} although its card payment was made.`]);
  expect(await paidTwice()).toEqual(end === payAtTill ? [{ oid, reason: 'paid-by-card-too' }] : []);
});

it('a payment that an operator called done, and of which the terminal reports another amount, is flagged with both amounts, once', async () => {
  const terminal = await world.terminal();
  const id = await decided(terminal.id, () => world.pay(terminal.id, 10, world.random.uuid()), 'done', { operationId: '000001', rrn: '1' });
  const chargesMore = (answer: AnswerMessage): AnswerMessage =>
    isRecalled(answer)
      ? { ...answer, report: { ...answer.report, report: { ...(answer.report?.['report'] as object), amount: 15 } } }
      : answer;
  await isBack(terminal.id, chargesMore);
  const flagged = await find(id);
  expect(flagged).toMatchObject({
    state: 'done',
    reviewedAtMs: null,
    reviewReason: expect.stringContaining('15 instead of 10.00') as string,
  });
  await resolve(id, 'done');
  await world.meanwhile(world.ledger.askDevice(flagged as NonNullable<typeof flagged>, 'ana'));
  expect(await find(id)).toMatchObject({ state: 'done', reviewedAtMs: expect.any(Number) as number });
});

it('an unnamed request that waited for a dispute, as its answer says, gets the outcome that it lacks and does nothing twice', async () => {
  const register = await world.register();
  const gone = { received: Promise.resolve(false), hasLeft: () => false, onLeft() {} };
  const out = (recipient?: typeof gone) =>
    world.fiscal.cashOut({ merchantId: world.merchantId, deviceId: register.id, amountBani: 500, hashRequest: () => 'out', recipient });
  expect((await world.run(world.fiscal.cashIn({ merchantId: world.merchantId, deviceId: register.id, amountBani: 5_000 }))).code).toBe(0);
  const first = await decided(register.id, () => out(), 'refused');
  // Another one of the same amount, whose caller does not receive the answer; then the register says that it did the first.
  await isBack(register.id, (answer) => (isRecalled(answer) ? { ...answer, report: { state: 'final', outcome: 'refused' } } : answer));
  await world.ledger.find(first);
  await world.database.queries.updateTable('commands').set({ outcome_received_at: world.clock.now() }).where('id', '=', first).execute();
  world.onAnswer = asItIs;
  expect((await world.run(out(gone))).code).toBe(0);
  await world.meanwhile(world.ledger.askDevice((await find(first)) as NonNullable<Awaited<ReturnType<typeof find>>>, 'ana'));
  expect(await find(first)).toMatchObject({ state: 'disputed' });
  expect((await world.run(out())).code).toBe(31);
  await world.clock.advance(20 * 60_000);
  await resolve(first, 'refused');
  const documents = register.fiscalMemory().documents().length;
  await world.run(out());
  expect(register.fiscalMemory().documents()).toHaveLength(documents);
});
