// How a dispute is resolved, in both directions [D143]: as executed with all effects of done, as not executed with all effects of refused.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { operationStatus } from '../../src/ledger/operation-status.ts';
import type { AnswerMessage } from '../../src/link/wire-schemas.ts';
import { isNewCore } from '../support/core.ts';
import { createSaleWorld } from '../support/sale-world.ts';

let world: Awaited<ReturnType<typeof createSaleWorld>>;
beforeEach(async () => {
  world = await createSaleWorld();
});
afterEach(() => world.stop());

const decide = (id: string, state: 'done' | 'refused', closesReview = false) =>
  world.meanwhile(world.ledger.decide(id, { state, reason: 'It is said so.', actor: 'ana', closesReview }));
const statusOf = (names: { oid: string } | { documentNr: string }) =>
  world.told(operationStatus(world.life, { merchantId: world.merchantId, modules: new Set(['POS', 'Fiscal'] as const), ...names }));

/** Charged or printed, with the answer lost and the device away; a person decides, and the device is back. */
async function decideWhileAway(
  deviceId: string,
  begin: () => ReturnType<typeof world.pay>,
  state: 'done' | 'refused',
  onReturn: (answer: AnswerMessage) => AnswerMessage | undefined = (answer) => answer,
) {
  world.onAnswer = () => undefined;
  expect((await world.run(begin())).code).toBe(3);
  world.setAway(deviceId, true);
  await world.clock.advance(20 * 60_000);
  const { id } = await world.lastCommand();
  await decide(id, state);
  world.onAnswer = onReturn;
  world.setAway(deviceId, false);
  await world.clock.advance(60_000);
  return id;
}

/** A payment with its numbers, its document closed or not. */
async function paidOn(deviceId: string, isClosed: boolean) {
  const documentNr = world.random.uuid();
  const { oid, report } = await world.run(world.pay(deviceId, 10, documentNr));
  const named = { merchantId: world.merchantId, deviceId, documentNr, operationId: String(report?.['operationId']) };
  if (isClosed) await world.run(world.cards.closeDoc(named));
  return { id: String(oid), named, token: String(report?.['token']), rrn: String(report?.['rrn']) };
}
const find = async (id: string) => await world.ledger.find(id);
const stepsOf = async (id: string) => {
  await world.clock.advance(10_000);
  const rows = await world.database.queries.selectFrom('command_events').select('step').where('command_id', '=', id).execute();
  return rows.map(({ step }) => step);
};

describe('a CloseDoc', () => {
  it('that was settled as refused and was made closes the document when the terminal reports it: the terminal is free', async () => {
    const terminal = await world.terminal();
    const { id, named } = await paidOn(terminal.id, false);
    await decideWhileAway(terminal.id, () => world.cards.closeDoc(named), 'refused');
    expect(await world.lastCommand('CloseDoc')).toMatchObject({ state: 'done', disputedFrom: null });
    expect(await find(id)).toMatchObject({ documentState: 'closed' });
    expect((await world.run(world.pay(terminal.id, 5))).code).toBe(0);
  });

  it('that was settled as done and was not made opens the document again when it is resolved so', async () => {
    const terminal = await world.terminal();
    const { id, named } = await paidOn(terminal.id, false);
    const no = (answer: AnswerMessage) => (answer.report?.['state'] === undefined ? answer : { ...answer, report: { state: 'never' } });
    const close = await decideWhileAway(terminal.id, () => world.cards.closeDoc(named), 'done', no);
    expect(await find(close)).toMatchObject({ state: 'disputed', disputedFrom: 'done' });
    expect(await world.run(world.cards.closeDoc(named))).toMatchObject({ code: 3, oid: close, state: 'Disputed' });
    await decide(close, 'refused', true);
    expect(await find(id)).toMatchObject({ documentState: 'open' });
    world.onAnswer = (answer) => answer;
    expect((await world.run(world.cards.closeDoc(named))).code).toBe(0);
    expect(await find(id)).toMatchObject({ documentState: 'closed' });
  });
});

