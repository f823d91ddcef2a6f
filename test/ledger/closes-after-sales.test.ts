// A close whose caller never heard its end stands for an equal request only until its device did something that is not in it [D58]: closeDay
// and Z after further sales were answered 0 with the report of before, and the new sales stayed outside the bank and the Z.
import { beforeEach, describe, expect, it } from 'vitest';
import { isNewCore } from '../support/core.ts';
import { createSaleWorld, type SaleWorld } from '../support/sale-world.ts';

const minuteMs = 60_000;
let world: SaleWorld;
let terminal: Awaited<ReturnType<SaleWorld['terminal']>>;
let register: Awaited<ReturnType<SaleWorld['register']>>;

beforeEach(async () => {
  world = await createSaleWorld();
  terminal = await world.terminal();
  register = await world.register();
});

const call = (deviceId: string) => ({ merchantId: world.merchantId, deviceId });
const closeDay = () => world.run(world.cards.closeDay({ ...call(terminal.id), hashRequest: () => 'closeDay' }));
const report = (isFiscal: boolean) =>
  world.run(world.fiscal.createReport({ ...call(register.id), isFiscal, hashRequest: () => (isFiscal ? 'Z' : 'X') }));

async function pay(lei: number) {
  const documentNr = world.random.uuid();
  const paid = await world.run(world.pay(terminal.id, lei, documentNr));
  return { documentNr, operationId: String(paid.report?.operationId), code: paid.code };
}

async function sell(lei: number): Promise<void> {
  const { code, ...payment } = await pay(lei);
  expect(code).toBe(0);
  expect((await world.run(world.cards.closeDoc({ ...call(terminal.id), ...payment }))).code).toBe(0);
}

const print = (lei: number, Uid: string) => {
  const receipt = { Uid, Items: [{ Name: 'Bread', Quantity: 1, Price: lei }], Payments: [{ PaymentCode: 0 }] };
  return world.run(world.fiscal.printReceipt({ ...call(register.id), receipt }));
};

/** Its caller hears 3 and asks no more; a minute later the device has told how it ended. */
async function unheard(close: () => ReturnType<SaleWorld['run']>) {
  world.onAnswer = (answer) => (answer.outcome === 'accepted' ? answer : undefined);
  const first = await close();
  expect(first.code).toBe(3);
  world.onAnswer = (answer) => answer;
  await world.clock.advance(minuteMs);
  return first;
}

const receipt = { Items: [{ Name: 'Bread', Quantity: 1, Price: 7 }] };

/** An invoice that is paid at this device by its QR; the gateway sends no command for that. */
async function sellByQr(deviceId: string): Promise<void> {
  const { invoices } = world.life;
  const asker = { merchantId: world.merchantId, name: 'device' };
  const { qr } = await world.meanwhile(invoices.create({ merchantId: world.merchantId, receipt }));
  await world.meanwhile(invoices.scan(qr, asker));
  await world.meanwhile(invoices.pay(qr, { receiptId: world.random.uuid(), deviceId }, asker));
}

const unsettled = () => terminal.bank.charges().filter(({ isSettled }) => !isSettled);
const zTotals = () =>
  register
    .fiscalMemory()
    .documents()
    .flatMap((document) => (document.type === 'Z' ? document.totals.totalBani : []));

describe('closeDay', () => {
  it('after further payments closes the day with them', async () => {
    await sell(10);
    const first = await unheard(closeDay);
    await sell(90);
    await sell(90);
    const second = await closeDay();
    expect(second).toMatchObject({ code: 0, isRepeated: false, report: { count: 2, amount: 180 } });
    expect(second.oid).not.toBe(first.oid);
    expect(unsettled()).toEqual([]);
  });

  it('while a further payment’s document is open is 31, and not the 0 of before', async () => {
    await unheard(closeDay);
    await pay(90);
    expect((await closeDay()).code).toBe(31);
  });

  it('after a declined payment returns the earlier close, to which nothing was added; or closes anew, which moves no money', async () => {
    await sell(10);
    const first = await unheard(closeDay);
    expect((await pay(10.61)).code).toBe(50);
    const second = await closeDay();
    // On the new core the order of the begins decides [D307].
    expect(second).toMatchObject({ code: 0, isRepeated: !isNewCore });
    expect(second.oid === first.oid).toBe(!isNewCore);
    expect(unsettled()).toEqual([]);
  });

  it('after payments on another terminal returns the earlier close', async () => {
    const first = await unheard(closeDay);
    const other = await world.terminal();
    expect((await world.run(world.pay(other.id, 10, 'elsewhere'))).code).toBe(0);
    expect(await closeDay()).toMatchObject({ code: 0, isRepeated: true, oid: first.oid });
  });
});

