// Other hardware under the same device id: its journal is another one, so what it says about a command that was sent to the first hardware
// proves nothing, except that it was executed [D304].
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AnswerMessage } from '../../src/link/wire-schemas.ts';
import { createSaleWorld } from '../support/sale-world.ts';

let world: Awaited<ReturnType<typeof createSaleWorld>>;
beforeEach(async () => {
  world = await createSaleWorld();
});
afterEach(() => world.stop());

const nothing = () => undefined;
const everything = (answer: AnswerMessage) => answer;
const receipt = { Uid: 'u-1', Items: [{ Name: 'Goods', Quantity: 1, Price: 10 }], Payments: [{ PaymentCode: 0, Amount: 10 }] };
const decide = (id: string, state: 'done' | 'refused', more: object = {}) =>
  world.meanwhile(world.ledger.decide(id, { state, reason: 'It is said so.', actor: 'ana', ...more }));

type Device = Awaited<ReturnType<typeof world.terminal>>;
const add = (device: Device, kind: string, more: object = {}) =>
  kind === 'terminal' ? world.terminal({ id: device.id, ...more }) : world.register({ id: device.id, ...more });

/** `begin` is executed or not, its answer is lost, the hardware is replaced, and a person says that it was not executed. */
async function replaced(device: Device, begin: () => ReturnType<typeof world.pay>, kind = 'terminal') {
  world.onAnswer = nothing;
  expect((await world.run(begin())).code).toBe(3);
  await device.stop();
  world.onAnswer = everything;
  const spare = await add(device, kind);
  await world.clock.advance(20 * 60_000);
  const { id } = await world.lastCommand();
  expect((await world.ledger.find(id))?.state).toBe('unknown');
  await decide(id, 'refused');
  await world.clock.advance(60_000);
  return { id, spare };
}

describe.each(['terminal', 'register'])('a %s that executed it and was replaced', (kind) => {
  const deedsOf = (device: Device) => (kind === 'terminal' ? device.bank.charges() : device.fiscalMemory().documents()).length;
  async function setUp() {
    const device = kind === 'terminal' ? await world.terminal() : await world.register();
    const documentNr = world.random.uuid();
    const begin = () =>
      kind === 'terminal'
        ? world.pay(device.id, 50, documentNr)
        : world.fiscal.printReceipt({ merchantId: world.merchantId, deviceId: device.id, receipt });
    return { device, begin, ...(await replaced(device, begin, kind)) };
  }

  it('“never” of the spare confirms nothing, and nothing is sent to it until the first hardware has answered', async () => {
    const { device, spare, begin, id } = await setUp();
    expect(await world.ledger.find(id)).toMatchObject({ state: 'refused', outcome: null });
    expect(await world.steps(id)).toContain('answered by other hardware');
    for (let times = 0; times < 2; times += 1) {
      expect(await world.run(begin())).toMatchObject({ code: 3, oid: undefined, message: expect.stringContaining('other hardware') });
    }
    expect([deedsOf(device), deedsOf(spare)]).toEqual([1, 0]);
  });

  it('the first hardware is asked as soon as it is back, also after weeks, and its “done” is a dispute', async () => {
    const { device, spare, begin, id } = await setUp();
    const weekAgo = { settled_at: world.clock.now() - 8 * 24 * 60 * 60_000 };
    await world.database.queries.updateTable('commands').set(weekAgo).where('id', '=', id).execute();
    await spare.stop();
    const back = await add(device, kind, { stores: device.stores });
    await world.clock.advance(5_000);
    expect(await world.ledger.find(id)).toMatchObject({ state: 'disputed' });
    expect((await world.ledger.listReview(10)).map((command) => command.id)).toEqual([id]);
    expect(await world.run(begin())).toMatchObject({ code: 3, oid: id });
    expect([deedsOf(back), deedsOf(spare)]).toEqual([1, 0]);
  });

  it('takes the place of the spare without a gap, and is asked', async () => {
    const { device, id } = await setUp();
    await add(device, kind, { stores: device.stores });
    await world.clock.advance(5_000);
    expect(await world.ledger.find(id)).toMatchObject({ state: 'disputed' });
  });
});

