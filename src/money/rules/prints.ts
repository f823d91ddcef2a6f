// Device/Invoice/Pay: prints a fiscal receipt, once per Receipt.Uid and merchant, whichever register it goes to [D31]. A card element may
// name a payment that was made on a terminal: it is printed as paid, and no card is charged [D146]. And the register's plain operations.
import { sameNumber } from '../../kernel/ids.ts';
import { baniToLei, formatLei, parseAmount } from '../../kernel/money.ts';
import { operationOf } from '../../kernel/operations.ts';
import { cardElementsOf, hasCardPayment, type Receipt } from '../../kernel/receipt.ts';
import { receiptSums } from '../../kernel/receipt-sums.ts';
import { type Draft, nameKey, type Op } from '../case.ts';
import type { Answer, Of } from '../event.ts';
import { answerAbout, busy, cannotApply, error, fieldsOf, invalid, unclear, unknownRecord } from './answers.ts';
import { joined, repeatByContent, repeatByKey, repeatOfRefused, unconfirmed, underTheSameName } from './earlier.ts';
import {
  followersOf,
  invoiceOf,
  isOpen,
  isPayment,
  isPrint,
  isUnexecuted,
  leavesNumberFree,
  opsUnder,
  remainderOf,
  returnsMoney,
  saleOf,
} from './facts.ts';
import { removedPayment } from './named-payment.ts';
import { chargesUnder, fold, othersBeside } from './numbers.ts';
import { begin, notFree, type Ruled, relyOn, say, wrongDevice } from './ruled.ts';

type Print = Of<'Print'>;
const cashReceiptMs = 60_000;

/** A card element that was paid on a terminal. */
interface Paid {
  index: number;
  payment: Op;
}

export function print(c: Draft, event: Print): Ruled {
  const receiptUid = uidOf(event.receipt);
  const earlier =
    repeatByKey(c, event) ??
    printByUid(c, event, receiptUid) ??
    repeatOfRefused(c, event) ??
    (receiptUid === undefined ? repeatByContent(c, event) : undefined);
  if (earlier) return earlier;
  const wrong = wrongDevice(c, event, 'register');
  if (wrong) return say(wrong);
  const paid = paidElements(c, event);
  if ('code' in paid) return say(paid);
  const printed = withPaid(event.receipt, paid);
  const sums = sumsOf(printed, paid);
  const isPaidUnderUid = paid.some(({ payment }) => payment.documentNr === receiptUid);
  const charged = sums.cardBani > 0 && !isPaidUnderUid ? receiptUid : undefined;
  const refusal = cannotPrintPaid(c, event, paid) ?? cannotChargeAgain(c, event, charged) ?? notFree(c, event);
  if (refusal) return say(refusal);
  const asked = unconfirmed(c, event, [
    ...underTheSameName(c, { ...event, documentNr: receiptUid }),
    ...paid.flatMap(({ payment }) => saleOf(c, payment)),
  ]);
  if (asked) return asked;
  return begin(c, event, {
    kind: 'PrintReceipt',
    args: { receipt: printed },
    answerWithinMs: hasCardPayment(event.receipt) ? operationOf('PrintReceipt').answerWithinMs : cashReceiptMs,
    receiptUid: receiptUid ?? null,
    contentHash: event.contentHashes[0] ?? null,
    ...sums,
    paid: paid.map(({ payment }) => ({ paymentId: payment.id, amountBani: remainderOf(payment) })),
  });
}

function uidOf({ Uid }: Receipt): string | undefined {
  return typeof Uid === 'string' ? sameNumber(Uid) : undefined;
}

function printByUid(c: Draft, event: Print, receiptUid: string | undefined): Ruled | undefined {
  if (receiptUid === undefined) return undefined;
  const about = printUnder(c, event.merchantId, receiptUid);
  if (!about || leavesNumberFree(about)) return undefined;
  const refusal = otherPrint(c, about, event.contentHashes);
  return refusal ? say(refusal) : joined(c, event, about);
}

