// A try was refused, and its number was paid or printed by another call since [D125, D251]: Operation/Status by the key of the try answers as
// the call under that key does. A till that reads "refused" there takes cash.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type OperationNames, operationStatus } from '../../src/ledger/operation-status.ts';
import { isNewCore } from '../support/core.ts';
import { createSaleWorld } from '../support/sale-world.ts';

let world: Awaited<ReturnType<typeof createSaleWorld>>;
let terminal: Awaited<ReturnType<typeof world.terminal>>;
let documentNr: string;
beforeEach(async () => {
  world = await createSaleWorld();
  terminal = await world.terminal();
  documentNr = world.random.uuid();
});
afterEach(() => world.stop());

const key = { idempotency: { key: 'till', requestHash: 'h' } };
const status = (names: OperationNames, modules: readonly ('POS' | 'Fiscal')[] = ['POS', 'Fiscal']) =>
  world.run(operationStatus(world.life, { merchantId: world.merchantId, modules: new Set(modules), ...names }));
const byKey = () => status({ idempotencyKey: 'till' });
const goods = (lei: number, PaymentCode: number) => ({
  Uid: documentNr,
  Items: [{ Name: 'Goods', Quantity: 1, Price: lei }],
  Payments: [{ PaymentCode, Amount: lei }],
});
const print = (deviceId: string, receipt: object, extras: object = {}) =>
  world.fiscal.printReceipt({ merchantId: world.merchantId, deviceId, receipt, ...extras });

describe('the key of a refused Pay, whose number', () => {
  /** .61: the bank declines it once. */
  const firstTry = () => world.run(world.pay(terminal.id, 10.61, documentNr, key));
  beforeEach(async () => {
    expect((await firstTry()).code).toBe(50);
    expect((await byKey()).code).toBe(50);
  });

  it('was paid by another call, is answered with that payment, before and after CloseDoc', async () => {
    const paid = await world.run(world.pay(terminal.id, 10.61, documentNr));
    expect(await byKey()).toEqual(paid);
    expect(await firstTry()).toEqual(paid);
    const operationId = String(paid.report?.['operationId']);
    await world.run(world.cards.closeDoc({ merchantId: world.merchantId, deviceId: terminal.id, documentNr, operationId }));
    expect(await byKey()).toEqual({ ...paid, state: 'Closed' });
    // On the new core the key leads to that payment, since it was answered with it [D315].
    expect(await firstTry()).toMatchObject({ code: isNewCore ? 0 : 22, oid: paid.oid, state: 'Closed' });
  });

  it('was paid with another amount, is answered 22 like the call: it was not "refused"', async () => {
    const paid = await world.run(world.pay(terminal.id, 20, documentNr));
    const answer = { code: 22, oid: paid.oid, state: undefined, message: expect.stringContaining('another amount') as string };
    expect(await firstTry()).toMatchObject(answer);
    expect(await byKey()).toMatchObject(answer);
  });

  it('was charged by a register, is answered 22 like the call; the number is answered as that receipt', async () => {
    const register = await world.register();
    const printed = await world.run(print(register.id, goods(10.61, 1)));
    const answer = { code: 22, oid: printed.oid, state: 'Done', message: expect.stringContaining('register has charged') as string };
    expect(await firstTry()).toMatchObject(answer);
    expect(await byKey()).toMatchObject(answer);
    expect(await status({ documentNr })).toEqual(printed);
    // Done would mean that this amount is paid [D244].
    const other = { code: 22, oid: printed.oid, state: undefined, message: expect.stringContaining('another amount') as string };
    expect(await world.run(world.pay(terminal.id, 20, documentNr))).toMatchObject(other);
    expect((await status({ documentNr }, ['POS'])).code).toBe(11);
    expect((await status({ idempotencyKey: 'till' }, ['Fiscal'])).code).toBe(11);
    const named = { merchantId: world.merchantId, deviceId: terminal.id, documentNr };
    const cancel = { ...named, operationId: 'none', token: '', amountBani: 1_061 };
    expect(await world.run(world.cards.cancelTransaction(cancel))).toMatchObject(answer);
  });

  it('is disputed in another attempt, is answered 3 like the call, whatever the amount', async () => {
    world.onAnswer = () => undefined;
    expect((await world.run(world.pay(terminal.id, 20, documentNr))).code).toBe(3);
    world.setAway(terminal.id, true);
    await world.clock.advance(30 * 60_000);
    const { id } = await world.lastCommand();
    await world.meanwhile(world.ledger.decide(id, { state: 'refused', reason: 'It is said so.', actor: 'ana' }));
    world.onAnswer = (answer) => answer;
    world.setAway(terminal.id, false);
    await world.clock.advance(60_000);
    expect(await firstTry()).toMatchObject({ code: 3, oid: id, state: 'Disputed' });
    expect(await byKey()).toMatchObject({ code: 3, oid: id, state: 'Disputed' });
  });
});

it('the key of a refused print, whose Uid was printed with another content, is answered 22 like the call', async () => {
  const register = await world.register();
  // .81: its bank declines the card once.
  const first = () => world.run(print(register.id, goods(10.81, 1), key));
  expect((await first()).code).toBe(50);
  expect((await byKey()).code).toBe(50);
  expect((await world.run(print(register.id, goods(10, 0)))).code).toBe(0);
  const answer = { code: 22, message: expect.stringContaining('other content') as string };
  expect(await first()).toMatchObject(answer);
  expect(await byKey()).toMatchObject(answer);
});