describe('a void', () => {
  const voidOf = ({ named, token }: Awaited<ReturnType<typeof paidOn>>) =>
    world.cards.cancelTransaction({ ...named, amountBani: 1_000, token });

  it('that was settled as refused and was made voids the payment when it is resolved as executed', async () => {
    const terminal = await world.terminal();
    const sale = await paidOn(terminal.id, true);
    const id = await decideWhileAway(terminal.id, () => voidOf(sale), 'refused');
    expect(await statusOf({ oid: sale.id })).toMatchObject({ code: 3, state: 'Disputed' });
    await decide(id, 'done', true);
    expect(await find(sale.id)).toMatchObject({ documentState: 'voided' });
    expect(await statusOf({ oid: sale.id })).toMatchObject({ code: 22, state: 'Voided' });
  });

  it('that was settled as done and was not made restores the payment when it is resolved so', async () => {
    const terminal = await world.terminal();
    const sale = await paidOn(terminal.id, true);
    const no = (answer: AnswerMessage) => (answer.report?.['state'] === undefined ? answer : { ...answer, report: { state: 'never' } });
    const printed = { payment_id: sale.id, print_id: world.random.uuid(), amount_bani: 1_000, voided_at: null };
    await world.database.queries.insertInto('receipt_payments').values(printed).execute();
    const id = await decideWhileAway(terminal.id, () => voidOf(sale), 'done', no);
    expect(await statusOf({ oid: sale.id })).toMatchObject({ code: 3 });
    await decide(id, 'refused', true);
    // Attention lists no payment that stands on a receipt and was not voided after all.
    expect(await world.database.queries.selectFrom('receipt_payments').selectAll().execute()).toEqual([printed]);
    expect(await find(sale.id)).toMatchObject({ documentState: 'closed' });
    expect(await statusOf({ oid: sale.id })).toMatchObject({ code: 0, state: 'Closed' });
    // Its CloseDoc was made before the void: nothing remains to be said.
    expect(await stepsOf(id)).not.toContain('not undone');
  });

  it('of a payment whose terminal has started another closes its document, and the timeline lists what could not be undone', async () => {
    const terminal = await world.terminal();
    const sale = await paidOn(terminal.id, false);
    const no = (answer: AnswerMessage) => (answer.report?.['state'] === undefined ? answer : { ...answer, report: { state: 'never' } });
    const id = await decideWhileAway(terminal.id, () => voidOf(sale), 'done', no);
    world.onAnswer = (answer) => answer;
    await paidOn(terminal.id, true);
    await decide(id, 'refused', true);
    expect(await find(sale.id)).toMatchObject({ documentState: 'closed' });
    expect(await stepsOf(id)).toContain('not undone');
  });
});

it('a payment that was settled as done and was not made frees its terminal at once, and its number when it is resolved so', async () => {
  const terminal = await world.terminal();
  const documentNr = world.random.uuid();
  const never = (answer: AnswerMessage) => (answer.report?.['state'] === undefined ? answer : { ...answer, report: { state: 'never' } });
  const id = await decideWhileAway(terminal.id, () => world.pay(terminal.id, 10.61, documentNr), 'done', never);
  expect(await find(id)).toMatchObject({ state: 'disputed', documentState: isNewCore ? null : 'closed' });
  world.onAnswer = (answer) => answer;
  expect((await world.run(world.pay(terminal.id, 5, world.random.uuid()))).code).toBe(0);
  expect((await world.run(world.pay(terminal.id, 10.61, documentNr))).code).toBe(3);
  await decide(id, 'refused', true);
  const refused = await statusOf({ oid: id });
  expect(refused).toMatchObject({ code: 50, state: 'Refused' });
  // What the operator had reported instead of the device is no report of a refusal.
  expect(refused.report).toBeUndefined();
});

