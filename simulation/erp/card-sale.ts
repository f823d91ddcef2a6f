// A sale by card: Pay with documentNr, with an Idempotency-Key, with both or with neither [D13, D58], repeated until its outcome is clear;
// then CloseDoc or a void, sometimes refunds, sometimes a close of the bank day. Every approval and refusal is compared with the bank's
// book at once: a refusal that charged, or an approval that did not, is a violation.

import type { ShopDevice } from '../shop-devices.ts';
import type { Answer } from './caller.ts';
import { type Clerk, oftenLeft, sparingBusy } from './clerk.ts';
import { checkClose } from './closes.ts';
import type { Recognised } from './recognition.ts';
import { recognised, type Style, styles } from './recognition.ts';

const maxRefusals = 10;

interface CardSale {
  clerk: Clerk;
  target: ShopDevice;
  /** Its name in the chronicle. */
  name: string;
  /** For the calls about it; Pay itself sends it only in some styles. */
  documentNr: string;
  style: Style;
  bani: number;
  /** How often its customer cancels. */
  abortRate: number;
  /** The key that its aborts share: each attempt may be aborted, and an abort of an earlier attempt does not concern this one. */
  abortAs: Recognised;
  onAborted(): void;
  /** It may have ended meanwhile: then it is 22, and nothing is charged [D142]. */
  isForInvoice: boolean;
}

interface Invoiced {
  documentNr: string;
  abortRate: number;
  /** An abort of it was answered 0. */
  onAborted(): void;
}

/** `invoiced`: it pays an invoice, whose OID is the documentNr. */
export async function sellByCard(clerk: Clerk, target: ShopDevice, invoiced?: Invoiced): Promise<boolean> {
  const { counts, random, shop } = clerk;
  counts.sales += 1;
  const style = clerk.pick(styles);
  const bani = clerk.amountBani(style === 'neither' || style === 'key');
  const documentNr = invoiced?.documentNr ?? random.uuid();
  const abortRate = invoiced?.abortRate ?? 0.16;
  const sale: CardSale = {
    clerk,
    target,
    name: `sale ${random.uuid()}`,
    documentNr,
    style,
    bani,
    abortRate,
    abortAs: recognised(clerk, clerk.pick(['key', 'neither']), ['abort', target.id, documentNr]),
    onAborted: () => invoiced?.onAborted(),
    isForInvoice: invoiced !== undefined,
  };
  shop.trace(`${sale.name}: Pay ${bani} on ${target.name} as ${documentNr}, named by ${style}`);
  const paid = await payUntilClear(sale);
  if (paid?.code === 50) counts.refused += 1;
  if (paid?.code !== 0) return false;
  counts.paid += 1;
  if (paid.report.operationId === undefined) await closeByHand(sale, paid.oid ?? '');
  else await finish(sale, paid);
  return true;
}

/** The amount that the bank has charged and not returned for this sale. */
function chargesOf({ clerk, documentNr, style, bani }: CardSale) {
  const isNamed = style === 'document' || style === 'both';
  return clerk.shop.devices
    .flatMap(({ device }) => device.bank.charges())
    .filter(({ entry }) => (isNamed ? entry.documentNr === documentNr : entry.documentNr === undefined && entry.amountBani === bani));
}

async function payUntilClear(sale: CardSale): Promise<Answer | undefined> {
  const { clerk, name, target, style, documentNr, bani } = sale;
  const { shop } = clerk;
  const isNamed = style === 'document' || style === 'both';
  const aborting: Promise<void>[] = [];
  const isPatient = clerk.chance(0.9);
  const named = () => recognised(clerk, style, ['pay', target.id, bani, isNamed ? documentNr : '']);
  let recognition = named();
  for (;;) {
    // A customer who has cancelled once does so again.
    if (isNamed && clerk.chance(aborting.length > 0 ? 0.6 : sale.abortRate)) aborting.push(abortLater(sale));
    const call = { merchantId: shop.merchantId, deviceId: target.id, amountBani: bani, ...(isNamed ? { documentNr } : {}) };
    const pay: Parameters<Clerk['insist']>[2] = (life, via) => life.cards.pay({ ...call, ...recognition, ...via });
    // A proxy that repeats the request. Without number and key two at once are two sales, so only a request with one is duplicated.
    if (style !== 'neither' && clerk.chance(shop.plan.doubledCallRate)) void clerk.caller.ask(`${name} Pay, doubled`, pay);
    const paid = await clerk.insist(`${name} Pay ${documentNr}`, [0, 50, 30, ...(sale.isForInvoice ? [22] : [])], pay, {
      isUnnamed: style === 'neither',
      asked: call,
      // Without the bank's number the till cannot close the document.
      doubtRate: 1,
    });
    // A payment that a person settled as refused, and whose terminal can no longer report it, may be made again.
    const charges = chargesOf(sale).filter(({ entry }) => !shop.earlyOperator.isBeyondHelp(entry.reference));
    const isFailure = paid?.code === 50 || paid?.code === 30;
    if (isFailure && charges.some(({ isVoided, entry }) => !isVoided && !shop.earlyOperator.hasGuessed(entry.reference)))
      shop.violated(`${name}: Pay ${documentNr} was answered ${paid?.code}, and the bank has charged it`);
    if (paid?.code === 0 && charges.length !== 1 && !shop.earlyOperator.isDoneBeyondHelp(paid.oid ?? ''))
      shop.violated(`${name}: Pay ${documentNr} was answered 0, and the bank has ${charges.length} charges`);
    // Refused or not reached: a new attempt under the same number, or none.
    if (!isFailure || !isPatient || clerk.isClosing() || clerk.chance(aborting.length > 0 ? 0.2 : 0.5)) {
      await Promise.all(aborting);
      return paid;
    }
    // A refusal is returned again under its key, so another attempt needs a new key. After 30 the key stays: an earlier call under
    // it, without a waiting caller, may start when its gateway resumes.
    if (paid?.code === 50) recognition = named();
    await clerk.pause(clerk.between(1_000, 20_000));
  }
}

