// A receipt from an ERP [D24]: the known fields are checked, all others are kept and forwarded.
// Invoices store it and registers print it, by the same rules.
import { invalidRequest } from './error-codes.ts';
import { sameNumber } from './ids.ts';
import { parseDecimalNumber } from './money.ts';

export type Receipt = Readonly<Record<string, unknown>>;

export const receiptLimits = {
  /** The whole receipt as JSON: it is stored and sent to a register as one text. */
  bytes: 256 * 1024,
  items: 1000,
  payments: 100,
  /** Characters of a line's name. */
  name: 1000,
  /** Characters of the receipt's number and of its unique id. */
  identifier: 128,
  /** Lei of one unit, positive or negative: the largest possible amount. */
  price: 9_999_999_999.99,
  quantity: 1_000_000_000,
  paymentCode: 999_999_999,
} as const;

/** Payments with these codes are made by card [service specification]. */
const cardPaymentCodes: ReadonlySet<number> = new Set([1, 2, 7, 1000]);
export const cashPaymentCode = 0;

/**
 * Returns the receipt, or throws errorCode 40 with the field and the rule. Quantities, prices and amounts that came as texts become numbers
 * [D145], so that registers need not handle both.
 */
export function checkReceipt(sent: unknown, options: { needsPayments: boolean }): Receipt {
  if (!isObject(sent)) throw invalidRequest('Receipt must be an object.');
  const value = withNumbers(sent);
  if (Buffer.byteLength(JSON.stringify(value)) > receiptLimits.bytes) {
    throw invalidRequest(`Receipt must not be larger than ${receiptLimits.bytes} bytes as JSON.`);
  }
  checkIdentifier(value.Number, 'Receipt.Number');
  checkIdentifier(value.Uid, 'Receipt.Uid');
  // An empty Uid is probably a lost one: without a Uid, each repeat would print another receipt [D145].
  if (value.Uid === '') throw invalidRequest('Receipt.Uid must not be empty; leave it out if there is none.');
  checkItems(value.Items);
  checkPayments(value.Payments, options.needsPayments);
  checkNumbers(value, 'Receipt');
  return value;
}

/** Converts the decimal fields of each line and payment; an empty Amount is removed. */
function withNumbers(receipt: Record<string, unknown>): Record<string, unknown> {
  const { Items: items, Payments: payments } = receipt;
  return {
    ...receipt,
    ...(Array.isArray(items) && { Items: items.map((item: unknown) => withDecimals(item, ['Quantity', 'Price'])) }),
    ...(Array.isArray(payments) && { Payments: payments.map((payment: unknown) => withDecimals(withoutEmptyAmount(payment), ['Amount'])) }),
  };
}

function withDecimals(value: unknown, names: readonly string[]): unknown {
  if (!isObject(value) || !names.some((name) => typeof value[name] === 'string')) return value;
  return {
    ...value,
    ...Object.fromEntries(names.flatMap((name) => (name in value ? [[name, parseDecimalNumber(value[name]) ?? value[name]]] : []))),
  };
}

function withoutEmptyAmount(payment: unknown): unknown {
  if (!isObject(payment) || payment.Amount !== '') return payment;
  const { Amount: _, ...others } = payment;
  return others;
}

/** A number that the JSON parser rounds (a code of twenty digits, 1e999) would be forwarded changed: it must be sent as a text. */
function checkNumbers(value: unknown, place: string): void {
  if (typeof value === 'number') {
    if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
      throw invalidRequest(`${place} must be a number of at most 15 digits, or a text.`);
    }
  } else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) checkNumbers(item, `${place}[${index}]`);
  } else if (isObject(value)) {
    for (const [name, item] of Object.entries(value)) checkNumbers(item, `${place}.${name.slice(0, 60)}`);
  }
}

/** The payment codes of a checked receipt, in order. */
export function paymentCodesOf(receipt: Receipt): number[] {
  const payments = Array.isArray(receipt.Payments) ? receipt.Payments : [];
  return payments.flatMap((payment) => (isObject(payment) ? (parsePaymentCode(payment.PaymentCode) ?? []) : []));
}

export interface CardElement {
  /** Its place in Payments. */
  index: number;
  /** The number of a card payment that was made before [D146]. */
  documentNr: string | undefined;
  amount: unknown;
}

/** The elements of a checked receipt that are paid by card. */
export function cardElementsOf(receipt: Receipt): CardElement[] {
  const payments = Array.isArray(receipt.Payments) ? (receipt.Payments as Record<string, unknown>[]) : [];
  return payments.flatMap(({ PaymentCode, documentNr, Amount: amount }, index) =>
    isCardPayment(parsePaymentCode(PaymentCode) ?? -1)
      ? [{ index, documentNr: (documentNr ?? undefined) as string | undefined, amount }]
      : [],
  );
}

