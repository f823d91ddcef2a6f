// The sums of a receipt: each line computed exactly, half a ban rounded away from zero, and the total split by payments.
// Undefined if the numbers make no valid amount; such a receipt is forwarded anyway, and the register reports the error.
import { type Bani, maxAmountBani, parseAmount } from './money.ts';
import { cashPaymentCode, isCardPayment, type Receipt } from './receipt.ts';

export interface ReceiptSums {
  totalBani: Bani;
  /** The cash that stays in the drawer: without the change. */
  cashBani: Bani;
  cardBani: Bani;
}

/** The sum of the lines, of any size; undefined if a line makes no valid amount. */
export function sumOfLines(receipt: Receipt): Bani | undefined {
  if (!Array.isArray(receipt.Items)) return undefined;
  let totalBani = 0;
  for (const item of receipt.Items as { Quantity?: unknown; Price?: unknown }[]) {
    const lineBani = lineTotal(item?.Quantity, item?.Price);
    if (lineBani === undefined) return undefined;
    totalBani += lineBani;
  }
  return totalBani;
}

export function receiptSums(receipt: Receipt): ReceiptSums | undefined {
  const totalBani = sumOfLines(receipt);
  if (totalBani === undefined || totalBani < 1 || totalBani > maxAmountBani || !Array.isArray(receipt.Payments)) return undefined;
  const sums = { totalBani, cashBani: 0, cardBani: 0 };
  let leftBani = totalBani;
  for (const payment of receipt.Payments as { PaymentCode?: unknown; Amount?: unknown }[]) {
    const amountBani = paidBani(payment?.Amount, leftBani);
    if (amountBani === undefined) return undefined;
    const code = Number(payment?.PaymentCode);
    if (isCardPayment(code)) sums.cardBani += amountBani;
    else if (code === cashPaymentCode) sums.cashBani += amountBani;
    leftBani -= amountBani;
  }
  // Change is given in cash only.
  const changeBani = Math.max(0, -leftBani);
  return { ...sums, cashBani: Math.max(0, sums.cashBani - changeBani) };
}

/** A payment without an amount covers the rest after the earlier ones: nothing if they exceed the total. */
function paidBani(amount: unknown, leftBani: Bani): Bani | undefined {
  // ERPs send null for a missing amount, and 0 for a payment method that was not used.
  if (amount === undefined || amount === null) return Math.max(0, leftBani);
  return amount === 0 ? 0 : parseAmount(amount);
}

interface Decimal {
  units: bigint;
  places: number;
}

/** JavaScript writes up to 22 places before it uses an exponent; 0.1 + 0.1 + 0.1 has 17. */
const decimalPattern = /^(-?)(\d{1,15})(?:\.(\d{1,22}))?(?:e([+-]?\d{1,2}))?$/i;

/** The exact decimal value of the text; 0.1 is one tenth. */
function parseDecimal(value: unknown): Decimal | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined;
  const match = decimalPattern.exec(String(value));
  if (!match) return undefined;
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  const units = BigInt(`${sign}${whole}${fraction}`);
  const places = fraction.length - Number(exponent);
  return places >= 0 ? { units, places } : { units: units * 10n ** BigInt(-places), places: 0 };
}

/** Quantity times price in bani, half a ban rounded away from zero. */
export function lineTotal(quantity: unknown, price: unknown): Bani | undefined {
  const count = parseDecimal(quantity);
  const each = parseDecimal(price);
  if (!count || !each) return undefined;
  const product = count.units * each.units * 100n;
  const divisor = 10n ** BigInt(count.places + each.places);
  const size = product < 0n ? -product : product;
  const rounded = (size * 2n + divisor) / (divisor * 2n);
  if (rounded > BigInt(maxAmountBani)) return undefined;
  return Number(product < 0n ? -rounded : rounded);
}
