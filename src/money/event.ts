// What the core decides about, and what it answers [D300].
import type { ErrorName } from '../kernel/error-codes.ts';
import type { Bani } from '../kernel/money.ts';
import type { OperationState } from '../kernel/operation-states.ts';
import type { OperationName } from '../kernel/operations.ts';
import type { Receipt } from '../kernel/receipt.ts';
import type { Added, Case, Ending, Id, Invoice, OrphanReason, Report, Source } from './case.ts';

/** Of every call of an ERP or of a person in the cabinet. */
interface Call {
  merchantId: Id;
  /** Of the operation that the call may begin. */
  newId: Id;
  key?: { key: string; requestHash: string } | undefined;
  /** Hash of the request, for a call that is known by its content [D58]. */
  requestHash?: string | undefined;
  isByPerson?: boolean | undefined;
  /** The caller, for the history of an invoice. */
  by?: string | undefined;
  /** The shell has waited as the decision before asked: for a note about delivery, or for the answer of a device. */
  hasWaited?: boolean | undefined;
  /** Operations about which the journal has answered that got them, if only that it runs, or nothing usable [D129]. */
  answered?: readonly Id[] | undefined;
}

interface DeviceCall extends Call {
  deviceId: Id;
  callbackUri?: string | undefined;
}

/** Of a call about a payment. `paymentId`: the payment itself, chosen by a person; then the numbers are not compared. */
interface PaymentCall extends DeviceCall {
  documentNr: string;
  operationId: string;
  paymentId?: Id | undefined;
}

export type CallEvent =
  | ({ type: 'Pay'; amountBani: Bani; documentNr?: string | undefined } & DeviceCall)
  | ({ type: 'CloseDoc' } & PaymentCall)
  | ({ type: 'Refund'; amountBani: Bani; rrn: string } & PaymentCall)
  /** Voids an approved payment, stops one that runs, or withdraws an invoice [D18]. `isForInvoices`: the key opens QR Mode alone. */
  | ({ type: 'CancelTransaction'; amountBani: Bani; token: string; isForInvoices?: boolean | undefined } & PaymentCall)
  | ({ type: 'Print'; receipt: Receipt; contentHashes: readonly string[] } & DeviceCall)
  /** An operation that concerns no payment and no receipt: closeDay, a report, cash. */
  | ({ type: 'Plain'; kind: OperationName; args: Report; amountBani?: Bani | undefined } & DeviceCall);

export type StatusEvent = {
  type: 'Status';
  merchantId: Id;
  oid?: Id | undefined;
  documentNr?: string | undefined;
  receiptUid?: string | undefined;
  idempotencyKey?: string | undefined;
  /** What the caller's key opens; undefined: everything. */
  modules?: readonly string[] | undefined;
};

/** The answer to a caller that has waited for an operation, as a repeat of its call would get it. */
export type OutcomeEvent = { type: 'Outcome'; id: Id };

/** What a device says about a command, from whatever source. */
export interface ReportEvent {
  type: 'Report';
  id: Id;
  outcome: Ending;
  source: Source;
  report?: Report | undefined;
  reason?: string | undefined;
  /** The journal that says it; undefined: the device keeps none. */
  journalId?: Id | undefined;
  /** This gateway has received the acceptance, and has perhaps not written it. */
  wasAccepted?: boolean | undefined;
}

export type DeviceEvent =
  | ReportEvent
  /** The device has accepted the command; `isRunning`: it was asked, and says that it is executing it. */
  | { type: 'Accepted'; id: Id; isRunning?: boolean | undefined }
  /** The gateway knows that no copy of the command left. */
  | { type: 'NotSent'; id: Id; reason: string }
  /** Its device keeps no journal, was asked, and shows another last transaction. */
  | { type: 'LastIsAnother'; id: Id; journalId?: Id | undefined }
  | { type: 'AbortRefused'; id: Id };

export type DeadlineEvent =
  /** answerBy has passed, or the gateway that sent it has lost contact and waits for no answer any more. */
  | { type: 'Deadline'; id: Id; isContactLost?: boolean | undefined }
  /** It may have been unknown for so long that a person must look at it. */
  | { type: 'Overdue'; id: Id };

/** `by`: the person, for the timeline. */
export type PersonEvent =
  | {
      type: 'Decide';
      id: Id;
      isDone: boolean;
      reason: string;
      by?: string | undefined;
      operationId?: string | undefined;
      rrn?: string | undefined;
      /** The device's answer that the person saw; a decision about an older one is refused. Undefined: of an open operation. */
      contradiction?: string | null | undefined;
      /** A connected device is asked before a decision: it is at it, or has reported something that the person has not seen. */
      found?: 'running' | 'news' | undefined;
    }
  | { type: 'CloseByHand'; id: Id; reason: string; by?: string | undefined }
  | { type: 'HardwareLost'; deviceId: Id; reason: string; by?: string | undefined };

