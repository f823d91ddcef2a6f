// An operator decided wrongly, in either direction, and the device contradicts later [D143]: nothing is charged or printed a second time
// because of it, callers get 3 until the dispute is resolved, and the resolution has all effects of done or of refused.
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

const receipt = { Uid: 'u-1', Items: [{ Name: 'Goods', Quantity: 1, Price: 10 }], Payments: [{ PaymentCode: 0, Amount: 10 }] };
const decide = (id: string, state: 'done' | 'refused', closesReview = false) =>
  world.meanwhile(world.ledger.decide(id, { state, reason: 'It is said so.', actor: 'ana', closesReview }));
const ask = async (id: string) => {
  const command = await world.ledger.find(id);
  if (command) await world.meanwhile(world.ledger.askDevice(command, 'ana'));
};
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

const nothingOfIt = (answer: AnswerMessage) => (answer.report?.['state'] === undefined ? answer : undefined);

describe.each([
  ['a payment', 'under its documentNr'],
  ['a receipt', 'under its Uid'],
])('%s that was called refused and was made', (what, under) => {
  async function contradicted() {
    const device = what === 'a payment' ? await world.terminal() : await world.register();
    const documentNr = world.random.uuid();
    const begin = () =>
      what === 'a payment'
        ? world.pay(device.id, 50, documentNr)
        : world.fiscal.printReceipt({ merchantId: world.merchantId, deviceId: device.id, receipt });
    const id = await decideWhileAway(device.id, begin, 'refused');
    const deeds = () => (what === 'a payment' ? device.bank.charges() : device.fiscalMemory().documents()).length;
    return { id, begin, deeds };
  }

  it(`is not made again ${under} while it is disputed, and no caller gets that it was refused`, async () => {
    const { id, begin, deeds } = await contradicted();
    expect((await world.ledger.listReview(10)).map((command) => command.id)).toEqual([id]);
    expect(await world.run(begin())).toMatchObject({
      code: 3,
      oid: id,
      message: expect.stringContaining('an operator of the gateway has to resolve it'),
    });
    expect(await statusOf({ oid: id })).toMatchObject({ code: 3, oid: id });
    expect(deeds()).toBe(1);
  });

  it(`is not made again ${under} when it is resolved as executed: every question gets that it was done`, async () => {
    const { id, begin, deeds } = await contradicted();
    expect(await decide(id, 'done', true)).toMatchObject({ state: 'done', settledBy: 'person' });
    expect(await world.ledger.listReview(10)).toEqual([]);
    const known = what === 'a payment' ? { operationId: expect.any(String), rrn: expect.any(String) } : { receiptId: expect.any(String) };
    expect(await world.run(begin())).toMatchObject({ code: 0, oid: id, report: known });
    expect(await statusOf({ oid: id })).toMatchObject({ code: 0, oid: id });
    expect(deeds()).toBe(1);
  });

  it(`is made again ${under} when it is resolved as not executed`, async () => {
    const { id, begin, deeds } = await contradicted();
    await decide(id, 'refused', true);
    expect(await statusOf({ oid: id })).toMatchObject({ code: 50 });
    expect((await world.run(begin())).code).toBe(0);
    expect(deeds()).toBe(2);
  });
});

it('what is settled, and what a person has reviewed already, is refused with that state and nothing more', async () => {
  const terminal = await world.terminal();
  expect((await world.run(world.pay(terminal.id, 10))).code).toBe(0);
  const { id: done } = await world.lastCommand('Pay');
  await expect(decide(done, 'refused')).rejects.toThrow(isNewCore ? /settled already\.$/ : /settled already: done by answer\.$/);
  await world.stop();
  world = await createSaleWorld();
  const other = await world.terminal();
  const id = await decideWhileAway(other.id, () => world.pay(other.id, 50, world.random.uuid()), 'refused');
  await decide(id, 'done', true);
  await expect(decide(id, 'refused')).rejects.toThrow(isNewCore ? /settled already\.$/ : /settled already: done by person\.$/);
});

