// What a receipt comes to: each line exactly, half a ban rounded away from zero, and how its total is shared out among the payments.
// Undefined where the numbers make no amount; such a receipt is passed on all the same, and the register says what is wrong with it.
import { type Bani, maxAmountBani, parseAmount } from './money.ts';
import { cashPaymentCode, isCardPayment, type Receipt } from './receipt.ts';

export interface ReceiptSums {
  totalBani: Bani;
  /** What stays in the drawer: change is taken off. */
  cashBani: Bani;
  cardBani: Bani;
}

/** The sum of the lines, whatever it comes to; undefined where a line makes no amount. */
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
  // Only cash can be given back.
  const changeBani = Math.max(0, -leftBani);
  return { ...sums, cashBani: Math.max(0, sums.cashBani - changeBani) };
}

/** A payment without an amount covers what those before it left: nothing, once they came to more than the total. */
function paidBani(amount: unknown, leftBani: Bani): Bani | undefined {
  // ERPs write null for what is not there, and 0 for a way of paying that was not used.
  if (amount === undefined || amount === null) return Math.max(0, leftBani);
  return amount === 0 ? 0 : parseAmount(amount);
}

interface Decimal {
  units: bigint;
  places: number;
}

/** A JavaScript number has up to 22 places before it is written with an exponent; three tenths added up have 17. */
const decimalPattern = /^(-?)(\d{1,15})(?:\.(\d{1,22}))?(?:e([+-]?\d{1,2}))?$/i;

/** A decimal as it was written, exactly; 0.1 is one tenth. */
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
