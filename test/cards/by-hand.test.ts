// What a person decides or does in the cabinet about a payment is no delivery of its outcome to the till [D309], and a payment that is
// decided as made without its numbers leaves no document that no call could close [D308].
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { operationStatus } from '../../src/ledger/operation-status.ts';
import type { AnswerMessage } from '../../src/link/wire-schemas.ts';
import { createSaleWorld } from '../support/sale-world.ts';

let world: Awaited<ReturnType<typeof createSaleWorld>>;
afterEach(() => world.stop());

const nothing = () => undefined;
const origin = { caller: 'person ana', request: '{}' };
const unnamed = (deviceId: string, hash = 'h') => {
  const call = world.cards.pay({ merchantId: world.merchantId, deviceId, amountBani: 1_000, hashRequest: () => hash });
  call.catch(() => {});
  return call;
};
const decide = (id: string, state: 'done' | 'refused', numbers: { operationId?: string; rrn?: string } = {}, more: object = {}) =>
  world.meanwhile(world.ledger.decide(id, { state, reason: 'It is on the slip.', actor: 'ana', ...numbers, ...more }));
const byHand = (commandId: string) =>
  world.meanwhile(world.cards.closeDocumentByHand({ commandId, actor: 'ana', reason: 'The terminal is free.' }));

/** Charged; its answer is lost, and nothing of what the terminal is asked arrives. */
async function unclear(begin: (deviceId: string) => ReturnType<typeof world.pay>) {
  const terminal = await world.terminal();
  world.onAnswer = nothing;
  expect((await world.run(begin(terminal.id))).code).toBe(3);
  await world.clock.advance(8 * 60_000);
  const { id } = await world.lastCommand('Pay');
  return { terminal, id };
}

beforeEach(async () => {
  world = await createSaleWorld();
});

describe('an unnamed payment that was answered 3, and settled as done', () => {
  it('is not charged again after its document was closed by hand: the repeat gets its outcome, once', async () => {
    const { terminal, id } = await unclear(unnamed);
    await decide(id, 'done', { operationId: '7', rrn: '8' });
    await byHand(id);
    world.onAnswer = (answer: AnswerMessage) => answer;
    expect(await world.run(unnamed(terminal.id))).toMatchObject({ code: 0, oid: id, isRepeated: true, state: 'Closed' });
    expect(terminal.bank.charges()).toHaveLength(1);
    // Its caller has the outcome now: the next equal request is the next customer's.
    await world.clock.advance(2_000);
    expect((await world.ledger.find(id))?.outcomeReceivedAtMs).not.toBeNull();
  });

  it.each(['close', 'void'] as const)('nor after a %s by a person in the cabinet', async (step) => {
    const { terminal, id } = await unclear(unnamed);
    world.onAnswer = (answer: AnswerMessage) => answer;
    await world.clock.advance(10 * 60_000);
    const payment = await world.ledger.find(id);
    expect(payment).toMatchObject({ state: 'done', documentState: 'open' });
    const { token } = JSON.parse(payment?.report ?? '{}') as { token: string };
    const named = { merchantId: world.merchantId, deviceId: terminal.id, paymentId: id, operationId: String(payment?.operationId) };
    const call = { ...named, documentNr: id, origin, idempotency: { key: 'k', requestHash: 'k' } };
    const done = step === 'close' ? world.cards.closeDoc(call) : world.cards.cancelTransaction({ ...call, token, amountBani: 1_000 });
    expect((await world.run(done)).code).toBe(0);
    const repeat = await world.run(unnamed(terminal.id));
    expect(repeat).toMatchObject({ code: step === 'close' ? 0 : 22, oid: id, isRepeated: true });
    expect(terminal.bank.charges()).toHaveLength(1);
  });

  it('is over for the till after its own CloseDoc', async () => {
    const { terminal, id } = await unclear(unnamed);
    world.onAnswer = (answer: AnswerMessage) => answer;
    await world.clock.advance(10 * 60_000);
    const payment = await world.ledger.find(id);
    const call = { merchantId: world.merchantId, deviceId: terminal.id, documentNr: 'any', operationId: String(payment?.operationId) };
    expect((await world.run(world.cards.closeDoc({ ...call, origin: { caller: 'key k', request: '{}' } }))).code).toBe(0);
    expect(await world.run(unnamed(terminal.id))).toMatchObject({ code: 0, isRepeated: false });
    expect(terminal.bank.charges()).toHaveLength(2);
  });
});