/** An operator has settled it as done, and the terminal can no longer report its number. */
async function closeByHand({ clerk, name }: CardSale, commandId: string): Promise<void> {
  const byHand = { commandId, actor: 'operator', reason: 'The terminal does not know it.' };
  await clerk.insist(`${name} closed by hand`, [0, 22, 20], (life) => life.cards.closeDocumentByHand(byHand));
}

async function finish(sale: CardSale, paid: Answer): Promise<void> {
  const { clerk, target, documentNr, bani } = sale;
  const operation = {
    merchantId: clerk.shop.merchantId,
    deviceId: target.id,
    documentNr,
    operationId: String(paid.report.operationId),
    rrn: String(paid.report.rrn),
    token: String(paid.report.token),
  };
  const named = (what: string): Recognised => recognised(clerk, clerk.pick(['key', 'neither']), [what, target.id, operation, bani]);
  const isVoided = clerk.chance(0.1);
  if (isVoided && clerk.chance(0.5) && (await voidIt(sale, operation, named('void')))) return;
  if (!(await closeDocument(sale, operation))) return;
  if (isVoided && (await voidIt(sale, operation, named('void')))) return;
  const isRefunded = clerk.chance(0.2);
  if (isRefunded) await refundSome(sale, operation);
  if (clerk.chance(0.03)) await voidIt(sale, operation, named('void too late'));
  if (!clerk.chance(0.06)) return;
  await closeDay(sale);
  // Too late for that, unless the day could not be closed. Only once: two refunds of one amount would count as a repeat.
  if (!isRefunded && clerk.chance(0.5)) await refundSome(sale, operation);
}

type Operation = { merchantId: string; deviceId: string; documentNr: string; operationId: string; rrn: string; token: string };

/** A refused CloseDoc may be repeated [D16]; an open document would lock the terminal. */
async function closeDocument({ clerk, name, documentNr }: CardSale, operation: Operation): Promise<boolean> {
  for (let refusals = 0; refusals < maxRefusals; refusals += 1) {
    const closed = await clerk.insist(`${name} CloseDoc ${documentNr}`, [0, 22, 50], (life, via) =>
      life.cards.closeDoc({ ...operation, ...via }),
    );
    if (closed?.code !== 50) return closed?.code === 0;
    await clerk.pause(clerk.between(1_000, 10_000));
  }
  return false;
}

/** True if the payment is voided now. */
async function voidIt({ clerk, name, documentNr, bani }: CardSale, operation: Operation, named: Recognised): Promise<boolean> {
  const voided = await clerk.insist(
    `${name} void ${documentNr}`,
    [0, 22, 50],
    (life, via) => life.cards.cancelTransaction({ ...operation, amountBani: bani, ...named, ...via }),
    { isUnnamed: !named.idempotency },
  );
  return voided?.code === 0;
}

