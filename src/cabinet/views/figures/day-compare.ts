// A day of a shop in three books: the bank's close, the register's Z, and the ledger over exactly their periods. Pure.
// If a book has no totals, the page says so and does not compare it. A difference is explained by the operations that cause it; the rest is
// shown as unexplained.

import { type Bani, parseAmount } from '../../../kernel/money.ts';
import { type OperationName, operationOf } from '../../../kernel/operations.ts';

export interface DayOperation {
  id: string;
  name: OperationName;
  amountBani: Bani;
  cashBani: Bani;
  cardBani: Bani;
  documentNr: string | null;
  receiptUid: string | null;
  targetId: string | null;
  /** Of a receipt: the terminal payments on it [D146], each with what was left of it; `cardBani` is what the register charged itself. */
  paid: readonly { paymentId: string; amountBani: Bani }[];
  issuedAtMs: number;
  settledBy: string | null;
  isInReview: boolean;
}

export interface DaySource {
  commandId: string;
  kind: 'bank' | 'z';
  deviceId: string;
  deviceName: string;
  number?: string | undefined;
  fromMs: number;
  toMs: number;
  /** The device's report, as received. */
  report: Record<string, unknown>;
  /** Done, in the period, on this device; oldest first. */
  operations: DayOperation[];
}

export const lineNames = ['cardSales', 'cardRefunds', 'cardNet', 'cashSales', 'cashIn', 'cashOut', 'drawer'] as const;
export const groupKinds = [
  'noReceipt',
  'otherRegister',
  'otherCode',
  'refundedBefore',
  'otherClose',
  'earlierDay',
  'byTerminal',
  'byRegister',
  'suspect',
] as const;
const sum = <Item>(items: readonly Item[], of: (item: Item) => Bani) => items.reduce((total, item) => total + of(item), 0);

const amountOf = ({ amountBani }: DayOperation) => amountBani;
/** The terminals' payments on a receipt. */
const paidOn = ({ paid }: DayOperation) => paid.reduce((total, { amountBani }) => total + amountBani, 0);

/** A total as devices report it: lei, including zero. */
function baniIn(value: unknown): Bani | undefined {
  return value === 0 || value === '0' ? 0 : parseAmount(value);
}

function totalsOf({ report }: DaySource): Record<string, Bani | undefined> {
  const totals = (report['totals'] ?? {}) as Record<string, unknown>;
  return Object.fromEntries(['sales', 'cash', 'card', 'refunds', 'cashIn', 'cashOut'].map((name) => [name, baniIn(totals[name])]));
}

/** The sum; undefined if one of them is undefined. */
function together(values: readonly (Bani | undefined)[]): Bani | undefined {
  if (values.length === 0 || values.includes(undefined)) return undefined;
  return sum(values, (value) => value ?? 0);
}

/** The terminals' payments: their receipts may be in other Z reports than the compared ones. */
export function paymentsOf(sources: readonly DaySource[]): DayOperation[] {
  return sources.flatMap(({ kind, operations }) => (kind === 'bank' ? operations.filter(({ name }) => operationOf(name).isPayment) : []));
}