it('a decision from a stale page, which shows it as open, closes no contradiction that the operator has not seen', async () => {
  const terminal = await world.terminal();
  const documentNr = world.random.uuid();
  const id = await decideWhileAway(terminal.id, () => world.pay(terminal.id, 50, documentNr), 'refused');
  await expect(decide(id, 'refused')).rejects.toThrow('check the command again');
  expect((await world.run(world.pay(terminal.id, 50, documentNr))).code).toBe(3);
});

it('a key of what never began, as its device said first, is not free once the device says that it did begin', async () => {
  const terminal = await world.terminal();
  const idempotency = { key: 'k', requestHash: 'h' };
  const pay = () => world.cards.pay({ merchantId: world.merchantId, deviceId: terminal.id, amountBani: 1_000, idempotency });
  world.onAnswer = () => undefined;
  expect((await world.run(pay())).code).toBe(3);
  world.onAnswer = (answer) => (answer.report?.['state'] === undefined ? answer : { ...answer, report: { state: 'never' } });
  await world.clock.advance(60_000);
  const { id } = await world.lastCommand('Pay');
  expect(await world.ledger.find(id)).toMatchObject({ state: 'never' });
  world.onAnswer = (answer) => answer;
  await ask(id);
  expect(await world.run(pay())).toMatchObject({ code: 3, oid: id });
  expect(terminal.bank.charges()).toHaveLength(1);
});

it('a refund that was called refused and was made counts as made: the rest is all that can be returned', async () => {
  const terminal = await world.terminal();
  const documentNr = world.random.uuid();
  const paid = await world.run(world.pay(terminal.id, 10, documentNr));
  const named = {
    merchantId: world.merchantId,
    deviceId: terminal.id,
    documentNr,
    operationId: String(paid.report?.['operationId']),
    rrn: String(paid.report?.['rrn']),
  };
  await world.run(world.cards.closeDoc(named));
  const refund = (amountBani: number) => world.cards.refund({ ...named, amountBani, currency: undefined });
  const id = await decideWhileAway(terminal.id, () => refund(600), 'refused');
  expect((await world.run(refund(400))).code).toBe(3);
  await decide(id, 'done', true);
  expect((await world.run(refund(500))).code).toBe(40);
  expect((await world.run(refund(400))).code).toBe(0);
  expect(terminal.bank.netBani()).toBe(0);
});

it('a void that was called refused and was made counts as made: nothing more is returned', async () => {
  const terminal = await world.terminal();
  const documentNr = world.random.uuid();
  const { report: { operationId, rrn, token } = {} } = await world.run(world.pay(terminal.id, 10, documentNr));
  const named = { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId: String(operationId) };
  await world.run(world.cards.closeDoc(named));
  const cancel = () => world.cards.cancelTransaction({ ...named, amountBani: 1_000, token: String(token) });
  const id = await decideWhileAway(terminal.id, cancel, 'refused');
  expect(terminal.bank.netBani()).toBe(0);
  expect((await world.run(cancel())).code).toBe(3);
  await decide(id, 'done', true);
  expect((await world.run(world.cards.refund({ ...named, rrn: String(rrn), amountBani: 100, currency: undefined }))).code).toBe(22);
  const again = { key: 'again', requestHash: 'again' };
  expect(
    (await world.run(world.cards.cancelTransaction({ ...named, amountBani: 1_000, token: String(token), idempotency: again }))).code,
  ).toBe(22);
  expect(terminal.bank.netBani()).toBe(0);
});

