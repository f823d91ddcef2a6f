// Work at a fiscal register: receipts paid in cash or by card, cash in and out, X and Z. What has a Receipt.Uid, an Idempotency-Key, both
// or neither is repeated until it is clear, and held against the fiscal memory and the register's bank at once.
import type { ShopDevice } from '../shop-devices.ts';
import { type Clerk, oftenLeft } from './clerk.ts';
import { recognised, type Style, styles } from './recognition.ts';

export async function useRegister(clerk: Clerk, target: ShopDevice): Promise<void> {
  const dice = clerk.random.fraction();
  if (dice < 0.12) return moveCash(clerk, target, 'cashIn');
  if (dice < 0.22) return moveCash(clerk, target, 'cashOut');
  if (dice < 0.28) return makeReport(clerk, target, dice < 0.25);
  return printReceipt(clerk, target);
}

/** 30: it did not reach the register, and will not; a new attempt is a matter of taste. */
const ends = [0, 50, 30];

const keyOrNone = (clerk: Clerk): Style => clerk.pick(['key', 'neither']);

async function moveCash(clerk: Clerk, target: ShopDevice, way: 'cashIn' | 'cashOut'): Promise<void> {
  const { shop } = clerk;
  const style = keyOrNone(clerk);
  const amountBani = clerk.amountBani(true);
  const name = `sale ${clerk.random.uuid()} ${way} ${amountBani} at ${target.name}, named by ${style}`;
  const call = { merchantId: shop.merchantId, deviceId: target.id, callbackUri: shop.receiver.template(), amountBani };
  const recognition = recognised(clerk, style, [way, target.id, amountBani]);
  const answer = await clerk.insist(name, ends, (life, via) => life.fiscal[way]({ ...call, ...recognition, ...via }), oftenLeft);
  const type = way === 'cashIn' ? 'moneyIn' : 'moneyOut';
  const moved = target.device
    .fiscalMemory()
    .documents()
    .filter((document) => document.type === type && document.amountBani === amountBani).length;
  if (answer?.code === 0 && moved !== 1) shop.violated(`${name} was answered 0 and written ${moved} times`);
  if ((answer?.code === 50 || answer?.code === 30) && moved > 0) shop.violated(`${name} was answered ${answer.code} and written`);
}

async function makeReport(clerk: Clerk, target: ShopDevice, isFiscal: boolean): Promise<void> {
  const { shop } = clerk;
  const name = `sale ${clerk.random.uuid()} ${isFiscal ? 'Z' : 'X'} at ${target.name}`;
  const call = { merchantId: shop.merchantId, deviceId: target.id, callbackUri: shop.receiver.template(), isFiscal };
  const recognition = recognised(clerk, keyOrNone(clerk), ['report', target.id, isFiscal]);
  await clerk.insist(name, ends, (life, via) => life.fiscal.createReport({ ...call, ...recognition, ...via }), oftenLeft);
}

async function printReceipt(clerk: Clerk, target: ShopDevice): Promise<void> {
  const { shop } = clerk;
  clerk.counts.sales += 1;
  const style = clerk.pick(styles);
  const isNamed = style === 'document' || style === 'both';
  const bani = clerk.amountBani(true);
  const uid = clerk.random.uuid();
  const receipt = {
    ...(isNamed ? { Uid: uid } : {}),
    Items: [{ Name: 'Goods', Quantity: 1, Price: bani / 100 }],
    Payments: [{ PaymentCode: clerk.chance(0.5) ? 1 : 0, Amount: bani / 100 }],
  };
  const name = `sale ${uid} receipt of ${bani}, named by ${style}`;
  // A receipt that has a Uid may be sent to another register when the first gives no answer.
  const registers = shop.devices.filter(({ kind }) => kind === 'register');
  const printed = await insistOnPrint();
  const documents = shop.devices
    .flatMap(({ device }) => device.fiscalMemory().documents())
    .filter((document) => document.type === 'receipt' && document.totalBani === bani);
  if (printed?.code === 0 && documents.length !== 1) shop.violated(`${name} was answered 0 and printed ${documents.length} times`);
  if ((printed?.code === 50 || printed?.code === 30) && documents.length > 0)
    shop.violated(`${name} was answered ${printed.code} and printed`);
  if (printed?.code === 0) clerk.counts.printed += 1;

  async function insistOnPrint() {
    const call = { merchantId: shop.merchantId, callbackUri: shop.receiver.template(), receipt };
    const recognition = recognised(clerk, style, ['print', target.id, receipt]);
    const print: Parameters<Clerk['insist']>[2] = (life, via) => {
      const isElsewhere = style === 'document' && clerk.chance(0.1);
      const deviceId = isElsewhere ? clerk.pick(registers).id : target.id;
      return life.fiscal.printReceipt({ ...call, deviceId, ...recognition, ...via });
    };
    // A proxy that repeats. Without any name two at once are two receipts, so only what has one is doubled.
    if (style !== 'neither' && clerk.chance(shop.plan.doubledCallRate)) void clerk.caller.ask(`${name}, doubled`, print);
    return clerk.insist(name, ends, print, oftenLeft / 3);
  }
}