/** `printedElsewhere`: documents and ids of payments whose receipt is not covered by the Z reports (another register or period). */
export function compareDay(sources: readonly DaySource[], printedElsewhere: ReadonlySet<string> = new Set()) {
  const banks = sources.filter(({ kind }) => kind === 'bank');
  const zs = sources.filter(({ kind }) => kind === 'z');
  const ofBanks = banks.flatMap(({ operations }) => operations);
  const ofZs = zs.flatMap(({ operations }) => operations);
  const voided = new Set(
    ofBanks.flatMap(({ name, targetId }) => (operationOf(name).effect === 'void' && targetId !== null ? [targetId] : [])),
  );
  const payments = ofBanks.filter(({ name, id }) => operationOf(name).isPayment && !voided.has(id));
  const refunds = ofBanks.filter(({ name }) => operationOf(name).effect === 'refund');
  const prints = ofZs.filter(({ name }) => operationOf(name).prints);
  const cardPrints = prints.filter(({ cardBani }) => cardBani > 0);

  // One document links a payment and its receipt [D80]: together they are one sale.
  const printed = new Map(prints.flatMap((print) => (print.receiptUid === null ? [] : [[print.receiptUid.toLowerCase(), print] as const])));
  const charged = new Set(payments.flatMap(({ documentNr }) => (documentNr === null ? [] : [documentNr])));
  const onReceipts = new Map(prints.flatMap(({ paid }) => paid.map(({ paymentId, amountBani }) => [paymentId, amountBani] as const)));
  const unprinted = payments.filter(({ id, documentNr }) => !onReceipts.has(id) && (documentNr === null || !printed.has(documentNr)));
  const byRegister = cardPrints.filter(
    ({ receiptUid, paid }) => paid.length > 0 || receiptUid === null || !charged.has(receiptUid.toLowerCase()),
  );
  const elsewhere = unprinted.filter(
    ({ id, documentNr }) => printedElsewhere.has(id) || (documentNr !== null && printedElsewhere.has(documentNr)),
  );
  const nowhere = unprinted.filter((payment) => !elsewhere.includes(payment));
  const undone = refundedInFull(nowhere, refunds);
  const missing = nowhere.filter((payment) => !undone.has(payment));
  // A receipt names what was left of its payment, and a payment that was refunded in full has none.
  const notPrinted = (payment: DayOperation) =>
    undone.has(payment) ? payment.amountBani : payment.amountBani - (onReceipts.get(payment.id) ?? payment.amountBani);
  const refundedBefore = payments.filter((payment) => notPrinted(payment) !== 0);
  const isLinked = missing.length + undone.size < payments.length;
  // Printed, but not as a card payment: the Z has the sale under another payment code.
  const otherwiseBooked = ({ id, documentNr, amountBani }: DayOperation) => {
    // A receipt that names the payment books it as one by card [D146].
    const print = documentNr === null || onReceipts.has(id) ? undefined : printed.get(documentNr);
    return print === undefined ? 0 : amountBani - print.cardBani;
  };
  const otherCode = payments.filter((payment) => otherwiseBooked(payment) !== 0);

  // Without the terminals' operations, the receipts say what their payments were.
  const byTerminals = banks.length > 0 ? sum(payments, amountOf) : sum(prints, paidOn);
  const salesBani = byTerminals + sum(byRegister, ({ cardBani }) => cardBani);
  const refundsBani = sum(refunds, ({ amountBani }) => amountBani);
  const bankSales = together(banks.map((source) => totalsOf(source)['sales']));
  const bankRefunds = together(banks.map((source) => totalsOf(source)['refunds']));
  // The amount of a close is net of refunds.
  const bankNet = together(banks.map(({ report }) => baniIn(report['amount'])));
  const z = (name: string) => together(zs.map((source) => totalsOf(source)[name]));
  const booked = (cash: 'in' | 'out') =>
    sum(
      ofZs.filter(({ name }) => operationOf(name).cash === cash),
      ({ amountBani }) => amountBani,
    );
  const cashBani = sum(prints, (print) => print.cashBani);
  const lines = [
    line('cardSales', bankSales, z('card'), salesBani),
    line('cardRefunds', bankRefunds, undefined, refundsBani),
    line('cardNet', bankNet, undefined, salesBani - refundsBani),
    line('cashSales', undefined, z('cash'), cashBani),
    line('cashIn', undefined, z('cashIn'), booked('in')),
    line('cashOut', undefined, z('cashOut'), booked('out')),
    line('drawer', undefined, drawer(z('cash'), z('cashIn'), z('cashOut')), cashBani + booked('in') - booked('out')),
  ];
  const suspects = [...ofBanks, ...ofZs].filter(({ settledBy, isInReview }) => settledBy === 'person' || isInReview);
  const [sales, , net] = lines;
  // The Z has no refunds, so the net can only agree if the sales do.
  if (sales?.differenceBani !== undefined && net) net.differenceBani = Math.max(net.differenceBani ?? 0, sales.differenceBani);
  const paidBani = sum(payments, ({ amountBani }) => amountBani);
  const zCard = z('card');
  const groups = [
    ...(zs.length > 0
      ? [
          ...group(isLinked ? 'noReceipt' : 'byTerminal', missing, amountOf, 1),
          ...group('otherRegister', elsewhere, amountOf, 1),
          ...group('otherCode', otherCode, otherwiseBooked, 1),
          ...group('refundedBefore', refundedBefore, notPrinted, 1),
        ]
      : []),
    ...(banks.length > 0 ? onlyInZ(ofBanks, prints, byRegister) : []),
    ...group('earlierDay', returnedLater(ofBanks), amountOf, 0),
    ...group('suspect', suspects, amountOf, 0),
  ];
  return {
    lines,
    groups,
    // Bank minus Z of card sales, and its unexplained rest. Undefined if one of the two has no total.
    equation:
      bankSales === undefined || zCard === undefined
        ? undefined
        : { bankBani: bankSales, zBani: zCard, restBani: bankSales - zCard - sum(groups, ({ effectBani }) => effectBani) },
    canCompare: { bank: bankNet !== undefined || bankSales !== undefined, z: zCard !== undefined || z('cash') !== undefined },
    // Totals of the bank or the Z beyond the ledger's operations of the period.
    unexplained: {
      bankBani: bankSales === undefined ? (bankNet === undefined ? undefined : bankNet - (paidBani - refundsBani)) : bankSales - paidBani,
      zBani: zCard === undefined ? undefined : zCard - sum(prints, (print) => print.cardBani + paidOn(print)),
    },
    operations: ofBanks.length + ofZs.length,
  };
}

