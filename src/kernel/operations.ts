// The operation catalogue: every operation that moves money or writes fiscal memory, with its properties and its messages. No other code
// decides by an operation's name what kind it is: the ledger, the cabinet, the virtual devices and the conformance run read this table,
// and both API documents and the command table of docs/device-protocol.md are generated from it.
import * as field from './operation-fields.ts';
import { fields } from './operation-fields.ts';

/** The effect of a done operation on its payment. */
export type EffectOnPayment = 'close' | 'void' | 'refund';

/** A person stands at the device with a card. */
const withCardMs = 5 * 60_000;
const byBankMs = 60_000;
const byRegisterMs = 20_000;

export interface Operation {
  /** The module that an API key must open to start or query it. */
  mode: 'POS' | 'Fiscal';
  device: 'terminal' | 'register';
  /** What the device does, for its developers. */
  does: string;
  /** It charges a card: when done, it opens a document that locks the terminal until it is closed or voided [D14]. */
  isPayment?: boolean;
  /** The device waits for a card, unless Abort stops it. A printed receipt waits for one if it has card payments. */
  asksForCard?: boolean;
  /** Of an operation that refers to a payment. */
  effect?: EffectOnPayment;
  /** It closes the device's day and does nothing else. */
  closesDay?: boolean;
  /** Time limit for the device's answer, unless the call sets another. */
  answerWithinMs: number;
  /** Fields of the command. */
  args: field.ObjectSchema;
  /** Fields of a report of `done`. Further fields are allowed and passed on. */
  report: field.ObjectSchema;
  /** An example of both, for the documents and the tests. */
  sample: { args: object; report?: object };
  /** It prints a fiscal receipt. */
  prints?: boolean;
  /** It puts cash into the drawer or takes it out, and sells nothing. */
  cash?: 'in' | 'out';
}

const fiscalTotals = {
  sales: field.money('All receipts.'),
  cash: field.money('What was paid in cash.'),
  card: field.money('What was paid by card.'),
  refunds: field.money('What was given back.'),
  cashIn: field.money('Cash put into the drawer.'),
  cashOut: field.money('Cash taken out of it.'),
};

const sampleDocument = { documentNr: '3f9f6a52-0c1d-4e8b-a7c6-1b2d3e4f5a6b' };
const samplePayment = { ...sampleDocument, operationId: '000147' };