/** A checked receipt with its Uid and the documentNr of its card elements as the names by which they are found [D306]. */
export function withOneName(receipt: Receipt): Receipt {
  const { Uid: uid, Payments: payments } = receipt;
  const named = (payment: Record<string, unknown>) =>
    typeof payment.documentNr === 'string' ? { ...payment, documentNr: sameNumber(payment.documentNr) } : payment;
  return {
    ...receipt,
    ...(typeof uid === 'string' && { Uid: sameNumber(uid) }),
    ...(Array.isArray(payments) && { Payments: (payments as Record<string, unknown>[]).map(named) }),
  };
}

export function isCardPayment(code: number): boolean {
  return cardPaymentCodes.has(code);
}

export function hasCardPayment(receipt: Receipt): boolean {
  return paymentCodesOf(receipt).some(isCardPayment);
}

function checkItems(items: unknown): void {
  if (!Array.isArray(items) || items.length === 0 || items.length > receiptLimits.items) {
    throw invalidRequest(`Receipt.Items must be a list of 1 to ${receiptLimits.items} lines.`);
  }
  for (const [index, item] of items.entries()) {
    const place = `Receipt.Items[${index}]`;
    if (!isObject(item)) throw invalidRequest(`${place} must be an object.`);
    if (typeof item.Name !== 'string' || item.Name === '' || isLongerThan(item.Name, receiptLimits.name)) {
      throw invalidRequest(`${place}.Name must be a text of 1 to ${receiptLimits.name} characters.`);
    }
    if (!isNumber(item.Quantity) || item.Quantity <= 0 || item.Quantity > receiptLimits.quantity) {
      throw invalidRequest(`${place}.Quantity must be a decimal over 0, at most ${receiptLimits.quantity}.`);
    }
    // A discount is a line with a negative price.
    if (!isNumber(item.Price) || Math.abs(item.Price) > receiptLimits.price) {
      throw invalidRequest(`${place}.Price must be a decimal from -${receiptLimits.price} to ${receiptLimits.price}.`);
    }
  }
}

function checkPayments(payments: unknown, isNeeded: boolean): void {
  if (payments === undefined || payments === null) {
    if (isNeeded) throw invalidRequest('Receipt.Payments is required.');
    return;
  }
  const fewest = isNeeded ? 1 : 0;
  if (!Array.isArray(payments) || payments.length < fewest || payments.length > receiptLimits.payments) {
    throw invalidRequest(`Receipt.Payments must be a list of ${fewest} to ${receiptLimits.payments} payments.`);
  }
  for (const [index, payment] of payments.entries()) {
    const place = `Receipt.Payments[${index}]`;
    if (!isObject(payment)) throw invalidRequest(`${place} must be an object.`);
    if (parsePaymentCode(payment.PaymentCode) === undefined) {
      throw invalidRequest(`${place}.PaymentCode must be a whole number from 0 to ${receiptLimits.paymentCode}, as a number or a text.`);
    }
    checkPaidBefore(payment, place);
    if (typeof payment.Amount === 'string') throw invalidRequest(`${place}.Amount must be a decimal such as 35.5 or "35.50".`);
  }
}

/** A card payment on a terminal is named by its documentNr; only the gateway writes the `paid` data for the register [D146]. */
function checkPaidBefore({ PaymentCode, documentNr, paid }: Record<string, unknown>, place: string): void {
  if (paid !== undefined) throw invalidRequest(`${place}.paid is written by the gateway; name the card payment by documentNr.`);
  if (documentNr === undefined || documentNr === null || !isCardPayment(parsePaymentCode(PaymentCode) ?? -1)) return;
  if (documentNr === '') throw invalidRequest(`${place}.documentNr must not be empty; leave it out if there is none.`);
  checkIdentifier(documentNr, `${place}.documentNr`);
}

function checkIdentifier(value: unknown, place: string): void {
  if (value === undefined || value === null) return;
  if (typeof value !== 'string' || isLongerThan(value, receiptLimits.identifier) || !isPlainText(value)) {
    throw invalidRequest(`${place} must be a text of at most ${receiptLimits.identifier} characters without control characters.`);
  }
}

function parsePaymentCode(value: unknown): number | undefined {
  const code = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
  return Number.isInteger(code) && (code as number) >= 0 && (code as number) <= receiptLimits.paymentCode ? (code as number) : undefined;
}

/**
 * Counts characters like maxLength of JSON Schema: a surrogate pair is one. No character has more than two units, so only a text between
 * the limit and twice the limit must be counted.
 */
export function isLongerThan(text: string, maxCharacters: number): boolean {
  return text.length > maxCharacters && (text.length > 2 * maxCharacters || Array.from(text).length > maxCharacters);
}

/** No control characters and no lone surrogates: both databases store it, and a log line shows it, unchanged. */
export function isPlainText(text: string): boolean {
  return text.isWellFormed() && !/\p{Cc}/u.test(text);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