it.each([
  ['CloseDoc', 'after'],
  ['CloseDoc', 'before'],
  ['CancelTransaction', 'after'],
  ['CancelTransaction', 'before'],
] as const)(
  'a payment that is denied while its %s is under way, and resolved as executed %s that has ended, has its document as that leaves it',
  async (follower, when) => {
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    world.onAnswer = () => undefined;
    expect((await world.run(world.pay(terminal.id, 10, documentNr))).code).toBe(3);
    world.setAway(terminal.id, true);
    await world.clock.advance(20 * 60_000);
    const { id } = await world.lastCommand();
    const { operationId, rrn, token } = terminal.bank.charges()[0]?.entry ?? { operationId: '', rrn: '', token: '' };
    await world.meanwhile(world.ledger.decide(id, { state: 'done', reason: 'In the list.', actor: 'ana', operationId, rrn }));
    const isRecall = (answer: AnswerMessage) => answer.report?.['state'] !== undefined;
    world.onAnswer = (answer) => (isRecall(answer) ? undefined : answer);
    world.setAway(terminal.id, false);
    await world.clock.advance(60_000);
    const named = { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId };
    const following = world.told(
      follower === 'CloseDoc' ? world.cards.closeDoc(named) : world.cards.cancelTransaction({ ...named, amountBani: 1_000, token }),
    );
    world.onAnswer = (answer) => (isRecall(answer) ? { ...answer, report: { state: 'never' } } : answer);
    await world.clock.advance(10);
    const [payment] = await world.commands();
    await world.meanwhile(world.ledger.askDevice(payment as NonNullable<typeof payment>, 'ana'));
    expect((await world.commands()).map(({ state }) => state)).toEqual(['disputed', 'sent']);
    if (when === 'before') {
      await decide(id, 'done', true);
      expect(await find(id)).toMatchObject({ state: 'done', documentState: 'open' });
    }
    await world.clock.advance(10_000);
    expect((await following).code).toBe(0);
    if (when === 'after') await decide(id, 'done', true);
    expect(await find(id)).toMatchObject({ state: 'done', documentState: follower === 'CloseDoc' ? 'closed' : 'voided' });
    world.onAnswer = (answer) => answer;
    expect((await world.run(world.pay(terminal.id, 5))).code).toBe(0);
  },
);

it('a payment that is resolved as executed while another one runs on its terminal opens no document', async () => {
  const terminal = await world.terminal();
  const id = await decideWhileAway(terminal.id, () => world.pay(terminal.id, 10, world.random.uuid()), 'refused');
  const running = world.told(world.pay(terminal.id, 5, world.random.uuid()));
  await world.clock.advance(10);
  await decide(id, 'done', true);
  expect(await find(id)).toMatchObject({ state: 'done', documentState: 'closed' });
  await world.clock.advance(60_000);
  expect(await running).toMatchObject({ code: 0, state: 'Done' });
});

it('a payment whose bank day was closed while it was disputed is resolved as executed into that day: no document, no refund', async () => {
  const terminal = await world.terminal();
  const documentNr = world.random.uuid();
  const id = await decideWhileAway(terminal.id, () => world.pay(terminal.id, 10, documentNr), 'refused');
  expect(await find(id)).toMatchObject({ state: 'disputed' });
  expect((await world.run(world.cards.closeDay({ merchantId: world.merchantId, deviceId: terminal.id }))).code).toBe(0);
  await decide(id, 'done', true);
  const payment = await find(id);
  expect(payment).toMatchObject({ state: 'done', documentState: 'closed' });
  expect(await isOfClosedDay(id)).toBe(true);
  const named = { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId: String(payment?.operationId) };
  const refund = world.cards.refund({ ...named, rrn: String(payment?.rrn), amountBani: 1_000, currency: undefined });
  expect(await world.run(refund)).toMatchObject({ code: 22, message: expect.stringContaining('use CancelTransaction') as string });
  expect((await world.run(world.pay(terminal.id, 5))).code).toBe(0);
});