it('what was not executed is free again as soon as the first hardware has said so', async () => {
  const terminal = await world.terminal();
  const documentNr = world.random.uuid();
  // .61: the bank says no.
  const { spare, id } = await replaced(terminal, () => world.pay(terminal.id, 50.61, documentNr));
  await spare.stop();
  const back = await world.terminal({ id: terminal.id, stores: terminal.stores });
  await world.clock.advance(5_000);
  expect(await world.ledger.find(id)).toMatchObject({ state: 'refused', outcome: 'refused' });
  expect((await world.run(world.pay(terminal.id, 50, documentNr))).code).toBe(0);
  expect(back.bank.charges()).toHaveLength(1);
});

it('a refund that was decided as not made waits with every refund and void of its payment', async () => {
  const terminal = await world.terminal();
  const documentNr = world.random.uuid();
  const { report } = await world.run(world.pay(terminal.id, 10, documentNr));
  const named = { merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId: String(report?.['operationId']) };
  await world.run(world.cards.closeDoc(named));
  const refund = (amountBani: number) => world.cards.refund({ ...named, rrn: String(report?.['rrn']), amountBani, currency: undefined });
  const { spare } = await replaced(terminal, () => refund(300));
  expect(await world.run(refund(200))).toMatchObject({ code: 3, message: expect.stringContaining('other hardware') });
  const cancel = world.cards.cancelTransaction({ ...named, token: String(report?.['token']), amountBani: 1_000 });
  expect(await world.run(cancel)).toMatchObject({ code: 3, message: expect.stringContaining('other hardware') });
  expect(world.sendsOf('Refund').filter(({ args }) => args['amount'] === 2)).toEqual([]);
  expect(spare.bank.charges()).toEqual([]);
});

it('hardware without a journal that was replaced by one with a journal is waited for, too', async () => {
  const terminal = await world.terminal({ faults: { noJournal: true } });
  const documentNr = world.random.uuid();
  const { id, spare } = await replaced(terminal, () => world.pay(terminal.id, 50, documentNr));
  expect(await world.ledger.find(id)).toMatchObject({ state: 'refused', journalId: null });
  expect(await world.run(world.pay(terminal.id, 50, documentNr))).toMatchObject({
    code: 3,
    message: expect.stringContaining('other hardware'),
  });
  expect([terminal.bank.charges().length, spare.bank.charges().length]).toEqual([1, 0]);
});

