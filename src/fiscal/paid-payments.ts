// A receipt that was paid on a card terminal before [D146]: which payments of the ledger its card elements name, whether they may be
// printed, and the data that the register receives. The register prints such an element as card and asks no bank.
//
// The payments are checked before the plan is made, and again under their row locks in the transaction that commits the print, which also
// writes the link from payment to print. If the process dies before the commit, nothing is written. After it, the payment belongs to this
// print until the print ends as not done. A void or refund waits for the same lock, so either the print sees it, or it sees the print.
import type { Database, Queries } from '../database/database.ts';
import { GatewayError, invalidRequest } from '../kernel/error-codes.ts';
import { parseExactJson } from '../kernel/exact-json.ts';
import { sameNumber } from '../kernel/ids.ts';
import { type Bani, baniToLei, formatLei, parseAmount } from '../kernel/money.ts';
import { operationOf, takesMoneyBack } from '../kernel/operations.ts';
import { cardElementsOf, type Receipt } from '../kernel/receipt.ts';
import { disputed, fieldsOf } from '../ledger/answers.ts';
import { findPaymentOfDocument } from '../ledger/claims.ts';
import { type Command, isOpen } from '../ledger/command.ts';
import { requireKept } from '../ledger/removed.ts';
import { type Follower, mayHaveHappened, remainderOf, standingOf } from '../ledger/standing.ts';
import { followersOf, lockCommand } from '../ledger/store.ts';
import type { JsonObject } from '../link/protocol.ts';
import { findPrintOfPayment, linkPayment } from './store.ts';

/** A card element of a receipt and its payment. */
export interface PaidElement {
  index: number;
  payment: Command;
  remainderBani: Bani;
}

/** The elements that were paid on a terminal; throws if one of them may not be printed. */
export async function findPaidElements(queries: Queries, merchantId: string, receipt: Receipt): Promise<PaidElement[]> {
  const cards = cardElementsOf(receipt);
  const found: PaidElement[] = [];
  for (const { index, documentNr, amount } of cards) {
    const number = documentNr ?? (cards.length === 1 ? receipt['Uid'] : undefined);
    if (typeof number !== 'string') continue;
    const payment = await findPaymentOfDocument(queries, merchantId, sameNumber(number));
    if (payment !== undefined) found.push({ index, payment, remainderBani: await judgePayment(queries, payment, placeOf(index), amount) });
    else if (documentNr !== undefined) throw notMade(placeOf(index));
  }
  const twice = found.find(({ payment }, place) => found.findIndex((other) => other.payment.id === payment.id) < place);
  if (twice) throw invalidRequest(`Receipt.Payments[${twice.index}].documentNr names the payment of another element.`);
  return found;
}

const placeOf = (index: number) => `Receipt.Payments[${index}]`;

/** The amount of a payment to print; throws if it may not be printed. `place`: where the receipt has its number. */
export async function judgePayment(queries: Queries, payment: Command, place: string, amount?: unknown): Promise<Bani> {
  // The payment was resolved as not executed since it was found.
  if (!mayHaveHappened(payment)) throw notMade(place);
  const followers = await followersOf(queries, payment);
  const standing = standingOf(payment, followers);
  if (standing === 'disputed') throw disputed(fieldsOf(payment, followers));
  if (standing === 'open') throw busy(payment, `The card payment of ${place} has not ended yet.`);
  if (followers.some((follower) => takesMoneyBack(operationOf(follower.name)) && isOpen(follower)))
    throw busy(payment, `A void or refund of the card payment of ${place} has not ended yet.`, followers);
  requireKept(payment, followers);
  if (standing === 'voided') throw cannotApply(payment, `The card payment of ${place} was voided.`, followers);
  if (standing === 'refunded') throw cannotApply(payment, `The card payment of ${place} was refunded.`, followers);
  const remainderBani = remainderOf(payment, followers) ?? payment.amountBani ?? 0;
  const print = await findPrintOfPayment(queries, payment.id);
  if (print && standingOf(print) === 'disputed') throw disputed(fieldsOf(print));
  if (print && isOpen(print)) throw busy(print, `The card payment of ${place} is being printed on another receipt.`);
  if (print) throw cannotApply(print, `The card payment of ${place} is on a printed receipt already.`);
  if (amount !== undefined && amount !== null && parseAmount(amount) !== remainderBani) {
    throw invalidRequest(`${place}.Amount must be ${formatLei(remainderBani)}, the amount of the card payment; it may be omitted.`);
  }
  return remainderBani;
}