it('an unnamed payment equal to a disputed one is 31 and charges nothing, however often it is sent, and never inherits the outcome', async () => {
  const terminal = await world.terminal();
  const pay = () => {
    const call = world.cards.pay({ merchantId: world.merchantId, deviceId: terminal.id, amountBani: 1_000, hashRequest: () => 'h' });
    call.catch(() => {});
    return call;
  };
  const id = await decideWhileAway(terminal.id, pay, 'refused');
  for (let times = 0; times < 3; times += 1) {
    expect(await world.run(pay())).toMatchObject({ code: 31, oid: id });
    await world.clock.advance(1_000);
    expect(await statusOf({ oid: id })).toMatchObject({ code: 3 });
    await world.clock.advance(1_000);
  }
  expect(terminal.bank.charges()).toHaveLength(1);
  await decide(id, 'done', true);
  const { operationId } = (await statusOf({ oid: id })).report ?? {};
  const call = { merchantId: world.merchantId, deviceId: terminal.id };
  await world.run(world.cards.closeDoc({ ...call, documentNr: 'any', operationId: String(operationId) }));
  expect(await world.run(pay())).toMatchObject({ code: 0, isRepeated: false, oid: expect.not.stringMatching(id) });
  expect(terminal.bank.charges()).toHaveLength(2);
});

it('an abort does not answer 0 for a payment that was called refused and was made', async () => {
  const terminal = await world.terminal();
  const documentNr = world.random.uuid();
  const abort = () =>
    world.cards.cancelTransaction({
      merchantId: world.merchantId,
      deviceId: terminal.id,
      documentNr,
      operationId: '',
      token: '',
      amountBani: 1_061,
      idempotency: { key: 'abort', requestHash: 'h' },
    });
  // .61: the customer takes his time, so that there is something to stop; neither answer arrives.
  world.onAnswer = () => undefined;
  const paying = world.pay(terminal.id, 10.61, documentNr);
  await world.clock.advance(500);
  expect((await world.run(abort())).code).toBe(3);
  await world.run(paying);
  const { id, state } = await world.lastCommand('Pay');
  expect(state).toBe('unknown');
  await world.database.queries.updateTable('commands').set({ abort_requested_at: world.clock.now() }).execute();
  world.setAway(terminal.id, true);
  await world.clock.advance(20 * 60_000);
  await decide(id, 'refused');
  await world.database.queries
    .updateTable('commands')
    .set({ state: 'disputed', standing: 'Disputed', disputed_from: 'refused', review_since: 1, review_reason: 'why', reviewed_at: null })
    .execute();
  expect(await world.run(abort())).toMatchObject({
    code: 3,
    oid: id,
    message: expect.stringContaining('an operator of the gateway has to resolve it'),
  });
});

it('a register that is executing it when it is back keeps the receipt from being printed elsewhere', async () => {
  const register = await world.register({ timing: { newRollMs: 60 * 60_000 } });
  const other = await world.register();
  const sale = { ...receipt, Items: [{ Name: 'Coat', Quantity: 1, Price: 100.93 }], Payments: [{ PaymentCode: 1, Amount: 100.93 }] };
  const print = (deviceId: string) => world.fiscal.printReceipt({ merchantId: world.merchantId, deviceId, receipt: sale });
  const id = await decideWhileAway(register.id, () => print(register.id), 'refused');
  expect(await world.ledger.find(id)).toMatchObject({
    state: 'disputed',
    reviewReason: expect.stringContaining('carrying the command out'),
  });
  expect((await world.run(print(other.id))).code).toBe(3);
  await world.clock.advance(60 * 60_000);
  expect([register, other].map((each) => each.fiscalMemory().documents().length)).toEqual([1, 0]);
});

it('the status by a documentNr is that of the try that was made after all, not that of a later one that was refused', async () => {
  const terminal = await world.terminal();
  const other = await world.terminal();
  const documentNr = world.random.uuid();
  const id = await decideWhileAway(terminal.id, () => world.pay(terminal.id, 50, documentNr), 'refused', nothingOfIt);
  world.onAnswer = ({ report, ...answer }) =>
    answer.outcome === 'done' ? { ...answer, outcome: 'refused' } : { ...answer, ...(report && { report }) };
  expect((await world.run(world.pay(other.id, 50, documentNr))).code).toBe(50);
  world.onAnswer = (answer) => answer;
  await ask(id);
  expect(await statusOf({ documentNr })).toMatchObject({ code: 3, oid: id });
});

