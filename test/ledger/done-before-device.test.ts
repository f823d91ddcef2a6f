// What was done is found before the device is looked at [D60]: a repeat of something finished, printed or unclear gets its answer
// although the device has been disabled since. And every such answer names its operation [D61].
import { beforeEach, describe, expect, it } from 'vitest';
import { deviceAccessTopic } from '../../src/access/merchant-device.ts';
import { createSaleWorld, type SaleWorld } from '../support/sale-world.ts';

let world: SaleWorld;

beforeEach(async () => {
  world = await createSaleWorld();
});

const key = (name: string) => ({ idempotency: { key: name, requestHash: 'body' } });
const callTo = (deviceId: string) => ({ merchantId: world.merchantId, deviceId });

async function disable(deviceId: string): Promise<void> {
  await world.database.queries.updateTable('devices').set({ disabled_at: 1 }).where('id', '=', deviceId).execute();
  world.database.wake(deviceAccessTopic);
}

function receipt() {
  return { Uid: world.random.uuid(), Items: [{ Name: 'Bread', Quantity: 1, Price: 10 }], Payments: [{ PaymentCode: 0, Amount: 10 }] };
}

describe('a repeat for a device that was disabled since', () => {
  it('of POS Mode gets the stored answer: by documentNr, by key, and of CloseDoc', async () => {
    const terminal = await world.terminal();
    const call = callTo(terminal.id);
    const documentNr = world.random.uuid();
    const pay = () => world.run(world.pay(terminal.id, 10, documentNr));
    const paid = await pay();
    expect(paid.code).toBe(0);
    await disable(terminal.id);
    expect(await pay()).toEqual(paid);
    await world.database.queries.updateTable('devices').set({ disabled_at: null }).execute();

    const payment = { documentNr, operationId: String(paid.report?.operationId), rrn: String(paid.report?.rrn) };
    const closeDoc = () => world.run(world.cards.closeDoc({ ...call, ...payment }));
    const closed = await closeDoc();
    const refund = () => world.run(world.cards.refund({ ...call, ...payment, amountBani: 100, currency: 'MDL', ...key('refund') }));
    const refunded = await refund();
    const closeDay = () => world.run(world.cards.closeDay({ ...call, ...key('day') }));
    const dayClosed = await closeDay();
    const cancel = () => world.run(world.cards.cancelTransaction({ ...call, ...payment, token: 'x', amountBani: 1000, ...key('void') }));
    await cancel();
    expect([closed.code, refunded.code, dayClosed.code]).toEqual([0, 0, 0]);
    await disable(terminal.id);
    expect(await closeDoc()).toEqual(closed);
    expect(await refund()).toEqual(refunded);
    expect(await closeDay()).toEqual(dayClosed);
    // What is new still hears 30.
    expect((await world.run(world.cards.closeDay(call))).code).toBe(30);
    expect((await world.run(world.pay(terminal.id, 10))).code).toBe(30);
  });

  it('of CloseDoc after an operator closed the document by hand is 0', async () => {
    const terminal = await world.terminal();
    const paid = await world.run(world.pay(terminal.id, 10));
    const { id, documentNr } = await world.lastCommand('Pay');
    await world.cards.closeDocumentByHand({ commandId: id, actor: 'test', reason: 'broken' });
    await disable(terminal.id);
    const closing = world.cards.closeDoc({
      ...callTo(terminal.id),
      documentNr: documentNr ?? '',
      operationId: String(paid.report?.operationId),
    });
    expect((await world.run(closing)).code).toBe(0);
  });

  it('of Fiscal Mode gets the stored answer: by Receipt.Uid and by key', async () => {
    const register = await world.register();
    const call = callTo(register.id);
    const value = receipt();
    const print = () => world.run(world.fiscal.printReceipt({ ...call, receipt: value }));
    const cashIn = () => world.run(world.fiscal.cashIn({ ...call, amountBani: 500, ...key('in') }));
    const [printed, booked] = [await print(), await cashIn()];
    expect([printed.code, booked.code]).toEqual([0, 0]);
    await disable(register.id);
    expect(await print()).toEqual(printed);
    expect(await cashIn()).toEqual(booked);
    expect((await world.run(world.fiscal.cashIn({ ...call, amountBani: 500 }))).code).toBe(30);
    expect((await world.run(world.fiscal.printReceipt({ ...call, receipt: receipt() }))).code).toBe(30);
  });

  it('of something unclear is 3 until it is settled, and then the outcome', async () => {
    const terminal = await world.terminal();
    const documentNr = world.random.uuid();
    const pay = () => world.run(world.pay(terminal.id, 10, documentNr));
    world.onAnswer = (answer) => (answer.outcome === 'done' ? undefined : answer);
    expect((await pay()).code).toBe(3);
    await disable(terminal.id);
    expect((await pay()).code).toBe(3);
    world.onAnswer = (answer) => answer;
    await world.clock.advance(60_000);
    expect((await pay()).code).toBe(0);
    expect(terminal.bank.charges()).toHaveLength(1);
  });
});

describe('OID', () => {
  it('is in the answer of every ledger command, also with 3 and 50, and is the command’s id', async () => {
    const terminal = await world.terminal();
    const register = await world.register();
    const call = callTo(terminal.id);
    const refused = await world.run(world.pay(terminal.id, 10.61));
    expect(refused).toMatchObject({ code: 50, oid: (await world.lastCommand('Pay')).id });
    const paid = await world.run(world.pay(terminal.id, 10));
    const { id, documentNr } = await world.lastCommand('Pay');
    expect(paid.oid).toBe(id);
    const payment = { documentNr: documentNr ?? '', operationId: String(paid.report?.operationId), rrn: String(paid.report?.rrn) };
    const told = {
      CloseDoc: await world.run(world.cards.closeDoc({ ...call, ...payment })),
      Refund: await world.run(world.cards.refund({ ...call, ...payment, amountBani: 100, currency: 'MDL' })),
      CloseDay: await world.run(world.cards.closeDay(call)),
      MoneyIn: await world.run(world.fiscal.cashIn({ ...callTo(register.id), amountBani: 500 })),
      MoneyOut: await world.run(world.fiscal.cashOut({ ...callTo(register.id), amountBani: 100 })),
      Report: await world.run(world.fiscal.createReport({ ...callTo(register.id), isFiscal: true })),
      PrintReceipt: await world.run(world.fiscal.printReceipt({ ...callTo(register.id), receipt: receipt() })),
    };
    for (const [name, { code, oid }] of Object.entries(told))
      expect({ code, oid }).toEqual({ code: 0, oid: (await world.lastCommand(name)).id });

    world.onAnswer = () => undefined;
    const unclear = await world.run(world.pay(terminal.id, 10));
    expect(unclear).toMatchObject({ code: 3, oid: (await world.lastCommand('Pay')).id });
    expect(unclear.message).toContain('GET Device/Operation/Status');
  });
});
