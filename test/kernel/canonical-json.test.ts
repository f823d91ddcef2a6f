// The canonical form, and the stored hashes that are made of it: a changed one would make a second payment of a repeat.
import fc from 'fast-check';
import type { FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import { contentHashOf } from '../../src/fiscal/rules.ts';
import { requestHash } from '../../src/http/idempotency-key.ts';
import { asPairs, canonicalJson } from '../../src/kernel/canonical-json.ts';

const receipt = {
  Uid: 'a "quoted" ș',
  Items: [{ Price: 35, Quantity: 2, Name: 'Coffee', more: [] }],
  b: null,
  B: { z: 1.5, a: true, é: {} },
  Payments: [{ PaymentCode: '1' }],
  gone: undefined,
};
const post = (url: string | undefined, body: unknown) => ({ method: 'POST', routeOptions: { url }, body }) as FastifyRequest;

it('produces the hashes that databases already contain', () => {
  expect(contentHashOf(receipt)).toBe('ae9d77de4b7492f22b6c1d690f9d1bd1db3dd40f8a11b89479cb126b9542822d');
  expect(requestHash(post('/Device/payment/Pay', { APIKey: 'k', ...receipt }))).toBe(
    '808d98b92ba6fb35f86694e72f5c718a52158391ea0c930330ffa65b6ca69426',
  );
  expect(requestHash(post(undefined, undefined))).toBe('7d2ee5129a7fdfa122f67f06c01488492c8f1b1822e8d3c94ef536394bbd4e06');
  expect(requestHash(post('/x', [1, { a: [['b', 2]] }]))).toBe('fb1ffc8313896fc970b6b940e159a40b0045b162c4f9dd7c979d6fce9820b47c');
});

it('is one text for one content, whatever the order of the fields', () => {
  const turned = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(turned);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([name, field]) => [name, turned(field)]),
    );
  };
  fc.assert(
    fc.property(fc.jsonValue(), (json) => {
      const value: unknown = JSON.parse(JSON.stringify(json).replaceAll('__proto__', 'proto'));
      expect(canonicalJson(turned(value))).toBe(canonicalJson(value));
      expect(canonicalJson(turned(value), asPairs)).toBe(canonicalJson(value, asPairs));
      expect(JSON.parse(canonicalJson(value))).toEqual(value);
    }),
  );
});

it('distinguishes an object from a list of pairs', () => {
  expect(canonicalJson({ a: 1 }, asPairs)).not.toBe(canonicalJson([['a', 1]], asPairs));
});