it('a payment that was called done without its numbers is Closed, and gets them from its terminal, once', async () => {
  const terminal = await world.terminal();
  const documentNr = world.random.uuid();
  const id = await decideWhileAway(terminal.id, () => world.pay(terminal.id, 10, documentNr), 'done', nothingOfIt);
  expect(await world.ledger.find(id)).toMatchObject({ state: 'done', operationId: null, rrn: null, documentState: 'closed' });
  world.onAnswer = (answer) => answer;
  await ask(id);
  const [{ entry } = { entry: undefined }] = terminal.bank.charges();
  const known = { state: 'done', settledBy: 'person', outcome: 'done', operationId: entry?.operationId, rrn: entry?.rrn };
  expect(await world.ledger.find(id)).toMatchObject(known);
  const repeat = await world.run(world.pay(terminal.id, 10, documentNr));
  expect(repeat).toMatchObject({ code: 22, state: 'Closed', report: { operationId: entry?.operationId, rrn: entry?.rrn } });
  const operationId = String(entry?.operationId);
  expect(
    (await world.run(world.cards.closeDoc({ merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId }))).code,
  ).toBe(0);
  // What a device has told stands: another number is a second charge.
  world.onAnswer = (answer) => {
    const changed = structuredClone(answer);
    const inner = changed.report?.['report'] as Record<string, unknown> | undefined;
    if (inner) inner['operationId'] = '777777';
    return changed;
  };
  await ask(id);
  expect(await world.ledger.find(id)).toMatchObject({ ...known, reviewReason: expect.stringContaining('777777') });
});

it('a receipt whose card was charged is not settled as refused while its register waits for paper', async () => {
  const register = await world.register({ timing: { newRollMs: 20 * 60_000 } });
  const other = await world.register();
  // .73: the bank says yes, then the paper is out.
  const sale = { ...receipt, Items: [{ Name: 'Coat', Quantity: 1, Price: 100.93 }], Payments: [{ PaymentCode: 1, Amount: 100.93 }] };
  const print = (deviceId: string) => world.fiscal.printReceipt({ merchantId: world.merchantId, deviceId, receipt: sale });
  expect((await world.run(print(register.id))).code).toBe(3);
  await world.clock.advance(2 * 60_000 + 1_000);
  const { id } = await world.lastCommand('PrintReceipt');
  await expect(decide(id, 'refused')).rejects.toThrow('The device says that it is still carrying the command out');
  expect((await world.run(print(other.id), 10 * 60_000)).code).toBe(3);
  await world.clock.advance(20 * 60_000);
  expect(await world.ledger.find(id)).toMatchObject({ state: 'done' });
  expect([register, other].map((each) => each.fiscalMemory().documents().length)).toEqual([1, 0]);
});

it('a receipt of a card payment that was called refused and was printed is not printed again under another Uid', async () => {
  const [terminal, register] = [await world.terminal(), await world.register()];
  const documentNr = world.random.uuid();
  expect((await world.run(world.pay(terminal.id, 10, documentNr))).code).toBe(0);
  const printOf = (Uid: string) => ({ ...receipt, Uid, Payments: [{ PaymentCode: 1, documentNr }] });
  const print = (Uid: string) => world.fiscal.printReceipt({ merchantId: world.merchantId, deviceId: register.id, receipt: printOf(Uid) });
  const id = await decideWhileAway(register.id, () => print('one'), 'refused', nothingOfIt);
  expect(await world.run(print('two'))).toMatchObject({ code: 3, oid: undefined });
  world.onAnswer = (answer) => answer;
  expect(await world.run(print('two'))).toMatchObject({ code: 3, oid: id, state: 'Disputed' });
  expect(register.fiscalMemory().documents()).toHaveLength(1);
  await decide(id, 'refused', true);
  expect((await world.run(print('two'))).code).toBe(0);
});