it('a payment that is disputed cannot be cancelled as if it had ended: its caller is answered 3 with its OID', async () => {
  const terminal = await world.terminal();
  const documentNr = world.random.uuid();
  const id = await decideWhileAway(terminal.id, () => world.pay(terminal.id, 10, documentNr), 'refused');
  const named = { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId: 'none', token: 'none' };
  const cancelled = await world.run(world.cards.cancelTransaction({ ...named, amountBani: 1_000 }));
  expect(cancelled).toMatchObject({ code: 3, oid: id, state: 'Disputed' });
});

/** The new core compares the device's counter [D307]. */
async function isOfClosedDay(id: string): Promise<boolean> {
  const row = await world.database.queries
    .selectFrom('commands')
    .innerJoin('device_locks', 'device_locks.device_id', 'commands.device_id')
    .select(['bank_day_closed_at', 'commands.sequence', 'closes'])
    .where('commands.id', '=', id)
    .executeTakeFirstOrThrow();
  const closes = JSON.parse(row.closes) as { sequence: number }[];
  return isNewCore ? closes.some(({ sequence }) => sequence > (row.sequence ?? 0)) : row.bank_day_closed_at !== null;
}

describe('a close of the bank day that was settled as done and was not made', () => {
  const never = (answer: AnswerMessage) => (answer.report?.['state'] === undefined ? answer : { ...answer, report: { state: 'never' } });
  const closeDay = (deviceId: string) => world.cards.closeDay({ merchantId: world.merchantId, deviceId });

  it('reopens only the payments of that day when it is resolved so', async () => {
    const terminal = await world.terminal();
    const before = await paidOn(terminal.id, true);
    expect((await world.run(closeDay(terminal.id))).code).toBe(0);
    const { id: paymentId } = await paidOn(terminal.id, true);
    const id = await decideWhileAway(terminal.id, () => closeDay(terminal.id), 'done', never);
    // In the new core a disputed close ends no day.
    expect(await isOfClosedDay(paymentId)).toBe(!isNewCore);
    await decide(id, 'refused', true);
    expect([await isOfClosedDay(before.id), await isOfClosedDay(paymentId)]).toEqual([true, false]);
  });

  it('reopens all of them if it was the first of its terminal', async () => {
    const terminal = await world.terminal();
    const { id: paymentId } = await paidOn(terminal.id, true);
    const id = await decideWhileAway(terminal.id, () => closeDay(terminal.id), 'done', never);
    await decide(id, 'refused', true);
    expect(await isOfClosedDay(paymentId)).toBe(false);
  });

  it('reopens none that a later close contains', async () => {
    const terminal = await world.terminal();
    const { id: paymentId } = await paidOn(terminal.id, true);
    const id = await decideWhileAway(terminal.id, () => closeDay(terminal.id), 'done', never);
    world.onAnswer = (answer) => answer;
    await paidOn(terminal.id, true);
    expect((await world.run(closeDay(terminal.id))).code).toBe(0);
    await decide(id, 'refused', true);
    expect(await isOfClosedDay(paymentId)).toBe(true);
  });
});

it('a refund that was settled as done and was not made restores its amount when it is resolved so', async () => {
  const terminal = await world.terminal();
  const { id: paymentId, named, rrn } = await paidOn(terminal.id, true);
  const refund = (amountBani: number, key?: string) =>
    world.cards.refund({ ...named, rrn, amountBani, currency: undefined, idempotency: key ? { key, requestHash: key } : undefined });
  const never = (answer: AnswerMessage) => (answer.report?.['state'] === undefined ? answer : { ...answer, report: { state: 'never' } });
  const id = await decideWhileAway(terminal.id, () => refund(1_000), 'done', never);
  await decide(id, 'refused', true);
  world.onAnswer = (answer) => answer;
  expect(await statusOf({ oid: paymentId })).toMatchObject({ code: 0, state: 'Closed' });
  expect((await world.run(refund(1_000, 'again'))).code).toBe(50);
});

