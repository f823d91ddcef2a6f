// The envelope of every route [D4 to D7], and which bodies are refused.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failureBody } from '../../src/http/envelope.ts';
import { type ErrorName, errorCodes, GatewayError } from '../../src/kernel/error-codes.ts';
import { base, createSample, deviceId, posKey, type Sample } from './sample-server.ts';

let sample: Sample;
beforeAll(async () => {
  sample = createSample();
  await sample.server.app.ready();
});
afterAll(() => sample.server.stop(0));

async function post(path: string, payload: unknown, headers: Record<string, string> = {}) {
  const response = await sample.server.app.inject({
    method: 'POST',
    url: `${base}${path}`,
    headers: { 'content-type': 'application/json', ...headers },
    payload: typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : JSON.stringify(payload),
  });
  return { status: response.statusCode, body: response.json(), text: response.body, headers: response.headers };
}
const pay = (fields: object) => post('/Device/sample/Pay', { APIKey: posKey, DeviceID: deviceId, amount: 1, ...fields });

describe('success', () => {
  it('puts errorCode and errorMessage first and sends all fields unchanged', async () => {
    const response = await sample.server.app.inject(`${base}/Device/sample/Status?APIKey=${posKey}&DeviceID=a`);
    // The schema declares Status as an integer; the value is neither filtered nor rounded.
    expect(response.body).toBe('{"errorCode":0,"errorMessage":"","Status":1.7,"ReceiptID":null}');
    expect(response.headers['cache-control']).toBe('no-store');
    expect(response.headers['x-content-type-options']).toBe('nosniff');
    expect(response.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('is the bare envelope when a handler returns nothing', async () => {
    expect((await post('/test/nothing', {})).text).toBe('{"errorCode":0,"errorMessage":""}');
  });

  it('ignores case and a trailing slash in the path, and keeps the case of parameters', async () => {
    expect((await post('/DEVICE/sAmple/pAY/', { APIKey: posKey, DeviceID: deviceId, amount: '10.50' })).body.report).toBe(
      '{"amount":10.5}',
    );
    expect((await sample.server.app.inject(`${base.toUpperCase()}/PICTURES/AbC.png`)).body).toBe('AbC');
  });
});

describe('failures', () => {
  it.each(Object.keys(errorCodes).filter((name) => name !== 'NoError') as ErrorName[])('%s has its number, name and sentence', (name) => {
    expect(failureBody(new GatewayError(name, 'A sentence.', { report: '{}' }))).toEqual({
      errorCode: errorCodes[name].code,
      errorMessage: `${name}: A sentence.`,
      report: '{}',
    });
  });

  it.each([
    ['a crash', '/test/crash', 200, 1, /^Internal_error: /],
    ['a list instead of fields', '/test/list', 200, 1, /^Internal_error: /],
    ['an unavailable database', '/test/database', 200, 2, /^Error_Connection_Database: /],
    ['an unknown path', '/test/no-such', 404, 40, /no such path/],
    ['a wrong method', '/health/live', 405, 40, /must be GET/],
  ])('%s', async (_name, path, status, errorCode, message) => {
    const answer = await post(path, { secret: 'canary' });
    expect([answer.status, answer.body.errorCode]).toEqual([status, errorCode]);
    expect(answer.body.errorMessage).toMatch(message);
    expect(answer.text).not.toContain('canary');
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  it('names the allowed methods of a path with parameters', async () => {
    const response = await sample.server.app.inject({ method: 'PUT', url: `${base}/Pictures/abc.PNG` });
    expect([response.statusCode, response.headers['allow']]).toEqual([405, 'GET']);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/xml', 'application/json; charset=windows-1251', 'nonsense'])(
    'refuses the content type %s',
    async (contentType) => {
      const answer = await post('/test/echo', '{}', { 'content-type': contentType });
      expect([answer.status, answer.body.errorCode]).toEqual([415, 40]);
    },
  );

  it('refuses a body without a content type', async () => {
    const response = await sample.server.app.inject({ method: 'POST', url: `${base}/test/echo`, payload: Buffer.from('{}') });
    expect([response.statusCode, response.json().errorCode]).toEqual([415, 40]);
  });

  it.each([
    ['broken JSON', '{"a":', 'The body must be valid JSON.'],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'The body must be UTF-8.'],
    ['depth', '['.repeat(33) + ']'.repeat(33), 'The body must not be nested deeper than 32 levels.'],
    ['very great depth', '{"a":'.repeat(100_000), 'The body must not be nested deeper than 32 levels.'],
    ['many values', JSON.stringify(Array(60_000).fill(1)), 'The body must not contain more than 50000 values.'],
    ['U+0000', '{"a":[{"b":"x\\u0000y"}]}', 'a[0].b must not contain the character U+0000.'],
    ['U+0000 in a name', '{"a\\u0000":1}', 'The name a? must not contain the character U+0000.'],
    ['half a surrogate pair', '{"a":"\\ud800"}', 'a must be valid Unicode text.'],
    ['__proto__', '{"Receipt":{"__proto__":{"x":1}}}', 'The name Receipt.__proto__ is not allowed.'],
    ['constructor.prototype', '{"constructor":{"prototype":{"x":1}}}', 'The name constructor is not allowed.'],
    ['no object', '[]', 'The body must be a JSON object.'],
    ['nothing', '', 'The body must be a JSON object.'],
  ])('refuses %s', async (_name, payload, sentence) => {
    const answer = await post('/Device/sample/Pay', payload, { 'x-api-key': posKey });
    expect([answer.status, answer.body]).toEqual([400, { errorCode: 40, errorMessage: `Invalid_Request: ${sentence}` }]);
  });

  it('has no path with U+0000', async () => {
    const response = await sample.server.app.inject(`${base}/pictures/a%00b.png`);
    expect([response.statusCode, response.json().errorMessage]).toEqual([404, 'Invalid_Request: There is no such path.']);
  });

  it('names the base path to callers that omit it, whether the rest exists or not', async () => {
    for (const path of ['/Device/sample/Pay', '/nothing', '/']) {
      const response = await sample.server.app.inject(path);
      expect([response.statusCode, response.json().errorMessage]).toEqual([
        404,
        `Invalid_Request: There is no such path. All paths begin with ${base}.`,
      ]);
    }
    const inside = await sample.server.app.inject(`${base.toUpperCase()}/nothing`);
    expect(inside.json().errorMessage).toBe('Invalid_Request: There is no such path.');
  });

  it.each(['gzip', 'br', 'deflate'])('refuses a compressed body (%s), and says so', async (encoding) => {
    const headers = { 'x-api-key': posKey, 'content-encoding': encoding };
    const answer = await post('/Device/sample/Pay', '{}', headers);
    expect([answer.status, answer.body.errorMessage]).toEqual([
      415,
      'Invalid_Request: The body must not be compressed: leave the header Content-Encoding out.',
    ]);
    expect((await post('/Device/sample/Pay', '{}', { ...headers, 'content-encoding': 'identity' })).status).toBe(400);
  });

  it('refuses U+0000 in a query', async () => {
    const response = await sample.server.app.inject(`${base}/Invoice/sample?QR=a%00b`);
    expect([response.statusCode, response.json().errorMessage]).toEqual([
      400,
      'Invalid_Request: QR must not contain the character U+0000.',
    ]);
  });

  it('accepts brackets and commas inside strings, and a byte order mark', async () => {
    const text = `\\"${'[{,'.repeat(1_000)}`;
    const answer = await post('/test/echo', `\ufeff{"a":"${text}\\\\"}`);
    expect([answer.status, answer.body.body.a.length]).toEqual([200, 3_002]);
  });
});

describe('validation', () => {
  it.each([
    [{ DeviceID: undefined }, 'DeviceID is required.'],
    [{ DeviceID: 'x' }, 'DeviceID must be a UUID.'],
    [{ DeviceID: null }, 'DeviceID must be a text.'],
    [{ amount: null }, 'amount must be a decimal from 0.01 to 9999999999.99 with at most two places.'],
    [{ amount: true }, 'amount must be a decimal from 0.01 to 9999999999.99 with at most two places.'],
    [{ amount: '10.005' }, 'amount must be a decimal from 0.01 to 9999999999.99 with at most two places.'],
    [{ note: 'x'.repeat(21) }, 'note must have at most 20 characters.'],
    [{ items: [] }, 'items must not be empty.'],
    [{ items: Array.from({ length: 6 }, () => ({ Name: 'a' })) }, 'items must have at most 5 items.'],
    [{ items: [{ Name: 'a' }, {}] }, 'items[1].Name is required.'],
    [{ items: [{ Name: 5 }] }, 'items[0].Name must be a text.'],
    [{ items: { length: 1 } }, 'items must be a list.'],
    [{ fiscal: 'true' }, 'fiscal must be true or false.'],
    [{ fiscal: 1 }, 'fiscal must be true or false.'],
    [{ validTo: 'tomorrow' }, 'validTo must be a date and time such as 2030-01-31T12:00:00Z.'],
  ])('%j: %s', async (fields, sentence) => {
    const answer = await pay(fields);
    expect([answer.status, answer.body]).toEqual([400, { errorCode: 40, errorMessage: `Invalid_Request: ${sentence}` }]);
  });

  it.each([19.99, 1.15, 4.35, '0.01', 9999999999.99])('accepts the amount %s', async (amount) => {
    expect((await pay({ amount })).body.report).toBe(JSON.stringify({ amount: Number(amount) }));
  });

  it('converts query strings to numbers, and refuses invalid and repeated ones', async () => {
    const status = (query: string) => sample.server.app.inject(`${base}/Device/sample/Status?APIKey=${posKey}&${query}`);
    expect((await status('DeviceID=a&limit=3')).json().limit).toBe(3);
    expect((await status('DeviceID=a&limit=x')).json().errorMessage).toBe('Invalid_Request: limit must be a whole number.');
    expect((await status('DeviceID=a&limit=0')).json().errorMessage).toBe('Invalid_Request: limit must be at least 1.');
    expect((await status('DeviceID=a&DeviceID=b')).json().errorMessage).toBe('Invalid_Request: DeviceID must be a text.');
    expect((await status('limit=3')).json().errorMessage).toBe('Invalid_Request: DeviceID is required.');
  });

  it('answers any body with an envelope, and calls the handler only if it satisfies the schema', async () => {
    const field = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constant(deviceId), fc.double(), fc.string());
    const body = fc.oneof(
      fc.jsonValue({ maxDepth: 4 }),
      fc.dictionary(fc.constantFrom('DeviceID', 'amount', 'documentNr', 'note', 'items', 'fiscal', '__proto__', 'toString'), field),
    );
    await fc.assert(
      fc.asyncProperty(body, async (value) => {
        const before = sample.runs['Pay'] ?? 0;
        const answer = await post('/Device/sample/Pay', JSON.stringify(value), { 'x-api-key': posKey });
        expect(typeof answer.body.errorMessage).toBe('string');
        if (answer.body.errorCode === 0) {
          const sent = value as { DeviceID: unknown; amount: unknown };
          expect(sent.DeviceID).toMatch(/^[0-9a-f-]{36}$/i);
          expect(['number', 'string']).toContain(typeof sent.amount);
        } else {
          // The handler may still refuse a body that satisfies the schema (an amount of 0.001).
          expect([10, 40]).toContain(answer.body.errorCode);
          if ((sample.runs['Pay'] ?? 0) > before) expect(answer.body.errorMessage).toMatch(/amount must be a decimal/);
        }
      }),
      { numRuns: 500 },
    );
  });
});
