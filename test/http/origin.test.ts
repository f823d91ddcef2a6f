// The origin of a command: its request, without card numbers and without fields that the command stores anyway.
import type { FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import { createAccessJudge, keyFor } from '../../src/http/authentication.ts';
import { originOf, originOfPerson } from '../../src/http/origin.ts';
import { factsOf } from '../../src/http/request-facts.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const request = (body: unknown, headers: object = {}) =>
  ({ method: 'POST', body, headers, routeOptions: { url: '/Device/payment/Pay' } }) as unknown as FastifyRequest;
const told = (body: unknown, headers?: object) => JSON.parse(originOfPerson(request(body, headers), 'Ana').request) as unknown;

it('records the unchanged request, with its Idempotency-Key', () => {
  const body = { DeviceID: 'd', amount: 150.5, list: [{ a: 'ț' }] };
  expect(originOfPerson(request(body), 'Ana').caller).toBe('person Ana');
  expect(told(body)).toEqual({ method: 'POST', path: '/Device/payment/Pay', body });
  expect(told(body, { 'idempotency-key': 'k' })).toEqual({ method: 'POST', path: '/Device/payment/Pay', idempotencyKey: 'k', body });
  for (const none of [undefined, null, 'text']) expect(told(none)).toEqual({ method: 'POST', path: '/Device/payment/Pay', body: {} });
});

it('records no card number, even next to a control character that JSON escapes with digits', () => {
  const card = '4111111111111111';
  expect(JSON.stringify(told({ note: `\u0001${card}` }))).not.toContain(card);
  const text = JSON.stringify(told({ note: `\u0001${card}`, inner: [`card ${card}.`, Number(card)], [card]: 1 }));
  expect(text).not.toContain(card);
  expect(text.match(/411111\*{6}1111/g)).toHaveLength(4);
});

it('has no secret that the caller presented, in any field and any spelling', async () => {
  const [key, other, foreign] = ['a', 'b', 'c'].map((letter) => `${letter.repeat(8)}-1111-4111-8111-111111111111`) as [
    string,
    string,
    string,
  ];
  const looked: string[] = [];
  const { judge } = createAccessJudge({
    basePath: '/tillgate',
    ...{
      clock: createVirtualClock(),
      rateLimitPerS: 10,
      merchantRatePerS: 10,
      isAdminToken: () => false,
      findDevice: async () => undefined,
    },
    findCaller: async (asked) => {
      looked.push(asked);
      return asked === foreign ? undefined : { merchantId: 'm', keyId: 'the key', modules: new Set(['POS'] as const) };
    },
  });
  const body = {
    ...{ apiKey: key, Api_Token: 'a "token"', note: `key=${key.toUpperCase()}.`, extra: other.toUpperCase(), id: foreign, short: 'a' },
    ...{ DeviceID: 'd', inner: { list: [key, other] }, [key]: 1, password: '' },
  };
  const call = request(body, { 'x-api-key': key, 'idempotency-key': key });
  await judge(call, keyFor('POS'));
  expect(looked).toEqual([key, other, foreign]);
  expect(JSON.parse(originOf(call).request)).toEqual({
    ...{ method: 'POST', path: '/Device/payment/Pay', idempotencyKey: '[secret]' },
    body: {
      ...{ apiKey: '[secret]', Api_Token: '[secret]', note: 'key=[secret].', extra: '[secret]', id: foreign, short: 'a' },
      ...{ DeviceID: 'd', inner: { list: ['[secret]', '[secret]'] }, '[secret]': 1, password: '' },
    },
  });
});

it('has no secret inside a longer text, in capitals that fold by the letter after them', () => {
  const call = request({ note: 'ΚΩΔΙΚΟΣΑΣΦΑΛΕΙΑΣΑ' });
  factsOf(call).presentedSecrets.push('ΚΩΔΙΚΟΣΑΣΦΑΛΕΙΑΣ');
  expect(JSON.parse(originOfPerson(call, 'Ana').request)).toMatchObject({ body: { note: '[secret]Α' } });
});

it('looks up a few UUIDs of unknown fields, and none of known fields', async () => {
  let looked = 0;
  const { judge } = createAccessJudge({
    basePath: '/tillgate',
    ...{
      clock: createVirtualClock(),
      rateLimitPerS: 10,
      merchantRatePerS: 10,
      isAdminToken: () => false,
      findDevice: async () => undefined,
    },
    findCaller: async () => {
      looked += 1;
      return { merchantId: 'm', keyId: 'the key', modules: new Set(['POS'] as const) };
    },
  });
  const uuid = (count: number) => `${String(count).padStart(8, '0')}-1111-4111-8111-111111111111`;
  const call = request({ DeviceID: uuid(0), ...Object.fromEntries(Array.from({ length: 50 }, (_, count) => [`f${count}`, uuid(count)])) });
  Object.assign(call.routeOptions, { schema: { body: { properties: { DeviceID: {} } } } });
  Object.assign(call.headers, { 'x-api-key': uuid(99) });
  await judge(call, keyFor('POS'));
  expect(looked).toBe(4);
  const known = request({ DeviceID: uuid(0) }, { 'x-api-key': uuid(99) });
  Object.assign(known.routeOptions, { schema: { body: { properties: { DeviceID: {} } } } });
  await judge(known, keyFor('POS'));
  expect(looked).toBe(5);
});

it('records the key of the request, and omits fields that the command stores anyway', async () => {
  const { judge } = createAccessJudge({
    basePath: '/tillgate',
    ...{
      clock: createVirtualClock(),
      rateLimitPerS: 10,
      merchantRatePerS: 10,
      isAdminToken: () => false,
      findDevice: async () => undefined,
    },
    findCaller: async () => ({ merchantId: 'm', keyId: 'the key', modules: new Set(['Fiscal'] as const) }),
  });
  const call = request({ DeviceID: 'd', Receipt: { Items: [1] }, Cash: 1 }, { 'x-api-key': '11111111-1111-4111-8111-111111111111' });
  await judge(call, keyFor('Fiscal'));
  const bodyOf = ({ request: text }: { request: string }) => (JSON.parse(text) as { body: unknown }).body;
  expect(originOf(call).caller).toBe('key the key');
  expect(bodyOf(originOf(call))).toEqual({ DeviceID: 'd', Receipt: { Items: [1] }, Cash: 1 });
  expect(bodyOf(originOf(call, 'Receipt', 'Cash'))).toEqual({ DeviceID: 'd' });
});

it('throws without a key', () => {
  expect(() => originOf(request({}))).toThrow('without a key');
});
