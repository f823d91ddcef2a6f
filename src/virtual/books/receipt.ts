// Reads a Receipt like a register: prices the lines exactly, distributes the total over the payments, and returns one sentence about
// the problem if it cannot be printed. Unknown fields are ignored.
import { type Bani, maxAmountBani, parseAmount } from '../../kernel/money.ts';
import { cashPaymentCode, isCardPayment } from '../../kernel/receipt.ts';
import { lineTotal } from '../../kernel/receipt-sums.ts';
import { isJsonObject } from '../client/command-reader.ts';

export type PaymentKind = 'cash' | 'card' | 'other';

export interface ReceiptLine {
  name: string;
  quantity: string;
  price: string;
  totalBani: Bani;
  vatLetter: string;
}

export interface ReceiptPayment {
  code: number;
  kind: PaymentKind;
  amountBani: Bani;
  /** Already charged on a terminal: the rrn of that payment. The register does not charge it. */
  paidRrn?: string;
}

export interface PricedReceipt {
  number: string;
  uid: string;
  lines: ReceiptLine[];
  payments: ReceiptPayment[];
  totalBani: Bani;
  /** Change in cash; already subtracted from the payments. */
  changeBani: Bani;
}

export type ReadReceipt = { receipt: PricedReceipt; problem?: undefined } | { receipt?: undefined; problem: string };

const defaultVatLetter = 'A';

export function readReceipt(value: unknown): ReadReceipt {
  if (!isJsonObject(value)) return { problem: 'The receipt is missing.' };
  const lines: ReceiptLine[] = [];
  if (!Array.isArray(value.Items) || value.Items.length === 0) return { problem: 'The receipt has no items.' };
  for (const item of value.Items as unknown[]) {
    const line = readLine(item);
    if (typeof line === 'string') return { problem: line };
    lines.push(line);
  }
  const totalBani = lines.reduce((sum, line) => sum + line.totalBani, 0);
  if (!(totalBani >= 1 && totalBani <= maxAmountBani)) return { problem: 'The total of the receipt is not a valid amount.' };
  const paid = readPayments(value.Payments, totalBani);
  if (typeof paid === 'string') return { problem: paid };
  return { receipt: { number: textOf(value.Number), uid: textOf(value.Uid), lines, totalBani, ...paid } };
}

/** The total alone, for a receipt that has no payments yet. */
export function receiptTotal(value: unknown): Bani | undefined {
  const withCash = isJsonObject(value) ? { ...value, Payments: [{ PaymentCode: cashPaymentCode }] } : value;
  return readReceipt(withCash).receipt?.totalBani;
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function readLine(item: unknown): ReceiptLine | string {
  if (!isJsonObject(item) || typeof item.Name !== 'string') return 'An item has no name.';
  if (lineTotal(item.Quantity, 1) === undefined || Number(item.Quantity) <= 0)
    return `The quantity of "${item.Name}" is not a number over 0.`;
  if (lineTotal(0, item.Price) === undefined) return `The price of "${item.Name}" is not a number.`;
  const totalBani = lineTotal(item.Quantity, item.Price);
  if (totalBani === undefined) return `The price of "${item.Name}" is too large.`;
  const vatLetter = typeof item.VAT === 'string' && item.VAT !== '' ? item.VAT.toUpperCase() : defaultVatLetter;
  return { name: item.Name, quantity: String(item.Quantity), price: String(item.Price), totalBani, vatLetter };
}

function readPayments(value: unknown, totalBani: Bani): { payments: ReceiptPayment[]; changeBani: Bani } | string {
  if (!Array.isArray(value) || value.length === 0) return 'The receipt has no payments.';
  let leftBani = totalBani;
  const payments: ReceiptPayment[] = [];
  for (const payment of value as unknown[]) {
    const code = isJsonObject(payment) ? Number(payment.PaymentCode) : Number.NaN;
    if (!isJsonObject(payment) || !Number.isSafeInteger(code)) return 'A payment has no PaymentCode.';
    // Without an amount it covers the rest after the payments before it.
    const amountBani = payment.Amount === undefined || payment.Amount === null ? leftBani : parseAmount(payment.Amount);
    if (amountBani === undefined || amountBani <= 0) return 'The amount of a payment is not valid.';
    const paidRrn = isJsonObject(payment.paid) ? textOf(payment.paid.rrn) : undefined;
    payments.push({ code, kind: kindOf(code), amountBani, ...(paidRrn === undefined ? {} : { paidRrn }) });
    leftBani -= amountBani;
  }
  if (leftBani > 0) return 'The payments are less than the total.';
  return giveChange(payments, -leftBani);
}

function kindOf(code: number): PaymentKind {
  if (isCardPayment(code)) return 'card';
  return code === cashPaymentCode ? 'cash' : 'other';
}

// Only cash payments can have change.
function giveChange(payments: ReceiptPayment[], changeBani: Bani): { payments: ReceiptPayment[]; changeBani: Bani } | string {
  if (changeBani === 0) return { payments, changeBani };
  const cash = payments.find((payment) => payment.kind === 'cash' && payment.amountBani > changeBani);
  if (!cash) return 'The payments are more than the total, and not in cash.';
  return {
    payments: payments.map((payment) => (payment === cash ? { ...cash, amountBani: cash.amountBani - changeBani } : payment)),
    changeBani,
  };
}
