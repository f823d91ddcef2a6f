// The facts of a decision about money [D300]: the rows that an event concerns, as they were loaded or assumed. Rules (rules/) get a case and
// return the next one; the difference of the two is what a commit writes (unit.ts).
//
// Stored fields keep their name in every layer; tables.ts has their columns. Derived fields are written by rules/derive.ts alone.
import type { Bani } from '../kernel/money.ts';
import type { OperationState } from '../kernel/operation-states.ts';
import type { OperationName } from '../kernel/operations.ts';

export type Id = string;
/** An abort is an operation of its own that locks no device [D315]. */
export type Kind = OperationName | 'Abort';
export type SettledState = 'done' | 'refused' | 'never';
export type OpState = 'sent' | 'unknown' | SettledState | 'disputed';
/** How a device calls the end of a command. */
export type Ending = 'done' | 'refused' | 'unsupported' | 'busy' | 'expired' | 'never' | 'unknown';
export type Source = 'answer' | 'late-answer' | 'recall' | 'last-transaction' | 'person' | 'gateway';
export type DocumentState = 'open' | 'closed' | 'voided';
export type Report = Readonly<Record<string, unknown>>;

/** An operation: a command to a device, or the request to stop one. */
export interface Op {
  readonly id: Id;
  version: number;
  readonly kind: Kind;
  readonly merchantId: Id;
  readonly deviceId: Id;
  /** The device's counter at its begin [D307]; null: it is being begun, so it is the newest. Of an abort: 0. */
  readonly sequence: number | null;
  /** Its place among the attempts under its name; 0: it has none. */
  readonly attempt: number;
  state: OpState;
  readonly amountBani: Bani | null;
  /** What the operation itself charges on a card: a payment, or a print by a register. */
  readonly cardBani: Bani;
  readonly cashBani: Bani;
  readonly documentNr: string | null;
  readonly receiptUid: string | null;
  /** The payment that a CloseDoc, refund, void or abort is about. */
  readonly targetId: Id | null;
  /** Of a close of the day: what was the device's newest sale when it began. */
  readonly afterId: Id | null;
  /** Of a print: the payments that were made before and stand on its receipt. */
  readonly paid: readonly PaidElement[];
  readonly contentHash: string | null;
  /** What the device gets; null: not loaded, because it never changes and no rule reads it. */
  readonly args: Report | null;
  /** Of a request that is known by its content if it has no name of its own [D58]. */
  readonly requestHash: string | null;
  readonly callbackUri: string | null;
  /** A person in the cabinet began it: it delivers nothing to a till [D309]. */
  readonly isByPerson: boolean;
  /** The journal under whose id it was sent; null: the device keeps none. */
  readonly journalId: Id | null;
  readonly issuedAt: number;
  answerBy: number;
  acceptedAt: number | null;
  /** The bank's numbers: of a payment once done, of a command about a payment from its begin. */
  operationId: string | null;
  rrn: string | null;
  receiptId: string | null;
  /** When the gateway learned its outcome first: the date of its money, which never moves [D303]. */
  settledAt: number | null;
  settledBy: Source | null;
  outcome: Ending | null;
  report: Report | null;
  reason: string | null;
  /** The device cannot tell how it ended, and has finished it [D63]. */
  isEndedUnknown: boolean;
  /** Of a dispute: the state that the device contradicts, and its answer in short. Kept after the dispute [D143]. */
  disputedFrom: SettledState | null;
  contradiction: string | null;
  review: Review | null;
  /** The journal under whose id it was sent has given a final answer: it need not be asked again [D304]. */
  isConfirmed: boolean;
  /** An operator declared the hardware lost that could confirm. */
  isHardwareLost: boolean;
  /** A person ended the document, or decided without the numbers that a CloseDoc needs [D308]. */
  isEndedByHand: boolean;
  /** Of an abort: the terminal refused to stop [D18]. */
  isStopRefused: boolean;
  /** Delivery, which only connections write: the caller was answered 3 or left; a caller has the outcome [D58]. */
  missedAt: number | null;
  receivedAt: number | null;
  /** How many completion notices were written about it [D30]. */
  notices: number;
  removedAt: number | null;
  // Derived:
  standing: OperationState;
  refundedBani: Bani;
  document: DocumentState | null;
  /** The print that has this payment. */
  printId: Id | null;
  /** A person decided that it was not executed, and its own journal has not answered [D304]. */
  isUnconfirmed: boolean;
  /** A person decided it, as executed or not, and its own journal has not answered: the sweeps ask its device. */
  isToConfirm: boolean;
  /** What the operations under its number together mean for a person; null: nothing. */
  attention: readonly Attention[] | null;
}

