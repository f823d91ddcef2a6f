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
  await world.clock.advance(30 * 60_000);
  const { id } = await world.lastCommand();
  await world.meanwhile(world.ledger.decide(id, { state: 'refused', reason: 'It is said so.', actor: 'ana' }));
  world.onAnswer = noJournal;
  world.setAway(deviceId, false);
  await world.clock.advance(60_000);
  expect(await world.ledger.find(id)).toMatchObject({ state: 'refused', outcome: null, contradictedAtMs: null });
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

  it('is not made again: its device is asked first, and the caller told 3', async () => {
    const { id, begin, deeds } = await settled();
    expect(await world.run(begin())).toMatchObject({ code: 3, oid: id, message: expect.stringContaining('a person has to look') });
    expect(deeds()).toBe(1);
  });

  it('is asked about once, however many send it again', async () => {
    const { id, begin, deeds } = await settled();
    const before = await recallsOf(id);
    const told = await Promise.all(Array.from({ length: 10 }, () => world.run(begin())));
    expect(new Set(told.map(({ code }) => code))).toEqual(new Set([3]));
    expect((await recallsOf(id)) - before).toBe(1);
    expect(deeds()).toBe(1);
  });

  it('is not made again while its device says nothing, which the caller is told', async () => {
    const { id, begin, deeds } = await settled();
    world.onAnswer = noJournal;
    expect(await world.run(begin())).toMatchObject({ code: 3, oid: id, message: expect.stringContaining('nothing was sent') });
    expect(deeds()).toBe(1);
    world.onAnswer = (answer) => answer;
    expect(await world.run(begin())).toMatchObject({ code: 3, oid: id, message: expect.stringContaining('a person has to look') });
    expect(deeds()).toBe(1);
  });
});

it('a payment that was not made is tried again as soon as its terminal has said so, which it is asked once', async () => {
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

it('a refund that was made, and called refused, counts as made before another one goes out', async () => {
  const terminal = await world.terminal();
  const documentNr = world.random.uuid();
  const { report } = await world.run(world.pay(terminal.id, 10, documentNr));
  const named = {
    merchantId: world.merchantId,
    deviceId: terminal.id,
    documentNr,
    operationId: String(report?.['operationId']),
    rrn: String(report?.['rrn']),
  };
  await world.run(world.cards.closeDoc(named));
  const refund = () => world.cards.refund({ ...named, amountBani: 600, currency: undefined });
  lost();
  await calledRefused(terminal.id, refund);
  // Whoever was told 3 hears the decision; asked once more it is a new refund.
  await world.run(refund());
  expect((await world.run(refund())).code).toBe(40);
  expect(terminal.bank.netBani()).toBe(400);
});

it('nobody else is kept waiting: another number goes out at once', async () => {
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