/** The receipt as the register receives it. */
export function withPaid(receipt: Receipt, paid: readonly PaidElement[]): Receipt {
  if (paid.length === 0) return receipt;
  const payments = [...(receipt['Payments'] as Record<string, unknown>[])];
  for (const { index, payment, remainderBani } of paid) {
    const { documentNr: _, ...element } = payments[index] ?? {};
    const amount = baniToLei(remainderBani);
    payments[index] = { ...element, Amount: amount, paid: { ...numbersOf(payment), amount } };
  }
  return { ...receipt, Payments: payments };
}

function numbersOf({ rrn, operationId, documentNr, report }: Command): JsonObject {
  const { authCode } = report === null ? {} : (parseExactJson(report) as JsonObject);
  return { rrn, operationId, documentNr, ...(typeof authCode === 'string' ? { authCode } : {}) };
}

/** In the transaction that commits the print: checks the payments again under their locks, so that they cannot change until the commit. */
export async function guardPaid(database: Database, queries: Queries, paid: readonly PaidElement[]): Promise<void> {
  for (const element of inLockOrder(paid)) {
    const locked = await lockCommand(database.engine, queries, element.payment.id);
    await judgePayment(queries, locked, placeOf(element.index), baniToLei(element.remainderBani));
  }
}

/** So that two receipts of the same payments cannot deadlock. */
function inLockOrder(paid: readonly PaidElement[]): PaidElement[] {
  return [...paid].sort((one, other) => (one.payment.id < other.payment.id ? -1 : 1));
}

export async function linkPaid(queries: Queries, paid: readonly PaidElement[], printId: string): Promise<void> {
  for (const { payment, remainderBani } of paid) await linkPayment(queries, payment.id, printId, remainderBani);
}

/** The payments on the receipt of a print, as its register received it. */
async function paymentsOf(queries: Queries, { merchantId, args }: Command): Promise<PaidElement[]> {
  const { Payments } = args['receipt'] as { Payments: { paid?: { documentNr: string; amount: number } }[] };
  const found: PaidElement[] = [];
  for (const [index, { paid }] of Payments.entries()) {
    const payment = paid && (await findPaymentOfDocument(queries, merchantId, paid.documentNr));
    if (payment) found.push({ index, payment, remainderBani: parseAmount(paid.amount) ?? 0 });
  }
  return found;
}

/** Another print that has, or may have, a payment of this one. */
export async function findOtherPrint(queries: Queries, print: Command): Promise<string | undefined> {
  for (const { payment } of await paymentsOf(queries, print)) {
    const holder = await findPrintOfPayment(queries, payment.id);
    if (holder && holder.id !== print.id) return holder.id;
  }
  return undefined;
}

/** A disputed print has its payments again, unless another print has them by now. In the transaction of the dispute. */
export async function reclaimPaid({ engine }: Database, queries: Queries, print: Command): Promise<void> {
  for (const element of inLockOrder(await paymentsOf(queries, print))) {
    await lockCommand(engine, queries, element.payment.id);
    if (!(await findPrintOfPayment(queries, element.payment.id))) await linkPaid(queries, [element], print.id);
  }
}

/** A register without the feature `paid` would charge the card again. */
export function requirePaidFeature(features: readonly string[] | undefined): void {
  if (features === undefined) {
    throw new GatewayError(
      'Device_Offline',
      'The register has not announced yet whether it can print a payment that was made on a terminal; nothing was sent. Repeat the request in half a minute.',
    );
  }
  if (!features.includes('paid')) {
    throw new GatewayError(
      'The_status_cannot_be_applied',
      'This register would charge the card again: it cannot print a payment that was made on a terminal. Nothing was sent; print on another register, or with a PaymentCode that this one counts as paid elsewhere.',
    );
  }
}

function notMade(place: string): GatewayError {
  return new GatewayError('Record_not_exist', `No card payment was made under the documentNr of ${place}.`);
}

function busy(command: Command, sentence: string, followers?: readonly Follower[]): GatewayError {
  return new GatewayError('Device_Busy', `${sentence} Nothing was sent; repeat the request.`, { fields: fieldsOf(command, followers) });
}

function cannotApply(command: Command, sentence: string, followers?: readonly Follower[]): GatewayError {
  return new GatewayError('The_status_cannot_be_applied', `${sentence} Nothing was sent.`, { fields: fieldsOf(command, followers) });
}
