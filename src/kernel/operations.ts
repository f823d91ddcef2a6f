// The operation catalogue: every operation that moves money or writes fiscal memory, and what the rest of the product has to know about it.
// Nothing else decides by an operation's name what kind of operation it is: the ledger, the cabinet and the device's side read this table.

/** What a done operation does to the payment that it refers to. */
export type EffectOnPayment = 'close' | 'void' | 'refund';

export interface Operation {
  /** Which module a key must open to ask for it or about it. */
  mode: 'POS' | 'Fiscal';
  device: 'terminal' | 'register';
  /** It charges a card: done, it opens a document, which locks the terminal until it is closed or voided [D14]. */
  isPayment?: boolean;
  /** Of an operation that refers to a payment. */
  effect?: EffectOnPayment;
  /** It only closes the device's day: what was done on the device since is not in it. */
  closesDay?: boolean;
  /** It prints a fiscal receipt. */
  prints?: boolean;
  /** It puts cash into the drawer or takes it out, and sells nothing. */
  cash?: 'in' | 'out';
}

export const operations = {
  Pay: { mode: 'POS', device: 'terminal', isPayment: true },
  CloseDoc: { mode: 'POS', device: 'terminal', effect: 'close' },
  CloseDay: { mode: 'POS', device: 'terminal', closesDay: true },
  Refund: { mode: 'POS', device: 'terminal', effect: 'refund' },
  CancelTransaction: { mode: 'POS', device: 'terminal', effect: 'void' },
  MoneyIn: { mode: 'Fiscal', device: 'register', cash: 'in' },
  MoneyOut: { mode: 'Fiscal', device: 'register', cash: 'out' },
  Report: { mode: 'Fiscal', device: 'register', closesDay: true },
  PrintReceipt: { mode: 'Fiscal', device: 'register', prints: true },
} as const satisfies Record<string, Operation>;

export type OperationName = keyof typeof operations;

export const operationNames = Object.keys(operations) as OperationName[];

/** Of the catalogue's entry for a name that was read from the database. */
export function operationOf(name: OperationName): Operation {
  return operations[name];
}

export function namesWhere(condition: (operation: Operation) => boolean): OperationName[] {
  return operationNames.filter((name) => condition(operations[name]));
}

/** What a row of the ledger says of its operation, for statements and indexes. */
export function kindOf(name: OperationName): { mode: Operation['mode']; is_payment: number; closes_day: number } {
  const { mode, isPayment, closesDay } = operationOf(name);
  return { mode, is_payment: isPayment ? 1 : 0, closes_day: closesDay ? 1 : 0 };
}
