// A person settled something as not done while its device was away, and the device has said nothing since: before the same goes out to it
// again under the same number, it is asked [D129]. The round that asks a device when it is back may get lost, or come second.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AnswerMessage } from '../../src/link/wire-schemas.ts';
import { createSaleWorld } from '../support/sale-world.ts';

let world: Awaited<ReturnType<typeof createSaleWorld>>;
beforeEach(async () => {
  world = await createSaleWorld();
});
afterEach(() => world.stop());

const receipt = { Uid: 'u-1', Items: [{ Name: 'Goods', Quantity: 1, Price: 10 }], Payments: [{ PaymentCode: 0, Amount: 10 }] };
const noJournal = (answer: AnswerMessage) => (answer.report?.['state'] === undefined ? answer : undefined);

/** `begin` is answered 3 with the device away, a person calls it refused, and nothing of what the device is asked on its return arrives. */
async function calledRefused(deviceId: string, begin: () => ReturnType<typeof world.pay>) {
  expect((await world.run(begin())).code).toBe(3);
  world.setAway(deviceId, true);
  await world.clock.advance(20 * 60_000);
  const { id } = await world.lastCommand();
  await world.meanwhile(world.ledger.decide(id, { state: 'refused', reason: 'It is said so.', actor: 'ana' }));
  world.onAnswer = noJournal;
  world.setAway(deviceId, false);
  await world.clock.advance(60_000);
  expect(await world.ledger.find(id)).toMatchObject({ state: 'refused', outcome: null, contradiction: null });
  world.onAnswer = (answer) => answer;
  return id;
}

const lost = () => {
  world.onAnswer = () => undefined;
};
const recallsOf = async (id: string) =>
  (await world.ledger.timelineOf(id)).filter(({ step }) => step === 'recall').reduce((sum, { further }) => sum + (further ?? 1), 0);

describe.each(['a payment', 'a receipt'])('%s that was made, and that a person has called refused', (what) => {
  const isPayment = what === 'a payment';
  async function settled() {
    const device = isPayment ? await world.terminal() : await world.register();
    const documentNr = world.random.uuid();
    const begin = () =>
      isPayment
        ? world.pay(device.id, 50, documentNr)
        : world.fiscal.printReceipt({ merchantId: world.merchantId, deviceId: device.id, receipt });
    lost();
    const id = await calledRefused(device.id, begin);
    return { id, begin, deeds: () => (isPayment ? device.bank.charges() : device.fiscalMemory().documents()).length };
  }

  it('is not executed again: its device is asked first, and the caller is answered 3', async () => {
    const { id, begin, deeds } = await settled();
    expect(await world.run(begin())).toMatchObject({ code: 3, oid: id, message: expect.stringContaining('has to resolve it') });
    expect(deeds()).toBe(1);
  });

  it('is asked about once, however many calls repeat it', async () => {
    const { id, begin, deeds } = await settled();
    const before = await recallsOf(id);
    const told = await Promise.all(Array.from({ length: 10 }, () => world.run(begin())));
    expect(new Set(told.map(({ code }) => code))).toEqual(new Set([3]));
    expect((await recallsOf(id)) - before).toBe(1);
    expect(deeds()).toBe(1);
  });

  it('is not executed again while its device does not answer, and the caller is answered so', async () => {
    const { id, begin, deeds } = await settled();
    world.onAnswer = noJournal;
    // Without the OID of the earlier one, under which he would be told that it was refused.
    expect(await world.run(begin())).toMatchObject({ code: 3, oid: undefined, message: expect.stringContaining('nothing was sent') });
    expect(deeds()).toBe(1);
    world.onAnswer = (answer) => answer;
    expect(await world.run(begin())).toMatchObject({ code: 3, oid: id, message: expect.stringContaining('has to resolve it') });
    expect(deeds()).toBe(1);
  });
});

it('a payment that was not made is retried as soon as its terminal has reported it; it is asked once', async () => {
  const terminal = await world.terminal();
  const documentNr = world.random.uuid();
  // .61: the bank says no.
  lost();
  const id = await calledRefused(terminal.id, () => world.pay(terminal.id, 50.61, documentNr));
  const before = await recallsOf(id);
  expect((await world.run(world.pay(terminal.id, 50, documentNr))).code).toBe(0);
  expect(await world.ledger.find(id)).toMatchObject({ state: 'refused', outcome: 'refused' });
  expect((await recallsOf(id)) - before).toBe(1);
  expect(terminal.bank.charges()).toHaveLength(1);
});

