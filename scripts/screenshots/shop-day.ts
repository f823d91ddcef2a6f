// A day in the demo shop, played over the real API with the sandbox's own devices: card sales with their receipts, cash, invoices
// by QR, refunds, a void, typical failures, and the evening's Z and closeDay.
import { randomUUID } from 'node:crypto';
import type { SandboxFile } from '../../src/cli/sandbox-file.ts';
import type { LeapingClock } from './leaping-clock.ts';

interface Answer {
  errorCode: number;
  QR?: string;
  report?: string;
}

export interface ShopDayDeps {
  file: SandboxFile;
  clock: LeapingClock;
  /** Where callbacks go; `#...#` are filled in by the gateway. */
  erpUrl: string;
  /** 0 to 1, the same sequence at every run. */
  fraction: () => number;
}

const hourMs = 3_600_000;
const cardPaymentCode = 1;
/** How many sales each terminal has in the hours from 8 on. */
const rush = [1, 2, 2, 3, 4, 3, 2, 2, 3, 4, 4, 2];
const goods: [name: string, price: number][] = [
  ['Pâine cu maia', 24.5],
  ['Brânză de oi, 0.450 kg', 63],
  ['Mere Florina, 1.5 kg', 27],
  ['Lapte 2.5 %, 1 l', 17],
  ['Cafea boabe, 250 g', 96.5],
  ['Miere de salcâm', 118],
  ['Vin roșu, Purcari', 189.9],
  ['Ciocolată neagră', 46.2],
  ['Ulei de măsline', 154.4],
  ['Pungă kraft', 2],
];

interface CardSale {
  DeviceID: string;
  documentNr: string;
  amount: number;
  operationId: string;
  rrn: string;
  token: string;
}

/** What is in a customer's basket, and the receipt of it. */
function createGoods(fraction: () => number) {
  function basket(): { Name: string; Quantity: number; Price: number }[] {
    const first = Math.floor(fraction() * goods.length);
    const count = 2 + Math.floor(fraction() * 4);
    return Array.from({ length: count }, (_, index) => {
      const [Name, Price] = goods[(first + 3 * index) % goods.length] ?? ['Pungă kraft', 2];
      return { Name, Price, Quantity: 1 + Math.floor(fraction() * 2) };
    });
  }
  const totalOf = (items: ReturnType<typeof basket>) =>
    Math.round(100 * items.reduce((sum, { Price, Quantity }) => sum + Price * Quantity, 0)) / 100;

  let receipts = 100;
  const receiptOf = (items: ReturnType<typeof basket>, PaymentCode: number, Uid: string = randomUUID()) => {
    receipts += 1;
    return { Uid, Number: `R-${receipts}`, Items: items, Payments: [{ PaymentCode }] };
  };
  const nextNumber = () => {
    receipts += 1;
    return `R-${receipts}`;
  };
  return { basket, totalOf, receiptOf, nextNumber };
}

export function createShopDay({ file, clock, erpUrl, fraction }: ShopDayDeps) {
  const idsOf = (kind: string) => file.devices.filter((device) => device.kind === kind).map(({ id }) => id);
  const [terminals, registers] = [idsOf('terminal'), idsOf('register')];
  const [register = '', second = register] = registers;

  async function post(path: string, body: object): Promise<Answer> {
    const answer = await fetch(`${file.baseUrl}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ APIKey: file.apiKey, ...body }),
    });
    return (await answer.json()) as Answer;
  }
  const get = async (path: string, query: Record<string, string>) =>
    (await (await fetch(`${file.baseUrl}${path}?${new URLSearchParams(query).toString()}`)).json()) as Answer;

  const { basket, totalOf, receiptOf, nextNumber } = createGoods(fraction);

  /** Paid and, unless it is forgotten, closed. */
  async function sellByCard(DeviceID: string, amount: number, isClosed = true): Promise<CardSale | undefined> {
    const documentNr = randomUUID();
    const paid = await post('/Device/payment/Pay', { DeviceID, amount, documentNr });
    if (paid.errorCode !== 0 || paid.report === undefined) return undefined;
    const { operationId, rrn, token } = JSON.parse(paid.report) as CardSale;
    if (isClosed) await post('/Device/payment/CloseDoc', { DeviceID, documentNr, operationId });
    return { DeviceID, documentNr, amount, operationId, rrn, token };
  }
  let printing: Promise<unknown> = Promise.resolve();
  /** A card sale with its receipt: one document on the terminal and on the register, which prints one after the other. */
  async function sellWithReceipt(terminal: string): Promise<void> {
    const items = basket();
    const sale = await sellByCard(terminal, totalOf(items));
    if (!sale) return;
    printing = printing.then(() =>
      post('/Device/Invoice/Pay', { DeviceID: register, Receipt: receiptOf(items, cardPaymentCode, sale.documentNr) }),
    );
    await printing;
  }
  const sellForCash = (DeviceID: string) => post('/Device/Invoice/Pay', { DeviceID, Receipt: receiptOf(basket(), 0) });
  const refund = ({ token: _token, ...sale }: CardSale, amount: number) => post('/Device/payment/Refund', { ...sale, amount });
  const giveBack = ({ rrn: _rrn, ...sale }: CardSale) => post('/Device/payment/CancelTransaction', sale);

  async function invoice(callback: string): Promise<string> {
    const { QR = '' } = await post('/Invoice/Create', { CallbackURI: callback, Receipt: receiptOf(basket(), 1) });
    return QR;
  }
  async function payInvoice(QR: string): Promise<void> {
    await get('/Invoice/Get', { QR });
    await get('/Invoice/Payd', { QR, ReceiptID: nextNumber(), DeviceID: second });
  }

  /** The hours from 8 until `untilMs`; leaves the clock there. */
  async function playHours(startOfDayMs: number, untilMs: number): Promise<void> {
    clock.leapTo(startOfDayMs + 7.75 * hourMs);
    await post('/Device/Money/In', { DeviceID: register, Amount: 1_000, Reason: 'Morning' });
    for (const [index, sales] of rush.entries()) {
      for (let sale = 0; sale < sales; sale += 1) {
        const atMs = startOfDayMs + (8 + index + (sale + 0.4) / sales) * hourMs;
        if (atMs > untilMs) return;
        clock.leapTo(atMs);
        const busy = terminals.filter(() => fraction() < 0.8);
        await Promise.all([
          ...busy.map((terminal) => sellWithReceipt(terminal)),
          sellForCash(second),
          ...(fraction() < 0.6 ? [invoice(erpUrl).then(payInvoice)] : []),
        ]);
      }
    }
  }

  /** The evening: the drawer is emptied, the banks' days are closed, the registers print their Z. */
  async function closeDay(): Promise<void> {
    await Promise.all(terminals.map((DeviceID) => post('/Device/payment/closeDay', { DeviceID })));
    await Promise.all(registers.map((DeviceID) => post('/Device/Report/Create', { DeviceID, Fiscal: true })));
  }

  return {
    terminals,
    registers,
    post,
    basket,
    totalOf,
    receiptOf,
    sellByCard,
    sellForCash,
    refund,
    giveBack,
    invoice,
    payInvoice,
    playHours,
    closeDay,
  };
}