describe('an operator', () => {
  const lose = (deviceId: string) => world.meanwhile(world.ledger.declareLost({ deviceId, actor: 'ana', reason: 'It fell into the sea.' }));

  it('declares the first hardware lost: then the number is free', async () => {
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    const { spare, id } = await replaced(terminal, () => world.pay(terminal.id, 50.61, documentNr));
    expect(await lose(terminal.id)).toEqual({ released: 1, isConnected: true });
    expect(await world.steps(id)).toContain('hardware lost');
    expect((await world.run(world.pay(terminal.id, 50, documentNr))).code).toBe(0);
    expect(spare.bank.charges()).toHaveLength(1);
    await expect(lose(terminal.id)).rejects.toThrow('nothing to declare lost');
  });

  it('learns it if hardware that was declared lost comes back and had executed it', async () => {
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    const { spare, id } = await replaced(terminal, () => world.pay(terminal.id, 50, documentNr));
    await lose(terminal.id);
    expect((await world.run(world.pay(terminal.id, 50, documentNr))).code).toBe(0);
    await spare.stop();
    await world.terminal({ id: terminal.id, stores: terminal.stores });
    await world.clock.advance(5_000);
    expect(await world.ledger.find(id)).toMatchObject({ state: 'disputed' });
    expect((await world.ledger.listReview(10))[0]?.reviewReason).toContain('it may be done twice');
    expect(await world.database.queries.selectFrom('decisions').selectAll().execute()).toEqual([]);
  });

  it('learns it, too, if hardware without a journal comes back', async () => {
    const terminal = await world.terminal({ faults: { noJournal: true } });
    const documentNr = world.random.uuid();
    const { spare, id } = await replaced(terminal, () => world.pay(terminal.id, 50, documentNr));
    await lose(terminal.id);
    await spare.stop();
    await world.terminal({ id: terminal.id, stores: terminal.stores, faults: { noJournal: true } });
    await world.clock.advance(5_000);
    expect(await world.ledger.find(id)).toMatchObject({ state: 'disputed' });
  });

  it('gets as answer that no hardware is connected: then that which was connected last is lost, too', async () => {
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    const { spare } = await replaced(terminal, () => world.pay(terminal.id, 50.61, documentNr));
    await spare.stop();
    await world.clock.advance(20 * 60_000);
    expect(await lose(terminal.id)).toEqual({ released: 1, isConnected: false });
  });

  it('cannot declare the connected hardware lost: it can answer for itself', async () => {
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    world.onAnswer = nothing;
    expect((await world.run(world.pay(terminal.id, 50, documentNr))).code).toBe(3);
    world.setAway(terminal.id, true);
    await world.clock.advance(20 * 60_000);
    await decide((await world.lastCommand()).id, 'refused');
    world.onAnswer = (answer) => (answer.report?.['state'] === undefined ? answer : undefined);
    world.setAway(terminal.id, false);
    await world.clock.advance(60_000);
    await expect(lose(terminal.id)).rejects.toThrow('nothing to declare lost');
    expect(await world.run(world.pay(terminal.id, 50, documentNr))).toMatchObject({ code: 3, message: expect.stringContaining('confirm') });
    expect(terminal.bank.charges()).toHaveLength(1);
  });

  it('on another device the number is free, as decided', async () => {
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    await replaced(terminal, () => world.pay(terminal.id, 50.61, documentNr));
    const other = await world.terminal();
    expect((await world.run(world.pay(other.id, 50, documentNr))).code).toBe(0);
  });

  it('resolves a dispute that the spare has raised: the first hardware must still confirm it', async () => {
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    const { spare, id } = await replaced(terminal, () => world.pay(terminal.id, 50, documentNr));
    const journalId = spare.journal().journalId as string;
    const clock = new Date(world.clock.now()).toISOString();
    const report = { rrn: '1', operationId: '9', amount: 50 };
    world.sayAs(terminal.id, { v: 1, id, device: terminal.id, clock, journalId, outcome: 'done', report });
    await world.clock.advance(1_000);
    expect(await world.ledger.find(id)).toMatchObject({ state: 'disputed' });
    await decide(id, 'refused', { closesReview: true });
    expect(await world.run(world.pay(terminal.id, 50, documentNr))).toMatchObject({ code: 3 });
    expect(spare.bank.charges()).toEqual([]);
    await spare.stop();
    await world.terminal({ id: terminal.id, stores: terminal.stores });
    await world.clock.advance(5_000);
    expect(await world.ledger.find(id)).toMatchObject({ state: 'disputed' });
  });
});

it.each(['refused', 'unsupported', 'never', 'unknown'] as const)('%s of other hardware settles nothing', async (outcome) => {
  const terminal = await world.terminal();
  world.onAnswer = nothing;
  expect((await world.run(world.pay(terminal.id, 50))).code).toBe(3);
  const { id } = await world.lastCommand();
  const said = { v: 1, id, device: terminal.id, clock: new Date(world.clock.now()).toISOString(), journalId: world.random.uuid(), outcome };
  world.onAnswer = (answer) => (answer.id === id && answer.journalId === said.journalId ? answer : undefined);
  world.sayAs(terminal.id, said as AnswerMessage);
  await world.clock.advance(1_000);
  expect(await world.ledger.find(id)).toMatchObject({ state: 'unknown', endedUnknownAtMs: null });
  world.onAnswer = everything;
  await world.clock.advance(10 * 60_000);
  expect(await world.ledger.find(id)).toMatchObject({ state: 'done' });
});
