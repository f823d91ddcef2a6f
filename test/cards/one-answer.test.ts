// Symptoms of money rules that had drifted apart, each by its name: every question about one payment gets one consistent answer [D140, D141].
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createMoneySteps } from '../../src/cabinet/steps/money-steps.ts';
import { operationStatus } from '../../src/ledger/operation-status.ts';
import type { AnswerMessage } from '../../src/link/wire-schemas.ts';
import { isNewCore } from '../support/core.ts';
import { denies, disputesIn } from '../support/disputes-in.ts';
import { createSaleWorld, type SaleWorld } from '../support/sale-world.ts';

let world: SaleWorld;
let terminal: Awaited<ReturnType<SaleWorld['terminal']>>;
beforeEach(async () => {
  world = await createSaleWorld();
  terminal = await world.terminal();
});
afterEach(() => world.stop());

const call = () => ({ merchantId: world.merchantId, deviceId: terminal.id });
const { decided, isBack } = disputesIn(() => world);
const idempotency = (key: string) => ({ key, requestHash: key });
const statusOf = (names: Parameters<typeof operationStatus>[1] extends infer Request ? Partial<Request> : never) =>
  world.told(operationStatus(world.life, { merchantId: world.merchantId, modules: new Set(['POS', 'Fiscal'] as const), ...names }));

async function paid(documentNr: string | undefined = world.random.uuid(), key = 'pay') {
  const { oid, report } = await world.run(
    world.cards.pay({ ...call(), amountBani: 1_000, documentNr, idempotency: idempotency(key), hashRequest: () => 'h' }),
  );
  const named = { ...call(), documentNr: documentNr ?? 'none', operationId: String(report?.['operationId']) };
  return { id: String(oid), documentNr, named, rrn: String(report?.['rrn']), token: String(report?.['token']) };
}
type Paid = Awaited<ReturnType<typeof paid>>;
const close = ({ named }: Paid) => world.run(world.cards.closeDoc(named));
const voidOf = ({ named, token }: Paid, key?: string) =>
  world.run(world.cards.cancelTransaction({ ...named, token, amountBani: 1_000, ...(key ? { idempotency: idempotency(key) } : {}) }));
const refundOf = ({ named, rrn }: Paid, amountBani: number) =>
  world.run(world.cards.refund({ ...named, rrn, amountBani, currency: undefined }));
async function refundedInPart(sale: Paid) {
  await close(sale);
  expect((await refundOf(sale, 400)).code).toBe(0);
}
const cancelUnknown = (documentNr: string) =>
  world.run(world.cards.cancelTransaction({ ...call(), documentNr, operationId: 'none', token: '', amountBani: 1_000 }));

describe('a payment named by its operationId', () => {
  it('and voided is 22 with OID and State for another void, a refund and a CloseDoc', async () => {
    const sale = await paid();
    expect((await voidOf(sale)).code).toBe(0);
    for (const again of [await voidOf(sale, 'again'), await refundOf(sale, 100), await close(sale)])
      expect(again).toMatchObject({ code: 22, oid: sale.id, state: 'Voided' });
  });

  it('and of a closed bank day is voided as the refusal of its refund advises, unless it was refunded in part', async () => {
    const whole = await paid(undefined, 'whole');
    await close(whole);
    const refunded = await paid(undefined, 'part');
    await refundedInPart(refunded);
    expect(await voidOf(refunded)).toMatchObject({ code: 22, oid: refunded.id, state: 'Closed' });
    expect((await world.run(world.cards.closeDay(call()))).code).toBe(0);

    const { message, ...answer } = await refundOf(whole, 300);
    expect(answer).toMatchObject({ code: 22, oid: whole.id, state: 'Closed' });
    expect(message).toContain('use CancelTransaction with its whole amount');
    expect((await voidOf(whole)).code).toBe(0);

    for (const amountBani of [300, 700]) {
      const refusal = await refundOf(refunded, amountBani);
      expect(refusal).toMatchObject({ code: 22, oid: refunded.id, state: 'Closed' });
      expect(refusal.message).toContain('can no longer be voided either');
    }
    const stopped = await cancelUnknown(refunded.named.documentNr);
    expect(stopped.message).toContain('can no longer be voided either');
  });
});