describe.each([
  ['closeDay', () => ({ close: closeDay, deviceId: terminal.id, otherId: register.id })],
  ['a Z report', () => ({ close: () => report(true), deviceId: register.id, otherId: terminal.id })],
])('%s after a QR sale', (_name, of) => {
  it('on its device runs anew: that sale is in no close before it [D149]', async () => {
    const { close, deviceId } = of();
    const first = await unheard(close);
    await sellByQr(deviceId);
    const second = await close();
    expect(second).toMatchObject({ code: 0, isRepeated: false });
    expect(second.oid).not.toBe(first.oid);
  });

  it('on another device, before it, or that was not paid returns the earlier close', async () => {
    const { close, deviceId, otherId } = of();
    await sellByQr(deviceId);
    await world.clock.advance(1);
    const first = await unheard(close);
    await sellByQr(otherId);
    await world.meanwhile(world.life.invoices.create({ merchantId: world.merchantId, receipt, deviceId }));
    expect(await close()).toMatchObject({ code: 0, isRepeated: true, oid: first.oid });
  });
});

describe('a Z report', () => {
  it('after a further receipt is printed, with that receipt in it', async () => {
    await print(100, 'a');
    const first = await unheard(() => report(true));
    expect((await print(7, 'b')).code).toBe(0);
    const second = await report(true);
    expect(second).toMatchObject({ code: 0, isRepeated: false });
    expect(second.oid).not.toBe(first.oid);
    expect(zTotals()).toEqual([10_000, 700]);
  });

  it('after a receipt whose outcome is disputed or not known yet is not the 0 of before', async () => {
    const first = await unheard(() => report(true));
    world.onAnswer = (answer) => (answer.outcome === 'done' ? { ...answer, outcome: 'unknown' } : answer);
    expect((await print(7, 'a')).code).toBe(3);
    const { id } = await world.lastCommand();
    expect((await report(true)).code).toBe(31);
    await world.meanwhile(world.ledger.decide(id, { state: 'refused', reason: 'No paper came.', actor: 'ana' }));
    world.onAnswer = (answer) => answer;
    const decided = await world.ledger.find(id);
    await world.meanwhile(world.ledger.askDevice(decided as NonNullable<typeof decided>, 'ana'));
    expect(await world.ledger.find(id)).toMatchObject({ state: 'disputed' });
    const second = await report(true);
    expect(second).toMatchObject({ code: 0, isRepeated: false });
    expect(second.oid).not.toBe(first.oid);
    expect(zTotals()).toEqual([0, 700]);
  });

  it('with nothing but an X report in between is not printed twice', async () => {
    await print(100, 'a');
    const first = await unheard(() => report(true));
    expect((await report(false)).code).toBe(0);
    expect(await report(true)).toMatchObject({ code: 0, isRepeated: true, oid: first.oid });
    expect(zTotals()).toEqual([10_000]);
  });
});

it('any other call keeps its outcome, whatever its device did since: cash is not deposited twice', async () => {
  const deposit = () => world.run(world.fiscal.cashIn({ ...call(register.id), amountBani: 500, hashRequest: () => 'in 5' }));
  const first = await unheard(deposit);
  expect((await print(7, 'a')).code).toBe(0);
  expect(await deposit()).toMatchObject({ code: 0, isRepeated: true, oid: first.oid });
  expect(register.fiscalMemory().drawerBani).toBe(500 + 700);
});