export const operations = {
  Pay: {
    ...{ mode: 'POS', device: 'terminal', answerWithinMs: withCardMs, isPayment: true, asksForCard: true },
    does: 'charges a card',
    args: fields({ amount: field.amount, currency: field.currency }, { documentNr: field.documentNr }),
    report: fields(
      {
        rrn: field.notEmpty('Reference Retrieval Number; Refund needs it.'),
        authCode: field.text('Authorization code.'),
        operationId: field.notEmpty("The bank's number of this payment; CloseDoc, Refund and CancelTransaction need it."),
        amount: field.money('What was charged; another amount than was asked for goes to the review list.'),
      },
      {
        token: field.text('Authorization token, for CancelTransaction.'),
        maskedCard: field.text('First six and last four digits.'),
        time: field.time('When the bank said yes.'),
      },
    ),
    sample: {
      args: { amount: 150.5, currency: 'MDL', ...sampleDocument },
      report: {
        ...{ rrn: '407312908813', authCode: '283749', operationId: '000147', amount: 150.5, token: '9d1c5e' },
        ...{ maskedCard: '516793******0042', time: '2026-03-02T09:00:21.310Z' },
      },
    },
  },
  CloseDoc: {
    ...{ mode: 'POS', device: 'terminal', answerWithinMs: byBankMs, effect: 'close' },
    does: 'closes the document of a payment',
    args: fields({ documentNr: field.documentNr, operationId: field.operationId }),
    report: field.noReport,
    sample: { args: samplePayment },
  },
  CloseDay: {
    ...{ mode: 'POS', device: 'terminal', answerWithinMs: byBankMs, closesDay: true },
    does: 'sends the payments of the day to the bank',
    args: fields({}),
    report: fields(
      {
        count: field.count('Payments that were sent to the bank.'),
        amount: field.money('What was sent to the bank, net of refunds.'),
      },
      {
        totals: {
          ...fields(
            {},
            { sales: field.money('Payments, without those that were voided.'), refunds: field.money('What was given back of them.') },
          ),
        },
      },
    ),
    sample: { args: {}, report: { count: 42, amount: 18350.75, totals: { sales: 18415.25, refunds: 64.5 } } },
  },
  Refund: {
    ...{ mode: 'POS', device: 'terminal', answerWithinMs: byBankMs, effect: 'refund' },
    does: 'returns a payment or a part of it',
    args: fields({
      ...{ documentNr: field.documentNr, operationId: field.operationId },
      ...{ rrn: field.text('Reference Retrieval Number of the payment.'), amount: field.amount, currency: field.currency },
    }),
    report: fields({
      rrn: field.text('Of the refund.'),
      operationId: field.text('Of the refund.'),
      amount: field.money('What was given back.'),
    }),
    sample: {
      args: { ...samplePayment, rrn: '407312908813', amount: 50, currency: 'MDL' },
      report: { rrn: '407312909120', operationId: '000151', amount: 50 },
    },
  },
  CancelTransaction: {
    ...{ mode: 'POS', device: 'terminal', answerWithinMs: byBankMs, effect: 'void' },
    does: 'voids a payment',
    args: fields({
      ...{ documentNr: field.documentNr, operationId: field.operationId },
      ...{ token: field.text('Authorization token of the bank, unchecked.'), amount: field.amount },
    }),
    report: fields({ operationId: field.text('Of the payment.'), amount: field.money('What was voided.') }),
    sample: { args: { ...samplePayment, token: '9d1c5e', amount: 150.5 }, report: { operationId: '000147', amount: 150.5 } },
  },
  MoneyIn: {
    ...{ mode: 'Fiscal', device: 'register', answerWithinMs: byRegisterMs, cash: 'in' },
    does: 'records cash put into the drawer',
    args: field.cashArgs,
    report: field.cashReport,
    sample: { args: { amount: 500, reason: 'Change for the morning' }, report: { documentNumber: 1, cashInDrawer: 500 } },
  },
  MoneyOut: {
    ...{ mode: 'Fiscal', device: 'register', answerWithinMs: byRegisterMs, cash: 'out' },
    does: 'records cash taken out of the drawer',
    args: field.cashArgs,
    report: field.cashReport,
    sample: { args: { amount: 200 }, report: { documentNumber: 18, cashInDrawer: 300 } },
  },
  Report: {
    ...{ mode: 'Fiscal', device: 'register', answerWithinMs: byRegisterMs, closesDay: true },
    does: 'prints a Z or X report',
    args: fields({ fiscal: field.yesNo('true: Z, which closes the day; false: X.') }),
    report: fields({
      number: field.numberOrText('Number of the report.'),
      totals: {
        ...fields({}, fiscalTotals, 'Totals in lei, as the register keeps them; without those named here the day cannot be compared.'),
      },
    }),
    sample: { args: { fiscal: true }, report: { number: 7, totals: { receipts: 3, total: 210, byVat: { A: { gross: 210, vat: 35 } } } } },
  },
  PrintReceipt: {
    ...{ mode: 'Fiscal', device: 'register', answerWithinMs: withCardMs, prints: true },
    does: 'prints a fiscal receipt',
    args: fields({ receipt: { ...field.receipt } }),
    report: fields({
      receiptId: field.numberOrText('Id of the fiscal receipt; an ERP gets it as ReceiptID.'),
      fiscalNumber: field.numberOrText('Number in the fiscal memory.'),
      total: field.money('Total of the receipt.'),
    }),
    sample: {
      args: {
        receipt: {
          ...{ Number: 'A-1', Uid: 'order-1001' },
          ...{ Items: [{ Name: 'Coffee', Quantity: 2, Price: 35 }], Payments: [{ PaymentCode: 1 }] },
        },
      },
      report: { receiptId: 'b4c7b0f6-00000003', fiscalNumber: '00000003', total: 70 },
    },
  },
} as const satisfies Record<string, Operation>;

export type OperationName = keyof typeof operations;

export const operationNames = Object.keys(operations) as OperationName[];

/** For a name that may be unknown: from a device's journal, or of a command that moves nothing. */
export function operationNamed(name: string): Partial<Operation> {
  return Object.hasOwn(operations, name) ? operations[name as OperationName] : {};
}

/** For a name that was read from the database. */
export function operationOf(name: OperationName): Operation {
  return operations[name];
}

export function namesWhere(condition: (operation: Operation) => boolean): OperationName[] {
  return operationNames.filter((name) => condition(operations[name]));
}

/** It takes the money of a payment back. */
export function takesMoneyBack({ effect }: Partial<Operation>): boolean {
  return effect === 'refund' || effect === 'void';
}

/** It moves money on a card: a payment, refund or void. */
export function movesCardMoney(operation: Partial<Operation>): boolean {
  return operation.isPayment === true || takesMoneyBack(operation);
}

/** It takes money out: of the merchant's account, or of the drawer. */
export function takesMoneyOut(operation: Partial<Operation>): boolean {
  return takesMoneyBack(operation) || operation.cash === 'out';
}

/** The columns of a command's row that describe its operation, for statements and indexes. */
export function kindOf(name: OperationName): { mode: Operation['mode']; is_payment: number; closes_day: number } {
  const { mode, isPayment, closesDay } = operationOf(name);
  return { mode, is_payment: isPayment ? 1 : 0, closes_day: closesDay ? 1 : 0 };
}