export type Attention = 'chargedTwice' | 'paymentWithoutReceipt' | 'receiptWithoutPayment' | 'voidedAfterReceipt';

export interface PaidElement {
  paymentId: Id;
  amountBani: Bani;
}

export interface Review {
  since: number;
  reason: string;
  isClosed: boolean;
}

export interface Device {
  readonly id: Id;
  /** The counter: every write of the row raises it, and an operation takes it at its begin. It is the row's version [D307]. */
  sequence: number;
  commandId: Id | null;
  documentId: Id | null;
  /** Decisions "not executed" that its journal has not confirmed [D304]. */
  unconfirmed: readonly Id[];
  /** The last two closes of its day that are done, oldest first. */
  closes: readonly Close[];
  /** The newest payment that was made on it. */
  lastPayment: Close | null;
  /** The newest operation that a close of its day includes: an invoice that was paid by QR, too. */
  lastSaleId: Id | null;
  /** The last command whose end the device itself reported. */
  headId: Id | null;
}

export interface Close {
  id: Id;
  sequence: number;
}

/** What is known about a device beside its row: read, never guarded. Absent: the merchant has no such device. */
export interface Presence {
  kind: 'terminal' | 'register';
  isDisabled: boolean;
  isOnline: boolean;
  /** Null: the device keeps no journal. */
  journalId: Id | null;
  /** Undefined: it has not announced them yet. */
  features: readonly string[] | undefined;
}

/** One row per normalised value and merchant, whether it is a documentNr, a Receipt.Uid or both; never deleted. */
export interface Name {
  readonly merchantId: Id;
  readonly value: string;
  /** 0: the row does not exist yet. */
  version: number;
  /** How many operations began under it. */
  attempts: number;
  /** By attempt: every operation that was or may have been executed, and the newest payment and the newest print. */
  ops: readonly Id[];
}

export interface Key {
  readonly merchantId: Id;
  readonly key: string;
  requestHash: string;
  subjectKind: 'command' | 'invoice';
  subjectId: Id;
  createdAt: number;
}

export type InvoiceState = 'NewItem' | 'Scanned' | 'Payed' | 'Expired' | 'Cancelled';

export interface Invoice {
  readonly oid: Id;
  readonly merchantId: Id;
  version: number;
  state: InvoiceState;
  readonly amountBani: Bani | null;
  readonly validTo: number | null;
  readonly callbackUri: string | null;
  /** What a scan shows, which no rule reads: the receipt as stored (null: not loaded), the secret that signs its QR, and the ERP's wishes. */
  readonly receipt: string | null;
  readonly qrSecretId: number;
  readonly pointOfSalesCode: string | null;
  readonly preferredDeviceId: Id | null;
  readonly createdAt: number;
  scannedAt: number | null;
  endedAt: number | null;
  receiptId: string | null;
  paidDeviceId: string | null;
  notices: number;
  /** A card payment began under its OID. */
  isChargeBegun: boolean;
  removedAt: number | null;
  // Derived:
  /** Unpaid although the shop has the money of a card payment: its ERP must complete it [D142]. */
  isPaidByCard: boolean;
}

/** Money that a device took for an invoice, and that the invoice was not, or not only, paid with [D22, D186]. */
export interface Orphan {
  readonly oid: Id;
  readonly merchantId: Id;
  readonly receiptId: string;
  readonly deviceId: string;
  /** A note of a person is about one version: it does not hide an orphan that is listed again. */
  version: number;
  readonly at: number;
  reason: OrphanReason;
  // Derived:
  /** False: the invoice was paid with it after all, and not by card, too. */
  isListed: boolean;
}