describe('CancelTransaction with operationId "none" after the payment was approved', () => {
  it.each<[string, (sale: Paid) => Promise<unknown>, string, string | RegExp]>([
    ['approved', async () => {}, 'Done', 'use CancelTransaction'],
    ['closed', close, 'Closed', 'use CancelTransaction'],
    ['refunded in part', refundedInPart, 'Closed', 'with Refund'],
    ['voided', voidOf, 'Voided', /voided already: nothing (of it )?is charged any more\.$/],
  ])('is 22 with its OID and State when it is %s, never 20', async (_what, then, State, sentence) => {
    const sale = await paid();
    await then(sale);
    expect(await cancelUnknown(sale.named.documentNr)).toMatchObject({
      code: 22,
      oid: sale.id,
      state: State,
      message: expect.stringMatching(sentence),
    });
  });

  it('tells Refused when it was refused, and is 20 when nothing is known under the number [D302]', async () => {
    const documentNr = world.random.uuid();
    expect((await world.run(world.pay(terminal.id, 10.61, documentNr))).code).toBe(50);
    expect(await cancelUnknown(documentNr)).toMatchObject({ code: isNewCore ? 0 : 22, state: 'Refused' });
    expect(await cancelUnknown(world.random.uuid())).toMatchObject({ code: 20 });
    const other = await world.terminal();
    const elsewhere = world.random.uuid();
    await world.run(world.pay(other.id, 10, elsewhere));
    expect(await cancelUnknown(elsewhere)).toMatchObject({ code: isNewCore ? 22 : 20 });
  });
});

describe('a payment', () => {
  const repeat = ({ documentNr }: Paid, key?: string) =>
    world.run(world.cards.pay({ ...call(), amountBani: 1_000, documentNr, ...(key ? { idempotency: idempotency(key) } : {}) }));
  const everyQuestion = async (sale: Paid) => [
    await statusOf({ oid: sale.id }),
    await statusOf({ documentNr: sale.named.documentNr }),
    await statusOf({ idempotencyKey: 'pay' }),
    await repeat(sale, 'pay'),
  ];

  it('that was voided is 22 by OID, documentNr, key and repeat', async () => {
    const sale = await paid();
    expect((await voidOf(sale)).code).toBe(0);
    for (const answer of [...(await everyQuestion(sale)), await repeat(sale)]) {
      expect(answer).toMatchObject({ code: 22, oid: sale.id, state: 'Voided' });
      expect(answer.message).not.toMatch(/new documentNr/);
    }
    expect(terminal.bank.charges()).toHaveLength(1);
  });

  it('that was closed is 0 to queries and 22 with Closed to another Pay under its number', async () => {
    const sale = await paid();
    await close(sale);
    for (const answer of await everyQuestion(sale)) expect(answer).toMatchObject({ code: 0, oid: sale.id, state: 'Closed' });
    expect(await repeat(sale)).toMatchObject({ code: 22, oid: sale.id, state: 'Closed' });
    expect(await repeat(sale, 'another')).toMatchObject({ code: 22, state: 'Closed' });
  });

  it('that was refunded is 0 with Refunded to queries, or with the remainder, and 22 to another Pay', async () => {
    const sale = await paid();
    await close(sale);
    const refund = (amountBani: number) => world.run(world.cards.refund({ ...sale.named, rrn: sale.rrn, amountBani, currency: undefined }));
    expect((await refund(400)).code).toBe(0);
    const partly = await operationStatus(world.life, { merchantId: world.merchantId, modules: new Set(['POS'] as const), oid: sale.id });
    expect(partly).toMatchObject({ State: 'Closed', Remainder: 6 });
    expect((await refund(600)).code).toBe(0);
    for (const answer of await everyQuestion(sale)) expect(answer).toMatchObject({ code: 0, state: 'Refunded' });
    expect(await repeat(sale)).toMatchObject({ code: 22, state: 'Refunded' });
  });

  it('a void or refund that is repeated with its own key is still 0', async () => {
    const sale = await paid();
    expect((await voidOf(sale, 'void')).code).toBe(0);
    expect(await voidOf(sale, 'void')).toMatchObject({ code: 0, state: 'Done' });
    expect((await voidOf(sale, 'other')).code).toBe(22);
  });
});

it('a keyed Pay that was refused is not answered so once another call has paid under its documentNr', async () => {
  const documentNr = world.random.uuid();
  const pay = (key: string) => world.run(world.cards.pay({ ...call(), amountBani: 1_000, documentNr, idempotency: idempotency(key) }));
  world.onAnswer = (answer) => (answer.outcome === 'done' ? { ...answer, outcome: 'refused' } : answer);
  expect(await pay('first')).toMatchObject({ code: 50, state: 'Refused' });
  world.onAnswer = (answer) => answer;
  const second = await pay('second');
  expect(second.code).toBe(0);
  expect(await pay('first')).toMatchObject({ code: 0, oid: second.oid, state: 'Done' });
  expect(await statusOf({ idempotencyKey: 'first' })).toMatchObject({ code: 0, oid: second.oid, state: 'Done' });
  await world.run(world.cards.closeDoc({ ...call(), documentNr, operationId: String(second.report?.['operationId']) }));
  // The key has led to that payment since it was answered so: with the new core a query and the call say the same [D315].
  expect(await pay('first')).toMatchObject({ code: isNewCore ? 0 : 22, oid: second.oid, state: 'Closed' });
  // To a query, a closed payment is 0 [D140].
  for (const idempotencyKey of ['first', 'second'])
    expect(await statusOf({ idempotencyKey })).toMatchObject({ code: 0, oid: second.oid, state: 'Closed' });
});