/** Late: written in the background, and never moved back. */
export type DeliveryEvent = { type: 'Delivery'; id: Id; was: 'received' | 'missed' };

/** After the retention time [D66]. `isCallbackPending`: the outbox has not sent its last callback yet. */
export type RemovalEvent = { type: 'Remove'; id: Id; isCallbackPending?: boolean | undefined };

/** `merchantId` undefined: a holder of the QR without key or credential [D10]. */
interface Asker {
  merchantId?: Id | undefined;
  oid: Id;
  by?: string | undefined;
  /** The caller is this device. */
  asDevice?: Id | undefined;
  /** The caller has the ERP's key. */
  hasKey?: boolean | undefined;
}

/** What an ERP gives with a new invoice, checked by the shell. `newId`: the OID, which is drawn. */
type NewInvoice = Pick<
  Invoice,
  'merchantId' | 'amountBani' | 'validTo' | 'callbackUri' | 'receipt' | 'qrSecretId' | 'pointOfSalesCode' | 'preferredDeviceId'
>;

export type InvoiceEvent =
  | ({ type: 'Create'; newId: Id; key?: { key: string; requestHash: string } | undefined } & NewInvoice)
  | ({ type: 'Get' } & Asker)
  | ({ type: 'InvoiceStatus' } & Asker)
  | ({ type: 'Payd'; receiptId: string; deviceId: string } & Asker)
  | { type: 'Expire'; oid: Id }
  /** By its merchant in the cabinet. */
  | { type: 'CancelInvoice'; merchantId: Id; oid: Id; by?: string | undefined; reason?: string | undefined }
  | { type: 'RemoveInvoice'; oid: Id; isCallbackPending?: boolean | undefined };

export type Event =
  | CallEvent
  | StatusEvent
  | OutcomeEvent
  | DeviceEvent
  | DeadlineEvent
  | PersonEvent
  | DeliveryEvent
  | RemovalEvent
  | InvoiceEvent;

/** The event of one type. */
export type Of<Type extends Event['type']> = Extract<Event, { type: Type }>;

export interface AnswerFields {
  OID?: Id;
  State?: OperationState;
  Operation?: string;
  Remainder?: number;
  Repeated?: true;
  /** Other operations under the number whose money the shop may have [D305]. */
  AlsoUnderThisNumber?: readonly { OID: Id; State: OperationState }[];
  /** Of an invoice. */
  Status?: number;
  ReceiptID?: string;
  PreviousStatus?: number;
}

export interface Answer {
  code: ErrorName | 'NoError';
  sentence: string;
  fields: AnswerFields;
  report?: Report | undefined;
  /** Of Create and Get: the row that the response shows. */
  invoice?: Invoice | undefined;
  /** An event by which the caller can do what the sentence advises: it is accepted in this state. */
  advice?: Event | undefined;
}

export type Effect =
  | { type: 'send'; id: Id }
  | { type: 'sendAbort'; id: Id; targetId: Id; deviceId: Id }
  /** The answer is about an open operation: wait for its end; ask its device if that is not executing it here. */
  | { type: 'wait'; id: Id }
  | { type: 'delivered'; id: Id }
  /** The call repeats an earlier one, and is answered about its operation; `by`: how it was recognised. For the timeline. */
  | { type: 'repeat'; id: Id; by: 'key' | 'number' | 'content' }
  /** Money was reported for which no row counts it; the call is answered when that is kept. */
  | { type: 'unmatched'; oid: Id; receiptId: string; deviceId: Id; merchantId: Id | undefined }
  /** For the log: money was taken that its invoice did not accept. `isKept`: it is among the orphans; false: there are too many. */
  | { type: 'orphan'; oid: Id; merchantId: Id; receiptId: string; deviceId: Id; reason: OrphanReason; isKept: boolean };

/** What the shell must do before it runs the event again with `hasWaited`; of a confirmation, with `answered`. */
export type Need = { type: 'confirmation'; ids: readonly Id[] } | { type: 'delivery'; id: Id };

export interface Decision {
  needs?: Need;
  /** Undefined: nothing changes. */
  next?: Case;
  added?: Added;
  answer?: Answer;
  effects: readonly Effect[];
}
