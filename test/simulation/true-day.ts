// A small day in which nothing goes wrong, at one terminal and one register: for tests that write a lie into its books.
import { createCaller } from '../../simulation/erp/caller.ts';
import type { InvoiceIntent } from '../../simulation/erp/invoice-sale.ts';
import { createEventClock } from '../../simulation/event-clock.ts';
import { drawPlan, mishaps, type Plan } from '../../simulation/plan.ts';
import { openShop } from '../../simulation/shop.ts';
import type { ShopDevice } from '../../simulation/shop-devices.ts';
import { fairWeather } from '../../simulation/wire.ts';
import { seededRandom } from '../support/seeded-random.ts';

const calmPlan: Plan = {
  ...drawPlan(seededRandom(1)),
  devices: [
    { kind: 'terminal', hasJournal: true, cashiers: 1 },
    { kind: 'register', hasJournal: true, cashiers: 1 },
  ],
  gateways: 1,
  weather: fairWeather,
  every: Object.fromEntries(mishaps.map((mishap) => [mishap, Number.POSITIVE_INFINITY])) as Plan['every'],
  gatewaySkewMs: 0,
};

/** A payment, closed and refunded in part; a receipt by card, cash, a Z; an invoice that was paid and one payment that came too late. */
export async function sellTruly() {
  const clock = createEventClock();
  const shop = await openShop({ clock, seed: 1, plan: calmPlan });
  const caller = createCaller(shop, seededRandom(2));
  const [terminal, register] = shop.devices as [ShopDevice, ShopDevice];
  const { merchantId } = shop;
  await clock.advance(3_000);

  async function ask(name: string, call: Parameters<typeof caller.ask>[1]) {
    const asked = caller.ask(name, call);
    let isOver = false;
    void asked.then(() => (isOver = true));
    await clock.advance(60_000, () => isOver);
    const answer = await asked;
    if (answer.code !== 0 && !name.endsWith('22')) throw new Error(`${name}: ${answer.code}`);
    return answer;
  }

  const documentNr = 'aaaaaaaa-0000-4000-8000-000000000001';
  const pos = { merchantId, deviceId: terminal.id };
  const paid = await ask('Pay', (life, via) => life.cards.pay({ ...pos, documentNr, amountBani: 1_000, hashRequest: () => 'pay', ...via }));
  const { operationId, rrn, token } = paid.report as Record<'operationId' | 'rrn' | 'token', string>;
  const payment = { ...pos, documentNr, operationId, rrn, token };
  await ask('CloseDoc', (life, via) => life.cards.closeDoc({ ...payment, ...via }));
  const refund = { ...payment, amountBani: 300, currency: undefined, hashRequest: () => 'refund' };
  await ask('Refund', (life, via) => life.cards.refund({ ...refund, ...via }));

  const fiscal = { merchantId, deviceId: register.id, callbackUri: shop.receiver.template() };
  const receipt = {
    Uid: 'aaaaaaaa-0000-4000-8000-000000000002',
    Items: [{ Name: 'Goods', Quantity: 1, Price: 20 }],
    Payments: [{ PaymentCode: 1, Amount: 20 }],
  };
  const printed = await ask('PrintReceipt', (life, via) =>
    life.fiscal.printReceipt({ ...fiscal, receipt, hashRequest: () => 'print', ...via }),
  );
  await ask('MoneyIn', (life, via) => life.fiscal.cashIn({ ...fiscal, amountBani: 500, hashRequest: () => 'in', ...via }));
  await ask('Z', (life, via) => life.fiscal.createReport({ ...fiscal, isFiscal: true, hashRequest: () => 'z', ...via }));

  const pointOfSalesCode = 'till';
  const idempotency = { key: 'aaaaaaaa-0000-4000-8000-000000000003', requestHash: 'create' };
  const goods = { Items: [{ Name: 'Goods', Quantity: 1, Price: 7 }] };
  const invoice = { merchantId, receipt: goods, callbackUri: shop.receiver.template(), pointOfSalesCode, idempotency };
  const made = await ask('Create', (life) => life.invoices.create(invoice));
  const { oid, qr } = made.result as { oid: string; qr: string };
  const asker = { merchantId, name: terminal.name };
  await ask('Get', (life) => life.invoices.scan(qr, asker));
  await ask('Payd', (life) => life.invoices.pay(qr, { receiptId: 'first', deviceId: terminal.id }, asker));
  await ask('Payd 22', (life) => life.invoices.pay(qr, { receiptId: 'second', deviceId: terminal.id }, asker));
  const intent: InvoiceIntent = {
    name: 'invoice',
    pointOfSalesCode,
    hasKey: true,
    oid,
    paidBy: ['first'],
    isAborted: false,
    orphans: ['second'],
  };
  await clock.advance(30_000);
  return { shop, terminal, register, calls: caller.calls, intent, payId: paid.oid ?? '', printId: printed.oid ?? '' };
}

export type TrueDay = Awaited<ReturnType<typeof sellTruly>>;
