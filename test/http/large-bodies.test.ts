// No large body is parsed before a valid credential was presented [D160], on open routes and on others.
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { adminToken, base, createSample, deviceId, posKey, qrKey, type Sample } from './sample-server.ts';

const fourKib = 4 * 1024;
const unknownKey = '99999999-9999-4999-8999-999999999999';
const marker = 'parsed-only-with-a-credential';
let sample: Sample;
let parse: MockInstance<typeof JSON.parse>;
beforeEach(() => {
  sample = createSample();
  parse = vi.spyOn(JSON, 'parse');
});
afterEach(async () => {
  parse.mockRestore();
  await sample.server.stop(0);
});

const wasParsed = () => parse.mock.calls.some(([text]) => text.includes(marker));
const post = async (path: string, payload: string, headers: Record<string, string> = {}) => {
  parse.mockClear();
  const answer = await sample.server.app.inject({
    method: 'POST',
    url: `${base}${path}`,
    headers: { 'content-type': 'application/json', ...headers },
    payload,
  });
  const isParsed = wasParsed();
  return { isParsed, status: answer.statusCode, ...answer.json<{ errorCode: number; errorMessage: string }>() };
};
const pay = (fields: object, length = 2 * fourKib) =>
  JSON.stringify({ DeviceID: deviceId, amount: 10.5, padding: marker.padEnd(length, '.'), ...fields });

describe('a body of more than 4 KiB', () => {
  it('is refused on public calls, before it is received', async () => {
    for (const path of ['/test/echo', '/cabinet/api/door']) {
      const large = await post(path, pay({}));
      expect(large, path).toMatchObject({ status: 413, errorCode: 40, isParsed: false });
      expect(large.errorMessage).toContain('The body must not be larger than 4 KiB.');
      expect(await post(path, pay({}, 100)), path).toMatchObject({ isParsed: true });
    }
    const exact = (bytes: number) => `"${marker}${'x'.repeat(bytes - marker.length - 2)}"`;
    expect(await post('/test/echo', exact(fourKib))).toMatchObject({ status: 200, isParsed: true });
    expect(await post('/test/echo', exact(fourKib + 1))).toMatchObject({ status: 413, isParsed: false });
  });

  it.each<[string, object, Record<string, string>, number, string]>([
    ['no key', {}, {}, 10, 'APIKey is missing'],
    ['an unknown key in the body', { APIKey: unknownKey }, {}, 10, 'unknown, expired or revoked'],
    ['an unknown key in the header', {}, { 'x-api-key': unknownKey }, 10, 'unknown, expired or revoked'],
    ['no UUID in the header', {}, { 'x-api-key': 'x' }, 10, 'must be a UUID'],
    ['a key of another module', { APIKey: qrKey }, {}, 11, 'does not open the module'],
  ])('is not parsed with %s', async (_what, fields, headers, errorCode, sentence) => {
    const answer = await post('/Device/sample/Pay', pay(fields), headers);
    expect(answer).toMatchObject({ errorCode, isParsed: false });
    expect(answer.errorMessage).toContain(sentence);
  });

  it('is parsed with a valid key in the header or anywhere in the body, and authorized by the right one of them', async () => {
    expect(await post('/Device/sample/Pay', pay({}), { 'x-api-key': posKey })).toMatchObject({ errorCode: 0, merchant: 'merchant-pos' });
    expect(await post('/Device/sample/Pay', pay({ APIKey: posKey.toUpperCase() }))).toMatchObject({ errorCode: 0, isParsed: true });
    // The field of the body takes precedence over the header [D9], and a nested field is no credential.
    expect(await post('/Device/sample/Pay', pay({ APIKey: unknownKey }), { 'x-api-key': posKey })).toMatchObject({ errorCode: 10 });
    expect(await post('/Device/sample/Pay', pay({ APIKey: posKey }), { 'x-api-key': unknownKey })).toMatchObject({ errorCode: 0 });
    expect(await post('/Device/sample/Pay', pay({ inner: { APIKey: posKey } }))).toMatchObject({ errorCode: 10, isParsed: true });
    expect(await post('/Device/sample/Pay', pay({ inner: { APIKey: unknownKey }, APIKey: posKey }))).toMatchObject({ errorCode: 0 });
  });

  it('causes at most three key look-ups', async () => {
    const many = JSON.stringify(Array.from({ length: 1_000 }, (_, n) => ({ APIKey: unknownKey.replace(/^9{4}/, String(1_000 + n)) })));
    await post('/Device/sample/Pay', many);
    expect(sample.lookups).toBe(3);
    await post('/Device/sample/Pay', pay({ APIKey: posKey }));
    expect(sample.lookups).toBe(4);
  });

  it('of the cabinet needs a session or the admin token first', async () => {
    const thing = JSON.stringify({ name: 'A', padding: marker.padEnd(2 * fourKib) });
    expect(await post('/cabinet/api/things', thing)).toMatchObject({ status: 401, isParsed: false });
    expect(await post('/cabinet/api/things', thing, { authorization: 'Bearer x' })).toMatchObject({ status: 401, isParsed: false });
    expect(await post('/cabinet/api/things', thing, { authorization: `Bearer ${adminToken}` })).toMatchObject({
      errorCode: 0,
      isParsed: true,
    });
  });

  it('is counted once against the rate of its key', async () => {
    await sample.server.stop(0);
    sample = createSample({ rateLimitPerS: 2 });
    const answers = [];
    for (let count = 0; count < 3; count += 1) answers.push(await post('/Device/sample/Pay', pay({ APIKey: posKey })));
    expect(answers.map(({ errorCode }) => errorCode)).toEqual([0, 0, 41]);
    expect(answers[2]).toMatchObject({ isParsed: false });
  });

  it('is not parsed for an unknown path or method', async () => {
    expect(await post('/no/such/path', pay({}))).toMatchObject({ status: 404, isParsed: false });
    expect(await post('/Device/sample/Status', pay({}))).toMatchObject({ status: 405, isParsed: false });
  });
});
