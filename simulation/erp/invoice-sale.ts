// A sale by QR: an invoice is created, scanned and paid at a device, or by the ERP with a card payment of its own, or cancelled, or left
// until it expires. The answers are recorded, and compared with the invoice in the calm.
import type { GatewayLife } from '../gateway-life.ts';
import type { ShopDevice } from '../shop-devices.ts';
import { sellByCard } from './card-sale.ts';
import type { Clerk } from './clerk.ts';
import { recognised } from './recognition.ts';

/** The answers to ERP and devices about one invoice. */
export interface InvoiceIntent {
  name: string;
  /** On every invoice that this sale may have created. */
  pointOfSalesCode: string;
  hasKey: boolean;
  oid: string;
  /** Payd was answered 0 for this receipt. */
  paidBy: string[];
  /** The card payment for it was aborted [D19], or it was cancelled [D142], and that was answered 0. */
  isAborted: boolean;
  /** Payd was answered 22 for this receipt: its money was taken, and it must be listed. */
  orphans: string[];
}

interface Invoice {
  clerk: Clerk;
  intent: InvoiceIntent;
  qr: string;
  target: ShopDevice;
}

const minuteMs = 60_000;

export async function sellByInvoice(clerk: Clerk, intents: InvoiceIntent[]): Promise<void> {
  const invoice = await create(clerk, intents);
  if (!invoice) return;
  clerk.counts.invoices += 1;
  const dice = clerk.random.fraction();
  if (dice < 0.15) return;
  if (dice < 0.25) return cancel(invoice);
  await clerk.pause(clerk.between(500, 30_000));
  const isCard = dice < 0.4 && invoice.target.kind === 'terminal';
  const { intent } = invoice;
  const paying = { documentNr: intent.oid, abortRate: 0.4, onAborted: () => void (intent.isAborted = true) };
  // Another device has the QR, too, and takes the money while the card is being charged.
  const beside = isCard && clerk.chance(0.5) && (await scan(invoice)) ? payLater(invoice) : undefined;
  if (isCard && !(await sellByCard(clerk, invoice.target, paying))) return beside;
  await beside;
  if (!(await scan(invoice)) && !isCard) return;
  // It is cancelled while it is being paid.
  const cancelling = clerk.chance(0.05) ? cancel(invoice) : undefined;
  const receipts = clerk.chance(0.1) ? [clerk.random.uuid(), clerk.random.uuid()] : [clerk.random.uuid()];
  await Promise.all(receipts.map((receiptId) => payd(invoice, receiptId)));
  await cancelling;
}

async function create(clerk: Clerk, intents: InvoiceIntent[]): Promise<Invoice | undefined> {
  const { shop } = clerk;
  clerk.counts.sales += 1;
  const pointOfSalesCode = clerk.random.uuid();
  const name = `sale ${pointOfSalesCode} invoice`;
  const bani = clerk.amountBani(true);
  const hasKey = clerk.chance(0.5);
  const validForMs = clerk.pick([undefined, clerk.between(5_000, minuteMs), clerk.between(minuteMs, 10 * minuteMs)]);
  const request = {
    merchantId: shop.merchantId,
    receipt: { Items: [{ Name: 'Goods', Quantity: 1, Price: bani / 100 }] },
    callbackUri: shop.receiver.template(),
    pointOfSalesCode,
    ...(validForMs === undefined ? {} : { validTo: new Date(shop.clock.now() + validForMs).toISOString() }),
  };
  const { idempotency } = recognised(clerk, hasKey ? 'key' : 'neither', ['create', pointOfSalesCode]);
  const made = await clerk.insist(name, [0, 40], (life) => life.invoices.create({ ...request, idempotency }));
  // Repeated after its ValidTo, it is 40.
  if (made?.code !== 0) return undefined;
  const { oid, qr } = made.result as { oid: string; qr: string };
  shop.trace(`${name} is ${oid}, valid for ${validForMs ?? 'ever'}`);
  const intent: InvoiceIntent = { name, pointOfSalesCode, hasKey, oid, paidBy: [], isAborted: false, orphans: [] };
  intents.push(intent);
  // A register takes QR sales too; a card pays at a terminal only.
  return { clerk, intent, qr, target: clerk.pick(shop.devices) };
}

async function scan({ clerk, intent, qr, target }: Invoice): Promise<boolean> {
  const asker = { merchantId: clerk.shop.merchantId, name: target.name, deviceId: target.id };
  const call = (life: GatewayLife) => life.invoices.scan(qr, asker);
  if (clerk.chance(0.1)) void clerk.caller.ask(`${intent.name} Get ${intent.oid}, doubled`, call);
  const answer = await clerk.insist(`${intent.name} Get ${intent.oid}`, [0, 22], call);
  return answer?.code === 0;
}

async function payLater(invoice: Invoice): Promise<void> {
  const { clerk } = invoice;
  await clerk.pause(clerk.between(100, 20_000));
  const target = clerk.pick(clerk.shop.devices.filter((device) => device !== invoice.target));
  await payd({ ...invoice, target }, clerk.random.uuid());
}

async function payd({ clerk, intent, qr, target }: Invoice, receiptId: string): Promise<void> {
  const asker = { merchantId: clerk.shop.merchantId, name: target.name };
  const call = (life: GatewayLife) => life.invoices.pay(qr, { receiptId, deviceId: target.id }, asker);
  if (clerk.chance(0.1)) void clerk.caller.ask(`${intent.name} Payd ${intent.oid}, doubled`, call);
  const answer = await clerk.insist(`${intent.name} Payd ${intent.oid} by ${receiptId}`, [0, 22], call);
  if (answer?.code === 0) intent.paidBy.push(receiptId);
  if (answer?.code === 0) clerk.counts.invoicesPaid += 1;
  if (answer?.code === 22) intent.orphans.push(receiptId);
}

/** By its merchant, in the cabinet, or by its ERP [D142]. */
async function cancel(invoice: Invoice): Promise<void> {
  const { clerk, intent } = invoice;
  const { merchantId } = clerk.shop;
  await clerk.pause(clerk.between(100, 20_000));
  if (clerk.chance(0.5)) return withdraw(invoice);
  await clerk.insist(`${intent.name} cancel ${intent.oid}`, [0, 22], async (life) => {
    await life.invoices.cancelInvoice({ oid: intent.oid, merchantId, reason: 'By the merchant.', actor: 'merchant' });
    life.callbacks.wake();
  });
}

async function withdraw({ clerk, intent, target }: Invoice): Promise<void> {
  const named = recognised(clerk, clerk.pick(['key', 'neither']), ['withdraw', intent.oid]);
  const call = { merchantId: clerk.shop.merchantId, deviceId: target.id, documentNr: intent.oid, operationId: 'none', token: '' };
  const answer = await clerk.insist(`${intent.name} withdraw ${intent.oid}`, [0, 20, 22], (life, via) =>
    life.cards.cancelTransaction({ ...call, amountBani: 100, ...named, ...via }),
  );
  if (answer?.code === 0) intent.isAborted = true;
}
