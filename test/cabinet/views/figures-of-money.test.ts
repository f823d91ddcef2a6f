// The first page counts the money that devices took, also after disputes and for sales that were paid in two ways, and lists no payment as
// unprinted whose receipt was printed under another Uid.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readAttention } from '../../../src/cabinet/views/figures/attention.ts';
import { hourMs } from '../../../src/cabinet/views/figures/hour-figures.ts';
import { createHourSums } from '../../../src/cabinet/views/figures/hour-sums.ts';
import { createMismatches } from '../../../src/cabinet/views/figures/mismatches.ts';
import { earlierOf, modesOf } from '../../../src/cabinet/views/figures/overview-figures.ts';
import type { AnswerMessage } from '../../../src/link/wire-schemas.ts';
import { isNewCore } from '../../support/core.ts';
import { createSaleWorld } from '../../support/sale-world.ts';

let world: Awaited<ReturnType<typeof createSaleWorld>>;
let sums: ReturnType<typeof createHourSums>;
beforeEach(async () => {
  world = await createSaleWorld();
  sums = createHourSums();
});
afterEach(() => world.stop());

const hoursNow = async () => {
  const nowMs = world.clock.now();
  const startMs = Math.floor(nowMs / hourMs) * hourMs;
  return await sums.read(world.database, { merchantId: world.merchantId }, startMs - 20 * hourMs, startMs + hourMs, nowMs);
};
const figures = async () => modesOf(await hoursNow());
/** By card, of each hour in which there was something. */
const cardOfHours = async () => (await hoursNow()).map((hour) => modesOf([hour]).card.amount).filter((amount) => amount !== 0);
const isRecalled = (answer: AnswerMessage) => answer.report?.['state'] !== undefined;
const denies = (answer: AnswerMessage): AnswerMessage => (isRecalled(answer) ? { ...answer, report: { state: 'never' } } : answer);
const goods = (price: number) => [{ Name: 'Goods', Quantity: 1, Price: price }];

it('a payment of a past hour that an operator called done is no longer counted once its terminal denies it', async () => {
  const terminal = await world.terminal();
  world.onAnswer = () => undefined;
  expect((await world.run(world.pay(terminal.id, 10))).code).toBe(3);
  world.setAway(terminal.id, true);
  await world.clock.advance(20 * 60_000);
  const { id } = await world.lastCommand();
  await world.meanwhile(world.ledger.decide(id, { state: 'done', reason: 'It is said so.', actor: 'ana', operationId: '7', rrn: '7' }));
  await world.clock.advance(2 * hourMs);
  expect((await figures()).card).toEqual({ count: 1, amount: 10 });
  world.onAnswer = denies;
  world.setAway(terminal.id, false);
  await world.clock.advance(60_000);
  expect(await world.ledger.find(id)).toMatchObject({ state: 'disputed' });
  // On the new core, an entry stays, and what is known later is an entry of its own [D303].
  if (isNewCore) {
    expect((await figures()).card).toEqual({ count: 1, amount: 10 });
    const { contradiction } = (await world.ledger.find(id)) ?? {};
    const no = {
      state: 'refused',
      reason: 'The bank has none.',
      actor: 'ana',
      closesReview: true,
      contradiction: contradiction ?? '',
    } as const;
    await world.meanwhile(world.ledger.decide(id, no));
    expect(await cardOfHours()).toEqual([10, -10]);
  }
  expect((await figures()).card).toEqual({ count: 0, amount: 0 });
});