/** The print that has the Receipt.Uid, otherwise the newest attempt. */
export function printUnder(c: Draft, merchantId: string, receiptUid: string): Op | undefined {
  const prints = opsUnder(c, merchantId, receiptUid, isPrint);
  return prints.findLast((op) => !isUnexecuted(op)) ?? prints.at(-1);
}

/** Why a receipt of this content is not answered as this print; undefined: it is the same receipt [D31]. */
export function otherPrint(c: Draft, print: Op, contentHashes: readonly (string | null)[]): Answer | undefined {
  if (print.standing === 'Disputed' || print.removedAt !== null) return answerAbout(c, print, { also: othersBeside(c, print) });
  return print.contentHash !== null && contentHashes.includes(print.contentHash)
    ? undefined
    : cannotApply('Receipt.Uid already belongs to a receipt with other content.');
}

const placeOf = (index: number) => `Receipt.Payments[${index}]`;

/** The elements that were paid on a terminal, or why one of them may not be printed. */
function paidElements(c: Draft, { merchantId, receipt }: Print): Paid[] | Answer {
  const cards = cardElementsOf(receipt);
  const found: Paid[] = [];
  for (const { index, documentNr, amount } of cards) {
    const number = documentNr ?? (cards.length === 1 ? receipt['Uid'] : undefined);
    if (typeof number !== 'string') continue;
    const payment = fold(opsUnder(c, merchantId, sameNumber(number), isPayment)).about;
    const isMade = payment !== undefined && !isUnexecuted(payment);
    if (!isMade && documentNr === undefined) continue;
    const refusal = isMade
      ? (unprintable(c, payment, placeOf(index)) ?? wrongAmount(payment, placeOf(index), amount))
      : unknownRecord(`No card payment was made under the documentNr of ${placeOf(index)}.`);
    if (refusal || !payment) return refusal ?? unknownRecord('');
    if (found.some((one) => one.payment === payment)) return invalid(`${placeOf(index)}.documentNr names the payment of another element.`);
    relyOn(c, 'names', nameKey(merchantId, sameNumber(number)));
    found.push({ index, payment });
  }
  return found;
}

/** Why a payment may not stand on a new receipt. `place`: where the receipt has its number. */
function unprintable(c: Draft, payment: Op, place: string): Answer | undefined {
  const followers = followersOf(c, payment.id);
  const fields = fieldsOf(payment);
  if (payment.standing === 'Disputed') return unclear(payment, fields);
  if (payment.standing === 'Open') return notNow(`The card payment of ${place} has not ended yet.`, payment);
  if (followers.some((op) => returnsMoney(op) && isOpen(op)))
    return notNow(`A void or refund of the card payment of ${place} has not ended yet.`, payment);
  if (payment.removedAt !== null) return removedPayment(payment);
  if (payment.standing === 'Voided') return never(`The card payment of ${place} was voided.`, payment);
  if (payment.standing === 'Refunded') return never(`The card payment of ${place} was refunded.`, payment);
  const print = payment.printId === null ? undefined : c.ops[payment.printId];
  if (!print) return undefined;
  if (print.standing === 'Disputed') return unclear(print, fieldsOf(print));
  return isOpen(print)
    ? notNow(`The card payment of ${place} is being printed on another receipt.`, print)
    : never(`The card payment of ${place} is on a printed receipt already.`, print);
}

const notNow = (sentence: string, op: Op) => busy(`${sentence} Nothing was sent; repeat the request.`, fieldsOf(op));
const never = (sentence: string, op: Op) => cannotApply(`${sentence} Nothing was sent.`, fieldsOf(op));

function wrongAmount(payment: Op, place: string, amount: unknown): Answer | undefined {
  const left = remainderOf(payment);
  if (amount === undefined || amount === null || parseAmount(amount) === left) return undefined;
  return invalid(`${place}.Amount must be ${formatLei(left)}, the amount of the card payment; it may be omitted.`);
}

