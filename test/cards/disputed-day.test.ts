// A payment and the closeDay after it are both called refused by an operator, and the terminal has executed both [D143].
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { AnswerMessage } from '../../src/link/wire-schemas.ts';
import { createSaleWorld } from '../support/sale-world.ts';

let world: Awaited<ReturnType<typeof createSaleWorld>>;
beforeEach(async () => {
  world = await createSaleWorld();
});
afterEach(() => world.stop());

const decide = (id: string, state: 'done' | 'refused', closesReview = false) =>
  world.meanwhile(world.ledger.decide(id, { state, reason: 'It is said so.', actor: 'ana', closesReview }));
const saysNothingOfIt = (answer: AnswerMessage) => (answer.report?.['state'] === undefined ? answer : undefined);

/** The answer is lost and the device away; it is back after the decision. */
async function calledRefused(deviceId: string, call: () => ReturnType<typeof world.pay>) {
  world.onAnswer = () => undefined;
  expect((await world.run(call())).code).toBe(3);
  world.setAway(deviceId, true);
  await world.clock.advance(20 * 60_000);
  const { id } = await world.lastCommand();
  await decide(id, 'refused');
  world.onAnswer = saysNothingOfIt;
  world.setAway(deviceId, false);
  await world.clock.advance(60_000);
  return id;
}

it.each(['first', 'last'])('the payment can no longer be refunded, if it is resolved %s', async (order) => {
  const terminal = await world.terminal();
  const documentNr = world.random.uuid();
  const call = { merchantId: world.merchantId, deviceId: terminal.id };
  const paymentId = await calledRefused(terminal.id, () => world.pay(terminal.id, 10, documentNr));
  const dayId = await calledRefused(terminal.id, () => world.cards.closeDay(call));
  world.onAnswer = (answer) => answer;
  for (const id of [paymentId, dayId]) {
    const command = await world.ledger.find(id);
    if (command) await world.meanwhile(world.ledger.askDevice(command, 'ana'));
  }
  for (const id of order === 'first' ? [paymentId, dayId] : [dayId, paymentId]) await decide(id, 'done', true);
  const { operationId, rrn } = (await world.ledger.find(paymentId)) ?? {};
  const named = { ...call, documentNr, operationId: String(operationId) };
  // Resolved last, its document is closed with the day.
  expect((await world.run(world.cards.closeDoc(named))).code).toBe(0);
  const refund = world.cards.refund({ ...named, rrn: String(rrn), amountBani: 1_000, currency: undefined });
  expect(await world.run(refund)).toMatchObject({ code: 22, message: expect.stringContaining('use CancelTransaction') as string });
});
