// Input designed to cost more than its length [D62]: each is timed against a harmless one of the same size.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkTemplate, expandTemplate } from '../../src/callbacks/template.ts';
import { parseJsonBody } from '../../src/http/json-body.ts';
import { maskReport } from '../../src/kernel/card-mask.ts';
import { checkReceipt } from '../../src/kernel/receipt.ts';
import { readAnswer, readDeviceFrame, readPresence } from '../../src/link/messages.ts';
import { isWithin } from '../support/costs.ts';
import { fill, hostileBodies, listOf } from './hostile-bodies.ts';
import { base, createSample, posKey, type Sample } from './sample-server.ts';

/** A quadratic parser would exceed this by a factor of thousands. */
const maxTimes = 25;
const isBounded = (hostile: () => unknown, harmless: () => unknown) => isWithin(maxTimes, hostile, harmless);
describe('a body', () => {
  let sample: Sample;
  beforeAll(() => {
    sample = createSample();
  });
  afterAll(() => sample.server.stop(0));
  const post = (body: string) =>
    sample.server.app.inject({
      method: 'POST',
      url: `${base}/Device/sample/Pay`,
      // With a valid key: without one no body of this size is parsed.
      headers: { 'content-type': 'application/json', 'idempotency-key': 'k', 'x-api-key': posKey },
      payload: body,
    });
  const harmlessBody = `{"items":[${Array.from({ length: 12_000 }, (_, n) => `{"Name":"Bread ${n}","n":1}`).join(',')}]}`;
  const harmless = () => post(harmlessBody);

  it.each(Object.keys(hostileBodies))('with %s costs no more than its length', async (name) => {
    expect(await isBounded(() => post(hostileBodies[name] ?? ''), harmless)).toBe(true);
  });

  it('with a number of more than 64 characters is 40, at any position; with 64 it is not', async () => {
    const caps = { deepest: 32, maxValues: 1_000 };
    const read = (text: string) => parseJsonBody(Buffer.from(text), caps);
    const number = `1.${'0'.repeat(62)}`;
    for (const around of ['@', '{"a":@}', '{"a":[{"b":@}]}', '[1,@]', '{"a": @ }']) {
      expect(() => read(around.replace('@', number))).not.toThrow();
      expect(() => read(around.replace('@', `${number}0`))).toThrow('A number in the body must not have more than 64 characters.');
    }
    expect(() => read(`{"a":-${number}}`)).toThrow('64 characters');
    // Digits in a string, and many short numbers, are no long number.
    expect(read(`{"a":"${'1'.repeat(500)}","b":[${Array(60).fill('12').join(',')}]}`)).toMatchObject({ a: '1'.repeat(500) });
    const answer = await post(`{"a":1${'0'.repeat(200)}1}`);
    expect([answer.statusCode, answer.json().errorCode]).toEqual([400, 40]);
  });
});

describe('a request line or header', () => {
  let sample: Sample;
  beforeAll(() => {
    sample = createSample({ trustedProxies: ['127.0.0.0/8'] });
  });
  afterAll(() => sample.server.stop(0));
  const long = 15_000;
  const get = (path: string, headers: Record<string, string> = {}) =>
    sample.server.app.inject({ method: 'GET', url: `${base}${path}`, headers });
  const twenty = async (work: () => Promise<unknown>) => {
    for (let time = 0; time < 20; time += 1) await work();
  };
  const harmless = () => twenty(() => get(`/Device/sample/Status?DeviceID=${'a'.repeat(long)}`));

  it.each<[string, string, Record<string, string>]>([
    ['a path of slashes', fill('/', long), {}],
    ['a path of dots', `/${fill('../', long)}`, {}],
    ['a path of escapes', `/pictures/${fill('%2e', long)}`, {}],
    ['a query of one name', `/Device/sample/Status?${fill('a&', long)}`, {}],
    ['a query of equals signs', `/Device/sample/Status?${fill('=', long)}`, {}],
    ['a query of brackets', `/Device/sample/Status?a${fill('[a]', long)}=1`, {}],
    ['an Authorization of blanks', '/Invoice/sample?QR=a', { authorization: `Basic${fill(' ', long)}x` }],
    [
      'an Authorization of colons',
      '/Invoice/sample?QR=a',
      { authorization: `Basic ${Buffer.from(fill(':', long / 2)).toString('base64')}` },
    ],
    ['forwarded addresses', '/Device/sample/Status?DeviceID=a', { 'x-forwarded-for': `${fill('127.0.0.1, ', long)}1.1.1.1` }],
    ['forwarded commas', '/Device/sample/Status?DeviceID=a', { 'x-forwarded-for': fill(',', long) }],
    ['forwarded blanks', '/Device/sample/Status?DeviceID=a', { 'x-forwarded-for': `1${fill(' ', long)}1` }],
  ])('with %s costs no more than its length', async (_name, path, headers) => {
    expect(await isBounded(() => twenty(() => get(path, headers)), harmless)).toBe(true);
  });

  it.each([
    ['blanks', `application/json;${fill(' ', long)}charset=utf-8`],
    ['semicolons', `application/json${fill(';', long)}`],
    ['parameters', `application/json;${fill('a=b;', long)}`],
    ['quotes', `application/json;a="${fill('\\"', long)}`],
    ['charsets without a value', `application/json;${fill('charset ', long)}`],
  ])('Content-Type of %s costs no more than its length', async (_name, type) => {
    const post = () =>
      sample.server.app.inject({ method: 'POST', url: `${base}/test/echo`, headers: { 'content-type': type }, payload: '{}' });
    expect(await isBounded(() => twenty(post), harmless)).toBe(true);
  });
});