it('an invoice that was paid by its QR and by card is two payments, and still one after the card payment is voided', async () => {
  const terminal = await world.terminal();
  const till = await world.register();
  const { merchantId } = world;
  const { oid, qr } = await world.meanwhile(world.life.invoices.create({ merchantId, receipt: { Uid: 'u-1', Items: goods(10) } }));
  await world.meanwhile(world.life.invoices.scan(qr, { merchantId, name: 'till' }));
  world.onAnswer = () => undefined;
  const paying = world.pay(terminal.id, 10, oid);
  await world.clock.advance(1_000);
  await world.meanwhile(world.life.invoices.pay(qr, { receiptId: 'R-1', deviceId: till.id }, { merchantId, name: 'till' }));
  world.onAnswer = (answer) => answer;
  await world.run(paying);
  await world.clock.advance(60_000);
  const { state, operationId } = await world.lastCommand();
  expect(state).toBe('done');
  expect(await figures()).toMatchObject({ card: { count: 1, amount: 10 }, qr: { count: 1, amount: 10 } });
  const named = { merchantId, deviceId: terminal.id, documentNr: oid, operationId: String(operationId) };
  const token = terminal.bank.charges()[0]?.entry.token ?? '';
  expect((await world.run(world.cards.cancelTransaction({ ...named, token, amountBani: 1_000 }))).code).toBe(0);
  expect(await figures()).toMatchObject({ card: { count: 0, amount: 0 }, qr: { count: 1, amount: 10 } });
});

it('a card that a register charges beside the payment under the same number is counted, too', async () => {
  const [terminal, register] = [await world.terminal(), await world.register()];
  const documentNr = world.random.uuid();
  await world.run(world.pay(terminal.id, 10, documentNr));
  const payments = [
    { PaymentCode: 1, Amount: 10, documentNr },
    { PaymentCode: 1, Amount: 5 },
  ];
  const receipt = { Uid: documentNr, Items: goods(15), Payments: payments };
  expect((await world.run(world.fiscal.printReceipt({ merchantId: world.merchantId, deviceId: register.id, receipt }))).code).toBe(0);
  expect([terminal.bank.netBani(), register.bank.netBani()]).toEqual([1_000, 500]);
  expect((await figures()).card).toEqual({ count: 2, amount: 15 });
});

it('a payment whose receipt failed is no longer without receipt once a receipt of another Uid names it', async () => {
  const [terminal, register] = [await world.terminal(), await world.register()];
  const documentNr = world.random.uuid();
  const { merchantId } = world;
  const { oid } = await world.run(world.pay(terminal.id, 10, documentNr));
  const print = (uid: string) => {
    const receipt = { Uid: uid, Items: goods(10), Payments: [{ PaymentCode: 1, documentNr }] };
    return world.run(world.fiscal.printReceipt({ merchantId, deviceId: register.id, receipt }));
  };
  const unprinted = async () => {
    const { items } = await readAttention(world.database.queries, { merchantId }, world.clock.now(), createMismatches());
    return items.filter(({ kind }) => kind === 'paymentWithoutReceipt').map(({ subjectId }) => subjectId);
  };
  register.mishaps.arm({ paperOut: true });
  expect((await print(documentNr)).code).toBe(50);
  expect(await unprinted()).toEqual([oid]);
  register.newRoll();
  expect((await print('another')).code).toBe(0);
  expect(await unprinted()).toEqual([]);
});

it('a void of an earlier hour lowers the figures of the hour in which it became known, which names it [D303]', async () => {
  const terminal = await world.terminal();
  const documentNr = world.random.uuid();
  await world.run(world.pay(terminal.id, 10, documentNr));
  const operationId = String((await world.lastCommand('Pay')).operationId);
  const token = terminal.bank.charges()[0]?.entry.token ?? '';
  const named = { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId };
  await world.run(world.cards.closeDoc(named));
  await world.clock.advance(3 * hourMs);
  expect(await cardOfHours()).toEqual([10]);
  expect((await world.run(world.cards.cancelTransaction({ ...named, token, amountBani: 1_000 }))).code).toBe(0);
  expect(await figures()).toMatchObject({ card: { count: 0, amount: 0 } });
  // The old core takes it out of the hour of the payment.
  expect(await cardOfHours()).toEqual(isNewCore ? [10, -10] : []);
  const hours = await hoursNow();
  const thisHourMs = Math.floor(world.clock.now() / hourMs) * hourMs;
  expect(earlierOf(hours, thisHourMs)).toEqual(isNewCore ? { count: 1, amount: 10 } : { count: 0, amount: 0 });
  expect(earlierOf(hours, thisHourMs - 20 * hourMs)).toEqual({ count: 0, amount: 0 });
});