function drawer(cash?: Bani, cashIn?: Bani, cashOut?: Bani): Bani | undefined {
  return cash === undefined || cashIn === undefined || cashOut === undefined ? undefined : cash + cashIn - cashOut;
}

/** Refunds and voids of payments of an earlier bank day: they lower no figure of that day, whose books are closed [D303]. */
function returnedLater(ofBanks: readonly DayOperation[]): DayOperation[] {
  const here = new Set(ofBanks.map(({ id }) => id));
  const returns = ofBanks.filter(({ name }) => ['refund', 'void'].includes(operationOf(name).effect ?? ''));
  return returns.filter(({ targetId }) => targetId !== null && !here.has(targetId));
}

/** The bank may close several times within one Z report, whose receipts then name payments of another close. */
function onlyInZ(ofBanks: readonly DayOperation[], prints: readonly DayOperation[], byRegister: readonly DayOperation[]) {
  const inTheseCloses = new Set(ofBanks.map(({ id }) => id));
  const paidInOtherClose = ({ paid }: DayOperation) =>
    sum(paid, ({ paymentId, amountBani }) => (inTheseCloses.has(paymentId) ? 0 : amountBani));
  return [
    ...group('otherClose', prints.filter(paidInOtherClose), paidInOtherClose, -1),
    ...group('byRegister', byRegister, ({ cardBani }) => cardBani, -1),
  ];
}

function refundedInFull(payments: readonly DayOperation[], refunds: readonly DayOperation[]): Set<DayOperation> {
  const refundsOf = Map.groupBy(refunds, ({ targetId }) => targetId);
  return new Set(payments.filter(({ id, amountBani }) => sum(refundsOf.get(id) ?? [], amountOf) >= amountBani));
}

/** `differenceBani`: the largest difference between two books; undefined: there is only one. */
function line(name: (typeof lineNames)[number], bankBani: Bani | undefined, zBani: Bani | undefined, ledgerBani: Bani) {
  const others = [bankBani, zBani].filter((value) => value !== undefined);
  const values = [...others, ledgerBani];
  return {
    line: name,
    bankBani,
    zBani,
    ledgerBani,
    differenceBani: others.length === 0 ? undefined : Math.max(...values) - Math.min(...values),
  };
}

/**
 * `effectBani`: contribution to the bank's card sales beyond the Z's; negative if only the Z has them. Suspects alone explain nothing.
 */
function group(
  kind: (typeof groupKinds)[number],
  operations: readonly DayOperation[],
  of: (operation: DayOperation) => Bani,
  sign: -1 | 0 | 1,
) {
  if (operations.length === 0) return [];
  const sumBani = sum(operations, of);
  return [{ kind, sumBani, effectBani: sign * sumBani, operationIds: operations.map(({ id }) => id) }];
}
