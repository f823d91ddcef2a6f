// A card was, or may have been, charged under one number by a terminal and by a register: no attempt gets the number while one is disputed [D143].
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createSaleWorld } from '../support/sale-world.ts';

let world: Awaited<ReturnType<typeof createSaleWorld>>;
beforeEach(async () => {
  world = await createSaleWorld();
});
afterEach(() => world.stop());

const refuse = (id: string, closesReview = false) =>
  world.meanwhile(world.ledger.decide(id, { state: 'refused', reason: 'It is said so.', actor: 'ana', closesReview }));

/** The device has executed it and is away, and the answer is lost. */
async function left(deviceId: string, call: () => ReturnType<typeof world.pay>): Promise<string> {
  world.onAnswer = () => undefined;
  expect((await world.run(call())).code).toBe(3);
  world.setAway(deviceId, true);
  await world.clock.advance(20 * 60_000);
  return (await world.lastCommand()).id;
}

it.each(['lower', 'upper'])(
  'the number of a receipt in %s case stays claimed while its charge is disputed, whatever becomes of the payments beside it',
  async (letters) => {
    const [first, second, third] = [await world.terminal(), await world.terminal(), await world.terminal()];
    const register = await world.register();
    const documentNr = world.random.uuid();
    const uid = letters === 'upper' ? documentNr.toUpperCase() : documentNr;
    const receipt = { Uid: uid, Items: [{ Name: 'Goods', Quantity: 1, Price: 10 }], Payments: [{ PaymentCode: 1, Amount: 10 }] };
    const payment = await left(first.id, () => world.pay(first.id, 10, documentNr));
    await refuse(payment);
    const print = await left(register.id, () =>
      world.fiscal.printReceipt({ merchantId: world.merchantId, deviceId: register.id, receipt }),
    );
    await refuse(print);
    const later = await left(second.id, () => world.pay(second.id, 10, documentNr));
    world.onAnswer = (answer) => answer;
    for (const { id } of [first, register]) {
      world.setAway(id, false);
      await world.clock.advance(60_000);
    }
    for (const id of [payment, print]) expect(await world.ledger.find(id)).toMatchObject({ state: 'disputed' });
    await refuse(later);
    await refuse(payment, true);
    expect(await world.run(world.pay(third.id, 10, documentNr))).toMatchObject({ code: 3, oid: print });
    expect(third.bank.charges()).toEqual([]);
  },
);
