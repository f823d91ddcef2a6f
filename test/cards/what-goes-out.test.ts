// What a terminal is sent, by which calls it is left alone, and that an abort is not confirmed by a payment that was made.
import { beforeEach, describe, expect, it } from 'vitest';
import type { CardsDeps } from '../../src/cards/cards-deps.ts';
import { plainOperation } from '../../src/cards/plain-operation.ts';
import { isNewCore } from '../support/core.ts';
import { createFakeRecipient } from '../support/fake-recipient.ts';
import { createSaleWorld, type SaleWorld } from '../support/sale-world.ts';

let world: SaleWorld;
let terminal: Awaited<ReturnType<SaleWorld['terminal']>>;

beforeEach(async () => {
  world = await createSaleWorld();
  terminal = await world.terminal({ timing: { customerMs: 1_000, bankMs: 5_000 } });
});

const call = () => ({ merchantId: world.merchantId, deviceId: terminal.id });

async function paid(documentNr: string) {
  const { report } = await world.run(world.pay(terminal.id, 10, documentNr));
  const named = { ...call(), documentNr, operationId: String(report?.['operationId']), rrn: String(report?.['rrn']) };
  return { ...named, token: String(report?.['token']), amountBani: 1_000, currency: undefined };
}

describe('Pay', () => {
  it('sends the terminal amount, currency and the documentNr if there is one', async () => {
    const documentNr = world.random.uuid();
    const payment = await paid(documentNr);
    await world.run(world.cards.closeDoc(payment));
    await world.run(world.cards.pay({ ...call(), amountBani: 550, documentNr: undefined }));
    expect(world.sendsOf('Pay').map(({ args }) => args)).toEqual([
      { amount: 10, currency: 'MDL', documentNr },
      { amount: 5.5, currency: 'MDL' },
    ]);
  });

  it('and CloseDoc, which have numbers, are not recognised by their content', async () => {
    const documentNr = world.random.uuid();
    const leaving = createFakeRecipient();
    const hash = { hashRequest: () => 'equal', recipient: leaving };
    const { report } = await world.run(world.cards.pay({ ...call(), amountBani: 1_000, documentNr, ...hash }));
    const close = { ...call(), documentNr, operationId: String(report?.['operationId']), ...hash };
    const closed = await world.run(world.cards.closeDoc(close));
    leaving.leave();
    await world.clock.advance(100);
    expect((await world.commands()).map(({ requestHash }) => requestHash)).toEqual([null, null]);
    expect(await world.run(world.cards.closeDoc({ ...close, recipient: createFakeRecipient() }))).toEqual(closed);
    expect(closed).toMatchObject({ code: 0, isRepeated: false });
  });
});

describe('an operation that is no payment and refers to none', () => {
  it.each([
    ['with its amount', 550, { amount: 5.5, currency: 'MDL' }],
    ['without one, if it has none', undefined, {}],
  ])('is sent %s', async (_how, amountBani, args) => {
    const named = { ...call(), name: 'CloseDay' as const, ...(amountBani === undefined ? {} : { amountBani }) };
    // CloseDay has no amount; an operation of the catalogue that has one is sent by the same function.
    const planned: unknown[] = [];
    const run: typeof world.ledger.run = async (asked, plan) => {
      planned.push(await plan());
      return world.ledger.run(asked, plan);
    };
    const ledger = Object.assign(Object.create(world.ledger) as typeof world.ledger, { run });
    if (isNewCore) await world.run(world.cards.plainOperation(named));
    else await world.run(plainOperation({ ...world.life, ledger } as unknown as CardsDeps, named));
    if (!isNewCore) expect(planned).toMatchObject([{ name: 'CloseDay', args, amountBani }]);
    expect(world.sendsOf('CloseDay').map((sent) => sent.args)).toEqual([args]);
  });

  it('reaches the terminal', async () => {
    expect((await world.run(world.cards.plainOperation({ ...call(), name: 'CloseDay' }))).code).toBe(0);
    expect(world.sendsOf('CloseDay')).toHaveLength(1);
  });
});

describe('a payment that was', () => {
  it('voided has no document to close, and the terminal is not asked', async () => {
    const payment = await paid(world.random.uuid());
    expect((await world.run(world.cards.cancelTransaction(payment))).code).toBe(0);
    const told = await world.run(world.cards.closeDoc(payment));
    expect(told).toMatchObject({ code: 22, message: expect.stringContaining('voided') as string });
    expect(world.sendsOf('CloseDoc')).toEqual([]);
  });

  it.each(['closeDoc', 'refund', 'cancelTransaction'] as const)(
    'removed after its time is 22 in %s, also of a terminal that is away',
    async (name) => {
      const payment = await paid(world.random.uuid());
      await world.database.queries.updateTable('commands').set({ removed_at: 1, document_state: 'closed' }).execute();
      world.setAway(terminal.id, true);
      await world.clock.advance(100);
      const told = await world.run(world.cards[name](payment));
      expect(told).toMatchObject({ code: 22, message: expect.stringContaining('removed') as string });
    },
  );

  it('closed by hand has an entry in its history, with person and reason', async () => {
    await paid(world.random.uuid());
    const { id } = await world.lastCommand();
    await world.cards.closeDocumentByHand({ commandId: id, actor: 'Ana', reason: 'no power' });
    expect(await world.ledger.timelineOf(id)).toContainEqual(expect.objectContaining({ step: 'closed by hand', detail: 'Ana: no power' }));
  });

  it('made although an abort was requested is not answered as stopped, when the terminal’s refusal was lost', async () => {
    const documentNr = world.random.uuid();
    const paying = world.pay(terminal.id, 10, documentNr);
    await world.clock.advance(3_000);
    world.onAnswer = (answer) => (world.sendsOf('Abort').some(({ id }) => id === answer.id) ? undefined : answer);
    const asked = { ...call(), documentNr, operationId: 'none', token: 'none', amountBani: 1_000 };
    const { id } = await world.lastCommand();
    expect(await world.run(world.cards.cancelTransaction(asked))).toMatchObject({ code: 22, oid: id });
    expect((await world.run(paying)).code).toBe(0);
    expect(terminal.bank.charges()).toHaveLength(1);
    if (!isNewCore) expect((await world.lastCommand()).abortRequestedAtMs).not.toBeNull();
  });
});
