// Disputes and refunds beside other operations: a receipt under the same number, an invoice, an equal request without a name.
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { AnswerMessage } from '../../src/link/wire-schemas.ts';
import { createSaleWorld } from '../support/sale-world.ts';

let world: Awaited<ReturnType<typeof createSaleWorld>>;
beforeEach(async () => {
  world = await createSaleWorld();
});
afterEach(() => world.stop());

const isRecalled = (answer: AnswerMessage) => answer.report?.['state'] !== undefined;
const denies = (answer: AnswerMessage): AnswerMessage => (isRecalled(answer) ? { ...answer, report: { state: 'never' } } : answer);
const asItIs = (answer: AnswerMessage): AnswerMessage => answer;
const find = (id: string) => world.ledger.find(id);
const decide = (id: string, state: 'done' | 'refused', closesReview = false) =>
  world.meanwhile(world.ledger.decide(id, { state, reason: 'It is said so.', actor: 'ana', closesReview }));
async function decided(deviceId: string, call: () => ReturnType<typeof world.pay>, state: 'done' | 'refused') {
  world.onAnswer = () => undefined;
  expect((await world.run(call())).code).toBe(3);
  world.setAway(deviceId, true);
  await world.clock.advance(30 * 60_000);
  const { id } = await world.lastCommand();
  await decide(id, state);
  return id;
}
async function isBack(deviceId: string, says: (answer: AnswerMessage) => AnswerMessage | undefined = asItIs) {
  world.onAnswer = says;
  world.setAway(deviceId, false);
  await world.clock.advance(60_000);
}
const receipt = (Uid?: string) => ({
  ...(Uid === undefined ? {} : { Uid }),
  Items: [{ Name: 'Tea', Quantity: 1, Price: 10 }],
  Payments: [{ PaymentCode: 1 }],
});
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
  await decide(id, 'refused', true);
  expect(await world.steps(id)).toContain('not undone');
});

it('an invoice whose card payment was refunded in full can be withdrawn', async () => {
  const terminal = await world.terminal();
  const { oid } = await invoiceOf();
  const { report } = await world.run(world.pay(terminal.id, 10, oid));
  const { operationId, rrn } = report as { operationId: string; rrn: string };
  const named = { merchantId: world.merchantId, deviceId: terminal.id, documentNr: oid, operationId };
  expect((await world.run(world.cards.closeDoc(named))).code).toBe(0);
  expect((await world.run(world.cards.refund({ ...named, rrn, amountBani: 1_000, currency: undefined }))).code).toBe(0);
  const withdraw = world.cards.cancelTransaction({ ...named, operationId: 'none', token: '', amountBani: 1_000 });
  expect(await world.run(withdraw)).toMatchObject({ code: 0 });
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
  await decide(first, 'refused', true);
  const documents = register.fiscalMemory().documents().length;
  await world.run(out());
  expect(register.fiscalMemory().documents()).toHaveLength(documents);
});
