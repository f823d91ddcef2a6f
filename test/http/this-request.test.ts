// Codes 2, 41 and 503 must not be read as "not charged" by the sender of a repeated request [D59].
import { afterEach, describe, expect, it } from 'vitest';
import { databaseDown } from '../../src/database/errors.ts';
import { keyFor, open, optionalKey } from '../../src/http/authentication.ts';
import { aboutThisRequest } from '../../src/http/this-request.ts';
import { createSample, posKey, type Sample } from './sample-server.ts';

describe('the sentence about this request', () => {
  it.each([
    ['Error_Connection_Database', keyFor('POS'), /sent no operation to a device; an earlier one may have/],
    ['Error_Connection_Database', keyFor('Fiscal'), /an earlier one may have/],
    ['Error_Connection_Database', keyFor('POS', 'Fiscal'), /an earlier one may have/],
    ['Error_Connection_Database', keyFor('QR'), /may have been stored .* Idempotency-Key/],
    ['Error_Connection_Database', optionalKey('QR', true), /may have been stored nevertheless; repeating the request is safe\.$/],
    ['Too_Many_Requests', keyFor('POS'), /sent no operation to a device; an earlier one may have/],
    ['Too_Many_Requests', keyFor('QR'), /changed nothing; an earlier one may have/],
    ['Too_Many_Requests', optionalKey('QR', false), /changed nothing; an earlier one may have/],
  ] as const)('is added to %s on %o', (name, access, sentence) => {
    expect(aboutThisRequest(name, access)).toMatch(sentence);
  });

  it('is omitted if the code is unambiguous', () => {
    expect(aboutThisRequest('Device_Busy', keyFor('POS'))).toBeUndefined();
    expect(aboutThisRequest('Timeout_or_no_response', keyFor('POS'))).toBeUndefined();
    expect(aboutThisRequest('Too_Many_Requests', open)).toBeUndefined();
    expect(aboutThisRequest('Error_Connection_Database', undefined)).toBeUndefined();
  });
});

describe('over HTTP', () => {
  let sample: Sample;
  afterEach(() => sample.server.stop(0));

  async function pay(overrides: Parameters<typeof createSample>[0]): Promise<string> {
    sample = createSample(overrides);
    const { url } = await sample.server.listen();
    const body = JSON.stringify({ APIKey: posKey, amount: 1 });
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${url}/Device/sample/Pay`, { method: 'POST', headers, body });
    return ((await response.json()) as { errorMessage: string }).errorMessage;
  }

  it('code 2 says what this request did, and that an earlier one may have done more', async () => {
    const errorMessage = await pay({ findCaller: () => Promise.reject(databaseDown('The database cannot be reached.')) });
    expect(errorMessage).toBe(
      'Error_Connection_Database: The database cannot be reached. This request sent no operation to a device; an earlier one may have.',
    );
  });

  it('code 41 does so as well, and never says that nothing was done', async () => {
    const errorMessage = await pay({ limits: { requestsInFlight: 0 } });
    expect(errorMessage).toMatch(/^Too_Many_Requests: .*an earlier one may have\.$/);
    expect(errorMessage).not.toContain('nothing was done');
  });
});
