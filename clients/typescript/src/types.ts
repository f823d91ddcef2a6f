// What the calls take and give, in the names of the API. Amounts are lei: a number, or a text such as "150.50".

export type Amount = number | string;

/** The errors of the API; a number that is not here comes from a newer gateway. */
export const errorNames = {
  0: 'NoError',
  1: 'Internal_error',
  2: 'Error_Connection_Database',
  3: 'Timeout_or_no_response',
  10: 'Invalid_API_Key',
  11: 'API_Key_Wrong_Product',
  20: 'Record_not_exist',
  21: 'Invalid_QR',
  22: 'The_status_cannot_be_applied',
  30: 'Device_Offline',
  31: 'Device_Busy',
  40: 'Invalid_Request',
  41: 'Too_Many_Requests',
  50: 'Refused_By_Device',
} as const;

/** States of an invoice. */
export const invoiceStates = { 0: 'NewItem', 1: 'Scanned', 2: 'Payed', 3: 'Expired', 4: 'Cancelled' } as const;
export type InvoiceStatus = keyof typeof invoiceStates;

export interface Item {
  Name: string;
  Quantity: number;
  /** Lei of one; negative on a discount line. */
  Price: number;
  [field: string]: unknown;
}

export interface Payment {
  /** 1, 2, 7 and 1000 are card payments, 0 is cash. */
  PaymentCode: number | string;
  /** With a card code: the number of the Pay that took the money. The register prints it as card and charges nothing. */
  documentNr?: string;
  Amount?: Amount;
  [field: string]: unknown;
}

export interface Receipt {
  Number?: string | null;
  /** Prints once per Uid: give every receipt its own. */
  Uid?: string | null;
  Items: Item[];
  Payments?: Payment[] | null;
  [field: string]: unknown;
}

// What the devices report. Every device may say more.

export interface DeviceStatusReport {
  online: boolean;
  battery?: number;
  paper?: string;
  bank?: string;
  signal?: number;
  [field: string]: unknown;
}

export interface PayReport {
  rrn: string;
  authCode?: string;
  operationId: string;
  amount: number;
  /** What cancelTransaction asks for. */
  token?: string;
  [field: string]: unknown;
}

export interface LastTransactionReport {
  commandId?: string;
  kind?: string;
  state?: string;
  source?: string;
  rrn?: string;
  authCode?: string;
  operationId?: string;
  documentNr?: string;
  amount?: number;
  lastCommand?: { commandId?: string; kind?: string; state?: string; [field: string]: unknown };
  [field: string]: unknown;
}

export interface RefundReport {
  rrn?: string;
  operationId?: string;
  amount?: number;
  [field: string]: unknown;
}

export interface CloseDayReport {
  count?: number;
  amount?: number;
  [field: string]: unknown;
}

export interface CashReport {
  documentNumber?: number | string;
  cashInDrawer?: number;
  [field: string]: unknown;
}

export interface FiscalReport {
  number?: number | string;
  totals?: Record<string, unknown>;
  [field: string]: unknown;
}

export interface ReceiptReport {
  receiptId?: string;
  fiscalNumber?: string;
  total?: number;
  [field: string]: unknown;
}

export type AnyReport = Record<string, unknown>;

// How a call ended.

export interface Done {
  outcome: 'done';
  /** 22: it was done before, by another call (State Done or Closed). */
  errorCode: 0 | 22;
  errorMessage: string;
  /** The Idempotency-Key; calls that only read have none. */
  key: string | undefined;
}

interface Ended {
  /** Undefined when no answer of the gateway came. */
  errorCode: number | undefined;
  errorMessage: string;
  key: string | undefined;
  /** Of the operation, where the gateway told it: operationStatus takes it. */
  OID: string | undefined;
  /** What the device said, where it said something. */
  report: AnyReport | undefined;
}

/** The device, the customer or the bank said no. */
export interface Refused extends Ended {
  outcome: 'refused';
  errorCode: 50;
}

/** Nothing was done by this call and nothing will be. */
export interface NotDone extends Ended {
  outcome: 'notDone';
}

/** It may have been done, or may be done yet: ask operationStatus by the key or OID, and begin nothing else instead. */
export interface Unclear extends Ended {
  outcome: 'unclear';
}

export type Outcome<Fields> = (Done & Fields) | Refused | NotDone | Unclear;

export interface Operation<Report> {
  /** Id of the operation; absent where a document was closed by hand. */
  OID: string | undefined;
  report: Report;
}

// What the calls take. The API key is the client's.

export interface Device {
  DeviceID: string;
}

export interface PayRequest extends Device {
  amount: Amount;
  /** A UUID; charges once, without end. */
  documentNr?: string;
}

export interface PaymentNames extends Device {
  documentNr: string;
  operationId: string;
}

export interface RefundRequest extends PaymentNames {
  rrn: string;
  amount: Amount;
  currency?: string;
}

export interface CancelRequest extends PaymentNames {
  token: string;
  amount: Amount;
}

export interface CashRequest extends Device {
  Amount: Amount;
  Reason?: string;
  CallbackURI?: string;
}

export interface ReportRequest extends Device {
  /** true: Z, which closes the fiscal day; false: X. */
  Fiscal: boolean;
  CallbackURI?: string;
}

export interface PrintRequest extends Device {
  Receipt: Receipt;
  CallbackURI?: string;
}

export interface InvoiceRequest {
  Receipt: Receipt;
  DeviceID?: string | null;
  CallbackURI?: string | null;
  ValidTo?: string | null;
  PointOfSalesCode?: string | null;
}

/** By exactly one of its names. */
export type OperationName = { OID: string } | { documentNr: string } | { ReceiptUid: string } | { IdempotencyKey: string };
