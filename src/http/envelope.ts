// The envelope of every response [D4 to D7]. Only this file turns error names into numbers.
// A success is errorCode 0 and an empty errorMessage; a failure is the error's name and a sentence, with a colon between.
import { errorCodes, GatewayError } from '../kernel/error-codes.ts';
import { http } from '../kernel/node-http.ts';

export interface Envelope {
  errorCode: number;
  errorMessage: string;
  report?: string;
}

/** Handlers return only their extra fields; the envelope's own two come first. */
export function successBody(fields: object): Envelope {
  return { errorCode: errorCodes.NoError.code, errorMessage: '', ...fields };
}

/** What an answer says of an error. */
type ErrorText = Pick<GatewayError, 'errorName' | 'message'> & Partial<Pick<GatewayError, 'fields' | 'report'>>;

/** `addition`: a second sentence, about this request. */
export function failureBody(error: ErrorText, addition?: string): Envelope {
  const sentences = addition === undefined ? error.message : `${error.message} ${addition}`;
  const body: Envelope = { errorCode: errorCodes[error.errorName].code, errorMessage: `${error.errorName}: ${sentences}` };
  return { ...body, ...error.fields, ...(error.report === undefined ? {} : { report: error.report }) };
}

export function protocolFailure(httpStatus: number, sentence: string, cause?: unknown): GatewayError {
  return new GatewayError('Invalid_Request', sentence, { httpStatus, cause });
}

/** One function, because a hidden path must answer exactly as an unknown one. */
export function noSuchPath(missingBasePath?: string): GatewayError {
  const hint = missingBasePath === undefined ? '' : ` All paths begin with ${missingBasePath}.`;
  return protocolFailure(404, `There is no such path.${hint}`);
}

// Our sentences for Fastify's errors. An error that is not listed keeps its status and gets a general sentence.
const sentencesByCode: Record<string, string> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'The header Content-Type must be application/json.',
  FST_ERR_CTP_BODY_TOO_LARGE: 'The body must not be larger than 1 MiB.',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'The header Content-Length must be equal to the length of the body.',
  FST_ERR_BAD_URL: 'The path must be a valid URL path.',
  FST_ERR_MAX_PARAM_LENGTH: 'A part of the path is too long.',
  ECONNRESET: 'The connection ended before the whole request had arrived.',
};

/** Any thrown value as an error that may be shown to a caller; unknown errors become Internal_error. */
export function toGatewayError(error: unknown, requestId: string): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof Error) {
    const { code, statusCode } = error as Error & { code?: unknown; statusCode?: unknown };
    const isProtocol = typeof code === 'string' && (code.startsWith('FST_ERR_') || code === 'ECONNRESET');
    if (isProtocol && typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
      return protocolFailure(statusCode, sentencesByCode[code] ?? 'The request is malformed.', error);
    }
  }
  return new GatewayError('Internal_error', `The gateway failed while handling the request; its log has the details under ${requestId}.`, {
    cause: error,
  });
}

/** A complete HTTP response as text, for failures that Node reports before there is a request object. */
export function rawResponse(error: GatewayError, extraHeaders: readonly string[] = []): string {
  const body = JSON.stringify(failureBody(error));
  return [
    `HTTP/1.1 ${error.httpStatus} ${http.STATUS_CODES[error.httpStatus] ?? 'Error'}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    ...extraHeaders,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}