it('a payment that was settled as done with its numbers keeps them when the device denies it and it is resolved as executed', async () => {
  const terminal = await world.terminal();
  const never = (answer: AnswerMessage) => (answer.report?.['state'] === undefined ? answer : { ...answer, report: { state: 'never' } });
  world.onAnswer = () => undefined;
  expect((await world.run(world.pay(terminal.id, 10))).code).toBe(3);
  world.setAway(terminal.id, true);
  await world.clock.advance(20 * 60_000);
  const { id } = await world.lastCommand();
  const numbers = { operationId: '000001', rrn: '9' };
  await world.meanwhile(world.ledger.decide(id, { state: 'done', reason: 'In the list.', actor: 'ana', ...numbers }));
  world.onAnswer = never;
  world.setAway(terminal.id, false);
  await world.clock.advance(60_000);
  expect(await find(id)).toMatchObject({ state: 'disputed' });
  await decide(id, 'done', true);
  expect(await statusOf({ oid: id })).toMatchObject({ code: 0, report: numbers });
});

it('the numbers that the device reported are not replaced by others of an operator; the refusal names them', async () => {
  const terminal = await world.terminal();
  const id = await decideWhileAway(terminal.id, () => world.pay(terminal.id, 10), 'refused');
  const reported = await find(id);
  expect(reported).toMatchObject({ state: 'disputed', outcome: 'done', operationId: expect.any(String), rrn: expect.any(String) });
  const resolved = (numbers: object, state: 'done' | 'refused' = 'done') =>
    world.meanwhile(world.ledger.decide(id, { state, reason: 'In the list.', actor: 'ana', closesReview: true, ...numbers }));
  await expect(resolved({ operationId: 'other' })).rejects.toThrow(`The device reported operationId ${reported?.operationId};`);
  await expect(resolved({ operationId: 'other' }, 'refused')).rejects.toThrow('The device reported operationId');
  await expect(resolved({ rrn: 'other' })).rejects.toThrow(`The device reported rrn ${reported?.rrn};`);
  expect(await find(id)).toEqual(reported);
  const { operationId, rrn } = reported as { operationId: string; rrn: string };
  expect(await resolved({ operationId, rrn })).toMatchObject({ state: 'done', operationId, rrn });
});

describe('completion notices', () => {
  it('of a cash movement that was settled as refused and was made end with Completed once the dispute is resolved', async () => {
    const register = await world.register();
    const callbackUri = 'https://erp.example/?oid=#OID#&state=#State#';
    const cashIn = () =>
      world.fiscal.cashIn({ merchantId: world.merchantId, deviceId: register.id, amountBani: 500, callbackUri, hashRequest: () => 'in' });
    const id = await decideWhileAway(register.id, cashIn, 'refused');
    expect(await find(id)).toMatchObject({ state: 'disputed' });
    expect((await world.run(cashIn())).code).toBe(31);
    await decide(id, 'done', true);
    await world.clock.advance(10_000);
    const states = world.callbackUrls.filter((url) => url.includes(id)).map((url) => new URL(url).searchParams.get('state'));
    expect(states).toEqual(['Unknown', 'Refused', 'Unknown', 'Completed']);
    expect(register.fiscalMemory().documents()).toHaveLength(1);
  });

  it('of a print carry the id of the receipt only with Completed, as the answers do', async () => {
    const register = await world.register();
    const callbackUri = 'https://erp.example/?oid=#OID#&state=#State#&receipt=#ReceiptID#';
    const receipt = { Uid: 'r-1', Items: [{ Name: 'Goods', Quantity: 1, Price: 10 }], Payments: [{ PaymentCode: 0 }] };
    const print = () => world.fiscal.printReceipt({ merchantId: world.merchantId, deviceId: register.id, receipt, callbackUri });
    const id = await decideWhileAway(register.id, print, 'refused');
    expect(await find(id)).toMatchObject({ state: 'disputed', outcome: 'done' });
    await decide(id, 'refused', true);
    await world.clock.advance(10_000);
    const notices = world.callbackUrls.filter((url) => url.includes(id)).map((url) => new URL(url).searchParams);
    expect(notices.map((notice) => [notice.get('state'), notice.get('receipt')])).toEqual([
      ['Unknown', ''],
      ['Refused', ''],
      ['Unknown', ''],
      ['Refused', ''],
    ]);
  });
});
