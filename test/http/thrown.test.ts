// The answer to a thrown error: a GatewayError unchanged, an HTTP error with its status, and any other only as a reference to the log.
import { describe, expect, it } from 'vitest';
import { failureBody, protocolFailure, rawResponse, toGatewayError } from '../../src/http/envelope.ts';
import { GatewayError } from '../../src/kernel/error-codes.ts';

const thrown = (fields: object) => Object.assign(new Error('secret 4111'), fields);
const told = (error: unknown) => {
  const { errorName, httpStatus, message } = toGatewayError(error, 'r-1');
  return [errorName, httpStatus, message];
};
const internal = ['Internal_error', 200, 'The gateway failed while handling the request; its log has the details under r-1.'];

describe('the answer to a thrown error', () => {
  it('is a GatewayError unchanged', () => {
    const error = new GatewayError('Device_Busy', 'It is.');
    expect(toGatewayError(error, 'r-1')).toBe(error);
  });

  it('has the status of an HTTP error, with a message of the gateway', () => {
    expect(told(thrown({ code: 'FST_ERR_CTP_BODY_TOO_LARGE', statusCode: 413 }))).toEqual([
      'Invalid_Request',
      413,
      'The body must not be larger than 1 MiB.',
    ]);
    for (const statusCode of [400, 499])
      expect(told(thrown({ code: 'FST_ERR_NEW', statusCode }))).toEqual(['Invalid_Request', statusCode, 'The request is malformed.']);
    expect(told(thrown({ code: 'ECONNRESET', statusCode: 400 })).slice(0, 2)).toEqual(['Invalid_Request', 400]);
  });

  it.each([
    ['an HTTP error of the server', thrown({ code: 'FST_ERR_NEW', statusCode: 500 })],
    ['a status below 400', thrown({ code: 'FST_ERR_NEW', statusCode: 399 })],
    ['an HTTP error without a status', thrown({ code: 'FST_ERR_NEW' })],
    ['a status that is not a number', thrown({ code: 'FST_ERR_NEW', statusCode: '400' })],
    ['a status of another library', thrown({ code: 'ENOENT', statusCode: 400 })],
    ['a code that is not a string', thrown({ code: 400, statusCode: 400 })],
    ['a programming error', new TypeError('x is not a function')],
    ['an object that is no Error', { code: 'FST_ERR_NEW', statusCode: 400 }],
    ['undefined', undefined],
  ])('is a reference to the log for %s', (_name, error) => {
    expect(told(error)).toEqual(internal);
    expect(toGatewayError(error, 'r-1').cause).toBe(error);
  });
});

it('the answer to a refusal contains the whole report of the device', () => {
  const error = new GatewayError('Refused_By_Device', 'No.', { report: '{"a":1}', fields: { OID: 'o' } });
  expect(failureBody(error, 'And more.')).toEqual({
    errorCode: 50,
    errorMessage: 'Refused_By_Device: No. And more.',
    OID: 'o',
    report: '{"a":1}',
  });
});

describe('a failure before there is a request', () => {
  const head = ['Content-Type: application/json; charset=utf-8'];
  const body = (sentence: string) => `{"errorCode":40,"errorMessage":"Invalid_Request: ${sentence}"}`;

  it('is a complete response that closes the connection', () => {
    expect(rawResponse(protocolFailure(431, 'Too lärge.')).split('\r\n')).toEqual([
      'HTTP/1.1 431 Request Header Fields Too Large',
      ...head,
      `Content-Length: ${Buffer.byteLength(body('Too lärge.'))}`,
      'Cache-Control: no-store',
      'Connection: close',
      '',
      body('Too lärge.'),
    ]);
  });

  it('may have extra headers, and has a reason phrase even for an unknown status', () => {
    const lines = rawResponse(protocolFailure(499, 'No.'), ['Allow: GET']).split('\r\n');
    expect([lines[0], lines[4]]).toEqual(['HTTP/1.1 499 Error', 'Allow: GET']);
  });
});