describe('of refunds and voids', () => {
  async function paid(documentNr?: string) {
    const terminal = await world.terminal();
    const { merchantId } = world;
    const { report } = await world.run(world.cards.pay({ merchantId, deviceId: terminal.id, amountBani: 1_000, documentNr }));
    const operationId = String(report?.['operationId']);
    const rrn = String(report?.['rrn']);
    const named = { merchantId, deviceId: terminal.id, operationId, rrn };
    const token = String(report?.['token']);
    const refund = (amountBani: number, document: string) =>
      world.cards.refund({ ...named, documentNr: document, amountBani, currency: undefined });
    const cancel = (document: string) => world.cards.cancelTransaction({ ...named, documentNr: document, token, amountBani: 1_000 });
    await world.run(world.cards.closeDoc({ ...named, documentNr: documentNr ?? 'any' }));
    return { terminal, refund, cancel };
  }

  it('a refund that was made, and settled as refused, is not made again although the remainder allows it', async () => {
    const { terminal, refund } = await paid('d-1');
    lost();
    const id = await calledRefused(terminal.id, () => refund(300, 'd-1'));
    const disputed = { code: 3, state: 'Disputed', message: expect.stringContaining('has to resolve it') };
    expect(await world.run(refund(300, 'd-1'))).toMatchObject(disputed);
    expect(await world.run(refund(100, 'd-1'))).toMatchObject(disputed);
    expect(terminal.bank.netBani()).toBe(700);
    await world.meanwhile(world.ledger.decide(id, { state: 'done', reason: 'It is in the book.', actor: 'ana', closesReview: true }));
    expect((await world.run(refund(701, 'd-1'))).code).toBe(40);
    expect((await world.run(refund(700, 'd-1'))).code).toBe(0);
  });

  it.each<[string, string, string]>([
    ['a refund', 'another refund under another text', 'refund'],
    ['a refund', 'a void', 'cancel'],
  ])('%s is confirmed with the device before %s of the same payment', async (_one, _other, next) => {
    const { terminal, refund, cancel } = await paid();
    lost();
    const id = await calledRefused(terminal.id, () => refund(300, 'abc'));
    expect(await world.run(next === 'refund' ? refund(300, 'ABC') : cancel('ABC'))).toMatchObject({ code: 3, state: 'Disputed' });
    expect(await world.ledger.find(id)).toMatchObject({ state: 'disputed' });
    expect(terminal.bank.netBani()).toBe(700);
  });

  it('a void is confirmed with the device before a refund of the same payment', async () => {
    const { terminal, refund, cancel } = await paid('d-1');
    lost();
    await calledRefused(terminal.id, () => cancel('d-1'));
    expect(await world.run(refund(300, 'd-1'))).toMatchObject({ code: 3, state: 'Disputed' });
    expect(terminal.bank.netBani()).toBe(0);
  });
});

it('a terminal without a journal is asked for its last transaction', async () => {
  const terminal = await world.terminal({ faults: { noJournal: true } });
  const documentNr = world.random.uuid();
  lost();
  const pay = () => world.pay(terminal.id, 50, documentNr);
  const id = await calledRefused(terminal.id, pay);
  world.onAnswer = () => undefined;
  expect((await world.run(pay())).message).toContain('nothing was sent');
  world.onAnswer = (answer) => answer;
  expect(await world.run(pay())).toMatchObject({ code: 3, oid: id });
  expect(terminal.bank.charges()).toHaveLength(1);
});

it('a device that no longer supports Recall delays nothing: the person’s decision holds', async () => {
  const terminal = await world.terminal();
  const documentNr = world.random.uuid();
  lost();
  await calledRefused(terminal.id, () => world.pay(terminal.id, 50.61, documentNr));
  world.onAnswer = (answer) => (answer.report?.['state'] === undefined ? answer : { ...answer, outcome: 'unsupported', report: {} });
  expect((await world.run(world.pay(terminal.id, 50, documentNr))).code).toBe(0);
});

it('a device that reports for ever that it runs does not undo the person’s decision', async () => {
  const terminal = await world.terminal();
  const documentNr = world.random.uuid();
  lost();
  const id = await calledRefused(terminal.id, () => world.pay(terminal.id, 50.61, documentNr));
  world.onAnswer = (answer) => (answer.report?.['state'] === undefined ? answer : { ...answer, report: { state: 'running' } });
  expect(await world.run(world.pay(terminal.id, 50, documentNr))).toMatchObject({ code: 3, oid: id });
  await world.meanwhile(world.ledger.decide(id, { state: 'refused', reason: 'It hangs.', actor: 'ana', closesReview: true }));
  expect((await world.run(world.pay(terminal.id, 50, documentNr))).code).toBe(0);
});

it('no other operation has to wait: another number is sent at once', async () => {
  const terminal = await world.terminal();
  lost();
  const id = await calledRefused(terminal.id, () => world.pay(terminal.id, 50, world.random.uuid()));
  const before = await recallsOf(id);
  world.onAnswer = noJournal;
  const atMs = world.clock.now();
  expect((await world.run(world.pay(terminal.id, 20, world.random.uuid()))).code).toBe(0);
  expect(world.clock.now() - atMs).toBeLessThan(10_000);
  expect(await recallsOf(id)).toBe(before);
});