it('a keyed CloseDoc that was refused is not answered so once another call has closed the document', async () => {
  const sale = await paid();
  const keyed = () => world.run(world.cards.closeDoc({ ...sale.named, idempotency: idempotency('first') }));
  world.onAnswer = (answer) => (answer.outcome === 'done' ? { ...answer, outcome: 'refused' } : answer);
  expect(await keyed()).toMatchObject({ code: 50, state: 'Refused' });
  world.onAnswer = (answer) => answer;
  const { oid } = await close(sale);
  for (const answer of [await keyed(), await statusOf({ idempotencyKey: 'first' })]) expect(answer).toMatchObject({ code: 0, oid });
});

it('a keyed CloseDoc that was refused is not answered so once an operator has closed the document by hand', async () => {
  const sale = await paid();
  const keyed = () => world.run(world.cards.closeDoc({ ...sale.named, idempotency: idempotency('first') }));
  world.onAnswer = (answer) => (answer.outcome === 'done' ? { ...answer, outcome: 'refused' } : answer);
  expect(await keyed()).toMatchObject({ code: 50, state: 'Refused' });
  expect(await statusOf({ idempotencyKey: 'first' })).toMatchObject({ code: 50, state: 'Refused' });
  await world.meanwhile(world.cards.closeDocumentByHand({ commandId: sale.id, actor: 'ana', reason: 'The terminal is broken.' }));
  const asked = async () => [await keyed(), await statusOf({ idempotencyKey: 'first' })];
  for (const answer of await asked()) expect(answer).toMatchObject({ code: 0, oid: sale.id, state: 'Closed' });
  world.onAnswer = (answer) => answer;
  expect((await refundOf(sale, 1_000)).code).toBe(0);
  for (const answer of await asked()) expect(answer).toMatchObject({ code: 0, oid: sale.id, state: 'Refunded' });
});

it('a payment that was refunded in full is not said to be paid after its record was removed', async () => {
  const sale = await paid();
  await close(sale);
  expect((await refundOf(sale, 1_000)).code).toBe(0);
  await world.database.queries.updateTable('commands').set({ removed_at: 1, args: '{}' }).execute();
  const again = await world.run(world.pay(terminal.id, 10, sale.documentNr));
  for (const answer of [again, await refundOf(sale, 100), await voidOf(sale), await statusOf({ oid: sale.id })])
    expect(answer).toMatchObject({ code: 22, oid: sale.id, state: 'Refunded' });
});

describe('when bank numbers restart and no payment has a documentNr', () => {
  async function twins() {
    const older = await paid(undefined, 'older');
    await close(older);
    const newer = await paid(undefined, 'newer');
    await close(newer);
    // The bank counts from the start again: both bear one number.
    await world.database.queries
      .updateTable('commands')
      .set({ operation_id: newer.named.operationId })
      .where('id', '=', older.id)
      .execute();
    return { older, newer };
  }
  const step = (commandId: string, key: string) => ({
    commandId,
    actor: 'ana',
    origin: { caller: 'person ana', request: '{}' },
    idempotency: idempotency(key),
  });
  const steps = () => createMoneySteps({ database: world.database, ledger: world.ledger, cards: world.cards });

  it('a void from the cabinet concerns the selected payment, and the terminal refuses another token', async () => {
    const { older, newer } = await twins();
    await world.run(steps().void(step(older.id, 'void')));
    expect(await world.lastCommand('CancelTransaction')).toMatchObject({ targetId: older.id });
    expect(await world.ledger.find(newer.id)).toMatchObject({ documentState: 'closed' });
    await world.run(steps().void(step(newer.id, 'void newer')));
    expect(await world.lastCommand('CancelTransaction')).toMatchObject({ targetId: newer.id });
  });

  it('so is a refund', async () => {
    const { older } = await twins();
    await world.run(steps().refund(step(older.id, 'refund'), 100));
    expect(await world.lastCommand('Refund')).toMatchObject({ targetId: older.id });
  });

  it('a CloseDoc from the cabinet concerns the selected payment', async () => {
    const older = await paid(undefined, 'older');
    await close(older);
    const newer = await paid(undefined, 'newer');
    await world.database.queries
      .updateTable('commands')
      .set({ operation_id: newer.named.operationId })
      .where('id', '=', older.id)
      .execute();
    expect(await world.run(steps().close(step(older.id, 'close')))).toMatchObject({ code: 0 });
    expect(await world.ledger.find(newer.id)).toMatchObject({ documentState: 'open' });
    expect((await world.run(steps().close(step(newer.id, 'close newer')))).code).toBe(0);
    expect(await world.ledger.find(newer.id)).toMatchObject({ documentState: 'closed' });
  });
});