/** One or two refunds at once, which may exceed the payment: at most the paid amount is refunded; of two under one key at most one. */
async function refundSome({ clerk, name, target, documentNr, bani }: CardSale, operation: Operation): Promise<void> {
  const share = () => sparingBusy(Math.max(1, Math.floor(bani * (0.3 + clerk.random.fraction() * 0.6))));
  const parts = [...new Set(clerk.chance(0.4) ? [share(), share()] : [share()])];
  const sharedKey = clerk.chance(0.2) ? clerk.random.uuid() : undefined;
  const answers = await Promise.all(
    parts.map((amountBani) => {
      const own = recognised(clerk, clerk.pick(['key', 'neither']), ['refund', target.id, operation, amountBani]);
      const named = sharedKey === undefined ? own : { ...own, idempotency: { key: sharedKey, requestHash: own.hashRequest() } };
      return clerk.insist(
        `${name} refund ${amountBani} of ${documentNr}`,
        [0, 22, 40, 50],
        (life, via) => life.cards.refund({ ...operation, amountBani, currency: undefined, ...named, ...via }),
        { leaveRate: oftenLeft, isUnnamed: !named.idempotency },
      );
    }),
  );
  // The amount of a refused refund is available to the next one, also if an operator had settled it as done.
  if (parts.length === 1 && answers[0]?.code === 50 && clerk.chance(0.5)) await refundAgain();
  const { bank } = target.device;
  const paidBy = bank.charges().find(({ entry }) => entry.rrn === operation.rrn)?.entry.reference;
  const done = bank
    .entries()
    .filter(({ kind, originalReference, amountBani }) => kind === 'refund' && originalReference === paidBy && parts.includes(amountBani));
  if (sharedKey !== undefined && (done.length > 1 || answers.filter((answer) => answer?.code === 0).length > 1))
    clerk.shop.violated(`${name}: ${done.length} refunds of ${documentNr} were done under one Idempotency-Key`);

  async function refundAgain(): Promise<void> {
    const [amountBani = 0] = parts;
    const named = recognised(clerk, 'key', ['refund again', target.id, operation, amountBani]);
    const again = await clerk.insist(`${name} refund again ${amountBani} of ${documentNr}`, [0, 22, 40, 50], (life, via) =>
      life.cards.refund({ ...operation, amountBani, currency: undefined, ...named, ...via }),
    );
    if (again?.code === 40) clerk.shop.violated(`${name}: the refund of ${amountBani} of ${documentNr} was refused, and again as too much`);
  }
}

async function closeDay({ clerk, name, target }: CardSale): Promise<void> {
  const named = recognised(clerk, clerk.pick(['key', 'neither']), ['day', target.id]);
  const call = { merchantId: clerk.shop.merchantId, deviceId: target.id };
  const sinceMs = clerk.shop.clock.now();
  const closed = await clerk.insist(`${name} closeDay`, [0, 50], (life, via) => life.cards.closeDay({ ...call, ...named, ...via }), {
    leaveRate: oftenLeft,
    isUnnamed: !named.idempotency,
    asked: call,
  });
  checkClose(clerk, `${name} closeDay`, target, sinceMs, closed);
}

/** A customer cancels; sometimes two requests stop the payment at once, so that the refusal of one removes the mark of the other. */
async function abortLater(sale: CardSale): Promise<void> {
  const { clerk } = sale;
  await clerk.pause(clerk.between(500, 6_000));
  const askers = clerk.chance(0.5) ? [abort(sale), clerk.pause(clerk.between(1, 400)).then(() => abort(sale))] : [abort(sale)];
  await Promise.all(askers);
}

async function abort(sale: CardSale): Promise<void> {
  const { clerk, name, target, documentNr, bani } = sale;
  const { shop } = clerk;
  const call = { merchantId: shop.merchantId, deviceId: target.id, documentNr, operationId: 'none', token: 'none', amountBani: bani };
  const how = clerk.chance(0.7) ? sale.abortAs : recognised(clerk, 'key', ['abort', target.id, documentNr]);
  const askedAtMs = shop.clock.now();
  const answer = await clerk.caller.ask(`${name} abort ${documentNr}`, (life, via) =>
    life.cards.cancelTransaction({ ...call, ...how, ...via }),
  );
  if (answer.code === 0) sale.onAborted();
  const named = (answer.result as { AlsoUnderThisNumber?: { OID: string }[] } | undefined)?.AlsoUnderThisNumber ?? [];
  // Its answer may arrive after the till has tried again and paid: it concerns the attempt that had begun when it was requested. And the key
  // of an earlier abort names that one's attempt [D302]: then the answer names the other charges.
  const charges = chargesOf(sale).filter(({ entry: { reference } }) => {
    const [issued] = shop.storage.peek('select issued_at from commands where id = ?', [reference]);
    if (shop.earlyOperator.hasGuessed(reference)) return false;
    if (reference === answer.oid) return true;
    return Number(issued?.['issued_at']) <= askedAtMs && !named.some(({ OID }) => OID === reference);
  });
  if (answer.code === 0 && charges.length > 0) shop.violated(`${name}: the abort of ${documentNr} was answered 0, and it was charged`);
}