export type OrphanReason =
  | 'device-not-registered'
  | 'other-device'
  | 'never-scanned'
  | 'paid-otherwise'
  | 'expired'
  | 'cancelled'
  | 'paid-by-card-too';

/** Rows that a decision adds and no decision changes. */
export interface Notice {
  subjectKind: 'operation' | 'invoice';
  subjectId: Id;
  sequence: number;
  /** `#State#` of the template. */
  state: string;
  receiptId: string | null;
  deviceId: string | null;
  uri: string;
}

/** A money entry beside that of the operation: a dispute was resolved otherwise [D303]. */
export interface Correction {
  operationId: Id;
  amountBani: Bani;
  at: number;
}

export interface Step {
  operationId: Id;
  step: string;
  detail: string;
  /** What the device reported with it. */
  report?: Report | undefined;
  /** A device can repeat it without end: it is written later, and counted. Absent: part of the change. */
  isCounted?: true;
}

/** An entry in the history of an invoice. */
export interface InvoiceEntry {
  oid: Id;
  at: number;
  event: InvoiceState | 'payment-refused';
  detail: Readonly<Record<string, string>>;
}

export interface TableRows {
  invoices: Invoice;
  devices: Device;
  ops: Op;
  names: Name;
  keys: Key;
  orphans: Orphan;
}
export type TableName = keyof TableRows;
export type Root = readonly [table: TableName, key: string];

export type Rows<Row> = Readonly<Record<string, Row>>;
type Tables = { readonly [Table in TableName]: Rows<TableRows[Table]> };
type WritableTables = { readonly [Table in TableName]: Record<string, TableRows[Table]> };

/** Rows by table, then by key: `merchantId value` of a name, `merchantId key` of a key, `oid receiptId deviceId` of an orphan. */
export interface Case extends Tables {
  readonly now: number;
  /** Extra time of a scanned invoice after its limit [D22]. */
  readonly scanGraceMs: number;
  /** Nothing was loaded: the device is free, name and key are unused. */
  readonly isAssumed: boolean;
  /** The last committed case of a device in this gateway's memory: the device is guarded by its values, all other rows by their versions. */
  readonly isRemembered?: boolean;
  readonly presence: Rows<Presence>;
  /** Payments whose followers and prints are all in the case. */
  readonly sales: ReadonlySet<Id>;
  /** Operations whose caller may still be waiting at a living gateway. */
  readonly waitedFor: ReadonlySet<Id>;
  /** Rows to rely on: guarded, and therefore written. */
  readonly roots: readonly Root[];
}

/** A case that a rule changes: a copy, so that the facts stay as they were loaded. */
export interface Draft extends Omit<Case, keyof Tables | 'sales' | 'roots'>, WritableTables {
  readonly sales: Set<Id>;
  readonly roots: Root[];
  readonly added: Added;
}

/** Rows that the decision adds. */
export interface Added {
  history: InvoiceEntry[];
  notices: Notice[];
  corrections: Correction[];
  /** For the timeline. */
  steps: Step[];
}

export const nameKey = (merchantId: Id, value: string) => `${merchantId} ${value}`;

function copies<Row extends object>(rows: Rows<Row>): Record<string, Row> {
  const copied: Record<string, Row> = {};
  for (const [key, row] of Object.entries(rows)) copied[key] = { ...row };
  return copied;
}

export function draftOf(facts: Case): Draft {
  return {
    ...facts,
    ops: copies(facts.ops),
    devices: copies(facts.devices),
    names: copies(facts.names),
    keys: copies(facts.keys),
    invoices: copies(facts.invoices),
    orphans: copies(facts.orphans),
    sales: new Set(facts.sales),
    roots: [...facts.roots],
    added: { history: [], notices: [], corrections: [], steps: [] },
  };
}
