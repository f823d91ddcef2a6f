// The catalogue of errors: number, HTTP status and meaning [D4, D5].
// Code throws the names; only http/envelope.ts writes the numbers.

export const errorCodes = {
  NoError: { code: 0, httpStatus: 200, meaning: 'Success.' },
  Internal_error: { code: 1, httpStatus: 200, meaning: 'The gateway failed while handling the request.' },
  Error_Connection_Database: {
    code: 2,
    httpStatus: 200,
    meaning: 'The database is offline. This concerns only this request: an earlier one may have been carried out.',
  },
  Timeout_or_no_response: { code: 3, httpStatus: 200, meaning: 'The device did not answer in time; the outcome is not known yet.' },
  Invalid_API_Key: { code: 10, httpStatus: 200, meaning: 'The key is missing, expired or invalid.' },
  API_Key_Wrong_Product: { code: 11, httpStatus: 200, meaning: 'The key has no access to this module.' },
  Record_not_exist: { code: 20, httpStatus: 200, meaning: 'The QR, invoice or transaction does not exist.' },
  Invalid_QR: { code: 21, httpStatus: 200, meaning: 'The QR is malformed or corrupt.' },
  The_status_cannot_be_applied: { code: 22, httpStatus: 200, meaning: 'The current state does not allow this call.' },
  Device_Offline: {
    code: 30,
    httpStatus: 200,
    meaning: 'The device is reachable neither by MQTT nor by the queue, or this key knows no such device.',
  },
  Device_Busy: { code: 31, httpStatus: 200, meaning: 'The device is processing another transaction.' },
  Invalid_Request: { code: 40, httpStatus: 400, meaning: 'The request violates a rule; the message names the field.' },
  Too_Many_Requests: { code: 41, httpStatus: 429, meaning: 'The key has exceeded its rate limit, or the gateway has too many requests.' },
  Refused_By_Device: { code: 50, httpStatus: 200, meaning: 'The device or its bank refused.' },
} as const;

export type ErrorName = Exclude<keyof typeof errorCodes, 'NoError'>;

export interface ErrorExtras {
  /** The device's answer, a JSON document in a string, for the envelope's `report`. */
  report?: string;
  /** Instead of the catalogue's status: 404, 405, 408, 413, 415... for protocol failures [D5]. */
  httpStatus?: number;
  retryAfterS?: number;
  /** Further fields of the envelope, such as the OID of the operation in the message. */
  fields?: object;
  cause?: unknown;
}

/** An error for the caller: a name from the catalogue and a message. */
export class GatewayError extends Error {
  readonly errorName: ErrorName;
  readonly report: string | undefined;
  readonly httpStatus: number;
  readonly retryAfterS: number | undefined;
  readonly fields: object | undefined;

  constructor(errorName: ErrorName, sentence: string, extras: ErrorExtras = {}) {
    super(sentence, extras.cause === undefined ? undefined : { cause: extras.cause });
    this.name = 'GatewayError';
    this.errorName = errorName;
    this.report = extras.report;
    this.httpStatus = extras.httpStatus ?? errorCodes[errorName].httpStatus;
    this.retryAfterS = extras.retryAfterS;
    this.fields = extras.fields;
  }
}

/** `sentence`: the field and the rule that it violates. */
export function invalidRequest(sentence: string): GatewayError {
  return new GatewayError('Invalid_Request', sentence);
}

/** A device of the merchant that cannot be reached. */
export function deviceOffline(report?: string): GatewayError {
  return new GatewayError('Device_Offline', 'The device is offline; nothing was sent.', report === undefined ? {} : { report });
}

/** The same for a device that is unknown, disabled or another merchant's, so that it reveals nothing about other merchants [D11]. */
export function unknownDevice(): GatewayError {
  return new GatewayError(
    'Device_Offline',
    "There is no device with this DeviceID for this key: it is not registered with the key's merchant, or it is disabled. Nothing was sent; correct the DeviceID, because a repeat gets the same answer.",
  );
}
