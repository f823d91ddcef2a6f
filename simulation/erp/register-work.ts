// Work at a fiscal register: receipts paid in cash or by card, cash in and out, X and Z. A request with a Receipt.Uid, an Idempotency-Key,
// both or neither is repeated until its outcome is clear, and compared with the fiscal memory and the register's bank at once.
import type { GatewayLife } from '../gateway-life.ts';
import type { ShopDevice } from '../shop-devices.ts';
import type { Via } from './caller.ts';
import { type Clerk, oftenLeft } from './clerk.ts';
import { checkClose } from './closes.ts';
import { type Recognised, recognised, type Style, styles } from './recognition.ts';

export async function useRegister(clerk: Clerk, target: ShopDevice): Promise<void> {
  const dice = clerk.random.fraction();
  if (dice < 0.12) return moveCash(clerk, target, 'cashIn');
  if (dice < 0.22) return moveCash(clerk, target, 'cashOut');
  if (dice < 0.28) return makeReport(clerk, target, dice < 0.25);
  return printReceipt(clerk, target);
}

/** 30: it did not reach the register, and will not; a new attempt is optional. */
const ends = [0, 50, 30];
/** The key belongs to another request. */
const usedKey = 22;
/** How often a cash movement with a key meets another request under it. */
const rivalRate = 0.3;

const keyOrNone = (clerk: Clerk): Style => clerk.pick(['key', 'neither']);

async function moveCash(clerk: Clerk, target: ShopDevice, way: 'cashIn' | 'cashOut'): Promise<void> {
  const { shop } = clerk;
  const style = keyOrNone(clerk);
  const amountBani = clerk.amountBani(true);
  const name = `sale ${clerk.random.uuid()} ${way} ${amountBani} at ${target.name}, named by ${style}`;
  const call = { merchantId: shop.merchantId, deviceId: target.id, callbackUri: shop.receiver.template(), amountBani };
  const recognition = recognised(clerk, style, [way, target.id, amountBani]);
  const rivalling = style === 'key' && clerk.chance(rivalRate) ? moveUnderSameKey(clerk, target, recognition) : undefined;
  const answer = await clerk.insist(
    name,
    rivalling ? [...ends, usedKey] : ends,
    (life, via) => life.fiscal[way]({ ...call, ...recognition, ...via }),
    { leaveRate: oftenLeft, isUnnamed: style === 'neither', asked: call },
  );
  const rivalMoved = await rivalling;
  const moved = timesMoved(clerk, amountBani);
  const isCalledDone = shop.earlyOperator.wasCalledDone(answer?.oid ?? '');
  if (answer?.code === 0 && moved !== 1 && !isCalledDone) shop.violated(`${name} was answered 0 and written ${moved} times`);
  if (answer && [50, 30, usedKey].includes(answer.code ?? 0) && moved > 0) shop.violated(`${name} was answered ${answer.code} and written`);
  if (rivalMoved && moved + rivalMoved() > 1) shop.violated(`${name} and another one were both written under one Idempotency-Key`);
}

/** The same key is used for cash at another register, at the same moment or a little later; of the two at most one is done. */
async function moveUnderSameKey(clerk: Clerk, target: ShopDevice, { idempotency }: Recognised): Promise<() => number> {
  const { shop, counts } = clerk;
  counts.underOneKey += 1;
  const others = shop.devices.filter(({ kind, id }) => kind === 'register' && id !== target.id);
  const deviceId = clerk.pick(others.length > 0 ? others : [target]).id;
  const amountBani = clerk.amountBani(true);
  const { hashRequest } = recognised(clerk, 'neither', ['rival', deviceId, amountBani]);
  const call = { merchantId: shop.merchantId, deviceId, callbackUri: shop.receiver.template(), amountBani };
  const recognition = { hashRequest, idempotency: { key: idempotency?.key ?? '', requestHash: hashRequest() } };
  if (clerk.chance(0.5)) await clerk.pause(clerk.between(1, 3_000));
  const name = `sale ${clerk.random.uuid()} cashIn ${amountBani} under the key of another`;
  const rival = (life: GatewayLife, via: Via) => life.fiscal.cashIn({ ...call, ...recognition, ...via });
  await clerk.insist(name, [...ends, usedKey], rival, { leaveRate: oftenLeft, asked: call });
  return () => timesMoved(clerk, amountBani);
}

/** On any register: amounts of cash are unique in a day. */
function timesMoved({ shop }: Clerk, bani: number): number {
  const documents = shop.devices.flatMap(({ device }) => device.fiscalMemory().documents());
  return documents.filter((document) => (document.type === 'moneyIn' || document.type === 'moneyOut') && document.amountBani === bani)
    .length;
}

async function makeReport(clerk: Clerk, target: ShopDevice, isFiscal: boolean): Promise<void> {
  const { shop } = clerk;
  const name = `sale ${clerk.random.uuid()} ${isFiscal ? 'Z' : 'X'} at ${target.name}`;
  const call = { merchantId: shop.merchantId, deviceId: target.id, callbackUri: shop.receiver.template(), isFiscal };
  const recognition = recognised(clerk, keyOrNone(clerk), ['report', target.id, isFiscal]);
  const sinceMs = shop.clock.now();
  const made = await clerk.insist(name, ends, (life, via) => life.fiscal.createReport({ ...call, ...recognition, ...via }), {
    leaveRate: oftenLeft,
    isUnnamed: !recognition.idempotency,
    asked: call,
  });
  checkClose(clerk, name, target, sinceMs, made);
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
  // A receipt with a Uid may be sent to another register when the first does not answer.
  const registers = shop.devices.filter(({ kind }) => kind === 'register');
  const printed = await insistOnPrint();
  const byDevice = shop.devices.map(({ device }) =>
    device
      .fiscalMemory()
      .documents()
      .filter((document) => document.type === 'receipt' && document.totalBani === bani),
  );
  const documents = byDevice.flat();
  const isGuess = documents.some(({ commandId }) => shop.earlyOperator.hasGuessed(commandId));
  // Nothing prevents a second print elsewhere after a wrong decision; the first device may have contradicted it since [D143].
  const isElsewhere = byDevice.filter(({ length }) => length > 0).length > 1;
  const isOnceGuessed = isElsewhere && documents.some(({ commandId }) => shop.earlyOperator.hasOnceGuessed(commandId));
  const isCalledDone = shop.earlyOperator.wasCalledDone(printed?.oid ?? '');
  if (printed?.code === 0 && ((documents.length === 0 && !isCalledDone) || (documents.length > 1 && !isGuess && !isOnceGuessed)))
    shop.violated(`${name} was answered 0 and printed ${documents.length} times`);
  if ((printed?.code === 50 || printed?.code === 30) && documents.length > 0 && !isGuess)
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
    // A proxy that repeats the request. Without Uid and key two at once are two receipts, so only a request with one is duplicated.
    const asked = { callbackUri: call.callbackUri, amountBani: bani, receiptUid: isNamed ? uid : undefined };
    if (style !== 'neither' && clerk.chance(shop.plan.doubledCallRate)) void clerk.caller.ask(`${name}, doubled`, print);
    return clerk.insist(name, ends, print, { leaveRate: oftenLeft / 3, isUnnamed: style === 'neither', asked });
  }
}