/** A register without the feature `paid` would charge the card again. */
function cannotPrintPaid(c: Draft, { merchantId, deviceId }: Print, paid: readonly Paid[]): Answer | undefined {
  const features = c.presence[nameKey(merchantId, deviceId)]?.features;
  if (paid.length === 0 || features?.includes('paid')) return undefined;
  return features === undefined
    ? error(
        'Device_Offline',
        'The register has not announced yet whether it can print a payment that was made on a terminal; nothing was sent. Repeat the request in half a minute.',
      )
    : cannotApply(
        'This register would charge the card again: it cannot print a payment that was made on a terminal. Nothing was sent; print on another register, or with a PaymentCode that this one counts as paid elsewhere.',
      );
}

/** A card that the register charges itself, under a number that was charged before or that is an invoice's OID, in any state [D278]. */
function cannotChargeAgain(c: Draft, { merchantId }: Print, number: string | undefined): Answer | undefined {
  if (number === undefined) return undefined;
  const { about, also } = fold(chargesUnder(c, merchantId, number));
  if (about && !leavesNumberFree(about)) {
    // A removed attempt keeps its number [D66].
    if (isUnexecuted(about)) return answerAbout(c, about, { also });
    const refusal = isPayment(about) ? unprintable(c, about, 'Receipt.Uid') : undefined;
    return refusal ?? cannotApply(chargedBefore + (isPayment(about) ? nameIt : ''), fieldsOf(about, also));
  }
  return invoiceOf(c, merchantId, number) ? cannotApply(ofInvoice) : undefined;
}

const chargedBefore =
  'A card was charged under the number of this receipt before, and the receipt does not name that payment, so the register would charge again. Nothing was sent.';
const nameIt = ' Name the payment by documentNr in its element of Receipt.Payments.';
const ofInvoice =
  'This Receipt.Uid is the OID of an invoice, and a charge by the register would not pay the invoice: the customer could pay by QR and by card. Nothing was sent. Charge a card by Pay with the OID as documentNr, then print; print what was paid by QR with a PaymentCode that this register counts as paid elsewhere.';

/** The receipt as the register receives it. */
function withPaid(receipt: Receipt, paid: readonly Paid[]): Receipt {
  if (paid.length === 0) return receipt;
  const payments = [...(receipt['Payments'] as Record<string, unknown>[])];
  for (const { index, payment } of paid) {
    const { documentNr: _, ...element } = payments[index] ?? {};
    const amount = baniToLei(remainderOf(payment));
    const { rrn, operationId, documentNr, report } = payment;
    const authCode = report?.['authCode'];
    payments[index] = {
      ...element,
      Amount: amount,
      paid: { rrn, operationId, documentNr, ...(typeof authCode === 'string' ? { authCode } : {}), amount },
    };
  }
  return { ...receipt, Payments: payments };
}

/** For the sums; the register itself refuses a receipt without a valid amount. A terminal's charge is counted with its payment. */
function sumsOf(receipt: Receipt, paid: readonly Paid[]): { amountBani: number | null; cashBani: number; cardBani: number } {
  const sums = receiptSums(receipt);
  if (!sums) return { amountBani: null, cashBani: 0, cardBani: 0 };
  const paidBani = paid.reduce((sum, { payment }) => sum + remainderOf(payment), 0);
  return { amountBani: sums.totalBani, cashBani: sums.cashBani, cardBani: sums.cardBani - paidBani };
}

/** An operation that concerns no payment and no receipt: closeDay, a Z or X report, cash in and out. */
export function plain(c: Draft, call: Of<'Plain'>): Ruled {
  // An X report changes nothing, so a repeat makes another one [D58].
  const isReportX = call.kind === 'Report' && call.args['fiscal'] !== true;
  const event = isReportX ? { ...call, requestHash: undefined } : call;
  const earlier = repeatByKey(c, event) ?? repeatOfRefused(c, event) ?? repeatByContent(c, event);
  if (earlier) return earlier;
  const { kind, amountBani, args } = event;
  const refusal = wrongDevice(c, event, operationOf(kind).device) ?? notFree(c, event);
  if (refusal) return say(refusal);
  return unconfirmed(c, event, underTheSameName(c, event)) ?? begin(c, event, { kind, args, amountBani: amountBani ?? null });
}