describe('a message of a device', () => {
  const device = '33333333-3333-4333-8333-333333333333';
  const envelope = (report: string) =>
    `{"v":1,"id":"${device}","device":"${device}","clock":"2030-01-01T00:00:00Z","outcome":"done","report":${report}}`;
  // With one long exponent, so that it takes the same path, and nearly the maximum number of values.
  const harmlessText = envelope(`{"factor":1e999,"counts":${listOf('12', 13_000)},"lines":${listOf('"Bread and butter"', 6_000)}}`);
  const length = 200_000;
  const read = (text: string) => {
    for (const reading of [readAnswer(text, device), readPresence(text, device), readDeviceFrame(text, device)])
      maskReport(reading.message);
  };
  const harmless = () => read(harmlessText);

  it.each(
    Object.entries({
      'an endless number': `{"a":1${fill('0', length)}1}`,
      'numbers that do not fit': `{"a":${listOf('0.10000000000000001', 9_000)}}`,
      exponents: `{"a":${listOf('1e999', 19_000)}}`,
      'short exponents, more than it may hold': `{"a":${listOf('1e9', 260_000)}}`,
      'digits that might be a card': `{"a":"${fill('4111 1111-', length)}"}`,
      'digits with blanks': `{"a":"${fill('4 ', length)}"}`,
      'digits alone': `{"a":"${fill('4', length)}"}`,
      'names that might be cards': `{${Array.from({ length: 6_000 }, (_, n) => `"4111111111111${n}":1`).join(',')}}`,
      nesting: `{"a":${'['.repeat(90)}${fill('[],', length)}1${']'.repeat(90)}}`,
      'too deep nesting': `{"a":${fill('[', length)}}`,
      'a reason of backslashes': `"${fill('\\\\', length)}"`,
    }),
  )('with %s costs no more than its length', async (_name, report) => {
    expect(await isBounded(() => read(envelope(report)), harmless)).toBe(true);
  });
});

describe('a callback template and a receipt', () => {
  const many = (work: () => unknown) => () => {
    for (let time = 0; time < 200; time += 1) {
      try {
        work();
      } catch {
        // A refusal is fine; only the time counts.
      }
    }
  };

  it.each(
    Object.entries({
      hashes: `http://a/${fill('#', 2_000)}`,
      'hashes before the path': `http://${fill('#', 2_000)}`,
      placeholders: `http://a/${fill('#ReceiptID#', 2_000)}`,
      'halves of placeholders': `http://a/${fill('#OID', 2_000)}`,
      'percent signs': `http://${fill('%', 1_000)}@a/`,
      dots: `http://a/${fill('../', 2_000)}`,
    }),
  )('%s cost no more than their length', async (_name, template) => {
    const expand = (text: string) => {
      checkTemplate(text);
      expandTemplate(text, { OID: 'o', State: 'Payed', ReceiptID: 'r'.repeat(128), DeviceID: 'd' });
    };
    expect(
      await isBounded(
        many(() => expand(template)),
        many(() => expand(`http://a/${'x'.repeat(1_900)}?o=#OID#`)),
      ),
    ).toBe(true);
  });

  it('with the deepest and widest receipt cost no more than their length', async () => {
    const items = [{ Name: 'Bread', Quantity: 1, Price: 1 }];
    const deepest = (levels: number): unknown => (levels === 0 ? Array(200).fill(1) : { ['n'.repeat(100)]: deepest(levels - 1) });
    const check = (more: unknown) => {
      for (let time = 0; time < 20; time += 1) checkReceipt({ Items: items, more }, { needsPayments: false });
    };
    const wide = Array.from({ length: 60 }, () => deepest(28));
    const flat = Array.from({ length: 15_000 }, (_, n) => ({ n }));
    expect(
      await isBounded(
        () => check(wide),
        () => check(flat),
      ),
    ).toBe(true);
  });
});