describe('a payment that is decided as made without its numbers', () => {
  const documentNr = 'c1b2a3d4-5e6f-4a7b-8c9d-0e1f2a3b4c55';
  const named = (deviceId: string) => world.pay(deviceId, 10, documentNr);

  it('is Closed, and its terminal is free; what is said about it is not refused', async () => {
    const { terminal, id } = await unclear(named);
    await decide(id, 'done');
    expect(await world.ledger.find(id)).toMatchObject({ state: 'done', documentState: 'closed', operationId: null });
    world.onAnswer = (answer: AnswerMessage) => (answer.report?.['state'] === undefined ? answer : undefined);
    const status = operationStatus(world.life, { merchantId: world.merchantId, modules: new Set(['POS'] as const), oid: id });
    expect(await world.told(status)).toMatchObject({ code: 0, state: 'Closed' });
    const cancel = { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId: 'none', token: '', amountBani: 1_000 };
    const told = await world.run(world.cards.cancelTransaction(cancel));
    expect(told).toMatchObject({ code: 22, oid: id, message: expect.stringContaining('its operationId is not known'.slice(4)) });
    expect(told.message).not.toContain('use CancelTransaction');
    // The terminal itself still has the document, so another one of its kind accepts the next payment here.
    const free = await world.database.queries.selectFrom('device_locks').select(['command_id', 'document_id']).execute();
    expect(free).toEqual([{ command_id: null, document_id: null }]);
  });

  it('gets the numbers that its terminal reports later, and is not opened again', async () => {
    const { terminal, id } = await unclear(named);
    await decide(id, 'done');
    world.onAnswer = (answer: AnswerMessage) => answer;
    await world.clock.advance(10 * 60_000);
    const [charge] = terminal.bank.charges();
    expect(await world.ledger.find(id)).toMatchObject({ documentState: 'closed', operationId: charge?.entry.operationId });
    const call = { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId: String(charge?.entry.operationId) };
    const refund = world.cards.refund({ ...call, rrn: String(charge?.entry.rrn), amountBani: 100, currency: undefined });
    expect((await world.run(refund)).code).toBe(0);
  });

  it('with its number, its document stays open until CloseDoc', async () => {
    const { id } = await unclear(named);
    await decide(id, 'done', { operationId: '7' });
    expect(await world.ledger.find(id)).toMatchObject({ documentState: 'open', operationId: '7' });
  });

  it.each([
    [undefined, 'closed'],
    ['7', 'open'],
  ])('in the resolution of a dispute, with operationId %s: %s', async (operationId, documentState) => {
    const { terminal, id } = await unclear(named);
    await decide(id, 'refused');
    world.sayAs(terminal.id, {
      ...{ v: 1, id, device: terminal.id, clock: new Date(world.clock.now()).toISOString(), outcome: 'accepted' },
      journalId: terminal.journal().journalId as string,
    });
    world.onAnswer = (answer: AnswerMessage) => (answer.outcome === 'accepted' && answer.id === id ? answer : undefined);
    await world.database.queries
      .updateTable('commands')
      .set({ state: 'disputed', disputed_from: 'refused', review_since: 1, review_reason: 'why', reviewed_at: null })
      .where('id', '=', id)
      .execute();
    await decide(id, 'done', operationId === undefined ? {} : { operationId }, { closesReview: true });
    expect(await world.ledger.find(id)).toMatchObject({ state: 'done', documentState });
  });
});