describe('a report with another amount than requested', () => {
  const alter = (answer: AnswerMessage) => (answer.outcome === 'done' ? { ...answer, report: { ...answer.report, amount: 1 } } : answer);

  it.each(['Refund', 'CancelTransaction'] as const)('of a %s is doubtful, is logged, and can be decided at once', async (name) => {
    const sale = await paid();
    await close(sale);
    world.onAnswer = alter;
    const asked =
      name === 'Refund'
        ? world.cards.refund({ ...sale.named, rrn: sale.rrn, amountBani: 400, currency: undefined })
        : world.cards.cancelTransaction({ ...sale.named, token: sale.token, amountBani: 1_000 });
    expect((await world.run(asked)).code).toBe(3);
    const { id } = await world.lastCommand(name);
    expect(await world.ledger.find(id)).toMatchObject({ state: 'unknown', reviewReason: expect.stringContaining('instead of') });
    expect(
      world.logger.lines.some(({ fields, message }) => /needs a (decision|person)/.test(message) && JSON.stringify(fields).includes(id)),
    ).toBe(true);
    const decided = await world.meanwhile(world.ledger.decide(id, { state: 'done', reason: 'The bank has it.', actor: 'ana' }));
    expect(decided).toMatchObject({ state: 'done', settledBy: 'person' });
  });
});

it('a wrong rrn is named as such', async () => {
  const sale = await paid();
  await close(sale);
  const refund = (rrn: string, operationId = sale.named.operationId) =>
    world.run(world.cards.refund({ ...sale.named, operationId, rrn, amountBani: 100, currency: undefined }));
  expect(await refund('1')).toMatchObject({ code: 20, message: expect.stringContaining('the rrn is wrong') });
  expect(await refund('1', 'nothing')).toMatchObject({ code: 20, message: expect.not.stringContaining('rrn') });
});

it('a disputed payment is 3 to CloseDoc, Refund and CancelTransaction, and nothing is sent', async () => {
  const documentNr = world.random.uuid();
  const id = await decided(terminal.id, () => world.pay(terminal.id, 10, documentNr), 'refused');
  await isBack(terminal.id);
  const { operationId, rrn } = (await world.ledger.find(id)) ?? {};
  const named = { ...call(), documentNr, operationId: String(operationId) };
  const sent = world.ledgerSends().length;
  for (const asked of [
    () => world.cards.closeDoc(named),
    () => world.cards.refund({ ...named, rrn: String(rrn), amountBani: 100, currency: undefined }),
    () => world.cards.cancelTransaction({ ...named, token: 't', amountBani: 1_000 }),
  ])
    expect(await world.run(asked())).toMatchObject({ code: 3, oid: id, state: 'Disputed' });
  expect(world.ledgerSends()).toHaveLength(sent);
});

it('a payment with a disputed void is 3 to CloseDoc, as to Operation/Status', async () => {
  const sale = await paid();
  const voiding = () => world.cards.cancelTransaction({ ...sale.named, token: sale.token, amountBani: 1_000 });
  await decided(terminal.id, voiding, 'done');
  await isBack(terminal.id, denies);
  for (const answer of [await close(sale), await statusOf({ oid: sale.id })])
    expect(answer).toMatchObject({ code: 3, oid: sale.id, state: 'Disputed' });
  expect(world.sendsOf('CloseDoc')).toEqual([]);
});

it('a payment with a disputed refund, whose document was closed by hand, is 3 to CloseDoc, as to Operation/Status', async () => {
  const sale = await paid();
  await world.meanwhile(world.cards.closeDocumentByHand({ commandId: sale.id, actor: 'ana', reason: 'The terminal is away.' }));
  const refund = () => world.cards.refund({ ...sale.named, rrn: sale.rrn, amountBani: 1_000, currency: undefined });
  await decided(terminal.id, refund, 'done');
  await isBack(terminal.id, denies);
  for (const answer of [await close(sale), await statusOf({ oid: sale.id })])
    expect(answer).toMatchObject({ code: 3, oid: sale.id, state: 'Disputed' });
  expect(world.sendsOf('CloseDoc')).toEqual([]);
});

it('an invoice whose card payment was refunded in full can be withdrawn', async () => {
  const receipt = { Items: [{ Name: 'Tea', Quantity: 1, Price: 10 }] };
  const { oid } = await world.meanwhile(world.life.invoices.create({ merchantId: world.merchantId, receipt }));
  const sale = await paid(oid);
  await close(sale);
  const refund = world.cards.refund({ ...sale.named, rrn: sale.rrn, amountBani: 1_000, currency: undefined });
  expect((await world.run(refund)).code).toBe(0);
  expect(await cancelUnknown(oid)).toMatchObject({ code: 0 });
});
