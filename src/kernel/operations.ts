// The operation catalogue: every operation that moves money or writes fiscal memory, with its properties. No other code decides by an
// operation's name what kind it is: the ledger, the cabinet and the virtual devices read this table.

/** The effect of a done operation on its payment. */
export type EffectOnPayment = 'close' | 'void' | 'refund';

export type ReportForm = 'text' | 'number' | 'numberOrText' | 'yesNo' | 'object';

/** A person stands at the device with a card. */
const withCardMs = 5 * 60_000;
const byBankMs = 60_000;
const byRegisterMs = 20_000;
const cashReport = { documentNumber: 'numberOrText', cashInDrawer: 'number' } as const;

export interface Operation {
  /** The module that an API key must open to start or query it. */
  mode: 'POS' | 'Fiscal';
  device: 'terminal' | 'register';
  /** It charges a card: when done, it opens a document that locks the terminal until it is closed or voided [D14]. */
  isPayment?: boolean;
  /** Of an operation that refers to a payment. */
  effect?: EffectOnPayment;
  /** It closes the device's day and does nothing else. */
  closesDay?: boolean;
  /** Time limit for the device's answer, unless the call sets another. */
  answerWithinMs: number;
  /** The required fields of a report of `done`, and their types. */
  report: Readonly<Record<string, ReportForm>>;
  /** It prints a fiscal receipt. */
  prints?: boolean;
  /** It puts cash into the drawer or takes it out, and sells nothing. */
  cash?: 'in' | 'out';
}

export const operations = {
  Pay: {
    ...{ mode: 'POS', device: 'terminal', answerWithinMs: withCardMs, isPayment: true },
    report: { rrn: 'text', authCode: 'text', operationId: 'text', amount: 'number' },
  },
  CloseDoc: { mode: 'POS', device: 'terminal', answerWithinMs: byBankMs, effect: 'close', report: {} },
  CloseDay: { mode: 'POS', device: 'terminal', answerWithinMs: byBankMs, closesDay: true, report: { count: 'number', amount: 'number' } },
  Refund: {
    ...{ mode: 'POS', device: 'terminal', answerWithinMs: byBankMs, effect: 'refund' },
    report: { rrn: 'text', operationId: 'text', amount: 'number' },
  },
  CancelTransaction: {
    ...{ mode: 'POS', device: 'terminal', answerWithinMs: byBankMs, effect: 'void' },
    report: { operationId: 'text', amount: 'number' },
  },
  MoneyIn: { mode: 'Fiscal', device: 'register', answerWithinMs: byRegisterMs, cash: 'in', report: cashReport },
  MoneyOut: { mode: 'Fiscal', device: 'register', answerWithinMs: byRegisterMs, cash: 'out', report: cashReport },
  Report: {
    ...{ mode: 'Fiscal', device: 'register', answerWithinMs: byRegisterMs, closesDay: true },
    report: { number: 'numberOrText', totals: 'object' },
  },
  PrintReceipt: {
    ...{ mode: 'Fiscal', device: 'register', answerWithinMs: withCardMs, prints: true },
    report: { receiptId: 'numberOrText', fiscalNumber: 'numberOrText', total: 'number' },
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
