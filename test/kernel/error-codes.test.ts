import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { errorCodes, GatewayError } from '../../src/kernel/error-codes.ts';

describe('the catalogue of errors', () => {
  it('has the numbers of the specification and the three added ones', () => {
    expect(Object.fromEntries(Object.entries(errorCodes).map(([name, { code }]) => [name, code]))).toEqual({
      NoError: 0,
      Internal_error: 1,
      Error_Connection_Database: 2,
      Timeout_or_no_response: 3,
      Invalid_API_Key: 10,
      API_Key_Wrong_Product: 11,
      Record_not_exist: 20,
      Invalid_QR: 21,
      The_status_cannot_be_applied: 22,
      Device_Offline: 30,
      Device_Busy: 31,
      Invalid_Request: 40,
      Too_Many_Requests: 41,
      Refused_By_Device: 50,
    });
  });

  it('answers HTTP 200 for every outcome of the specification', () => {
    for (const { code, httpStatus } of Object.values(errorCodes)) expect(httpStatus).toBe(code === 40 ? 400 : code === 41 ? 429 : 200);
  });

  it('is what the API document shows: every name has an example somewhere', () => {
    const document = readFileSync('openapi/v1.json', 'utf8');
    for (const [name, { code }] of Object.entries(errorCodes)) expect(document).toContain(`"summary": "${code} ${name}"`);
  });

  it('lets a protocol failure have its own HTTP status', () => {
    expect(new GatewayError('Invalid_Request', 'Too large.', { httpStatus: 413 }).httpStatus).toBe(413);
    expect(new GatewayError('Invalid_Request', 'Wrong.').httpStatus).toBe(400);
  });
});
