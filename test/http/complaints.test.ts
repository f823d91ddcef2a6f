// Error messages for requests that violate their schema or the rules for bodies: one sentence with the field and the rule, never the value.
import { describe, expect, it } from 'vitest';
import { checkCharset, checkQuery, parseJsonBody } from '../../src/http/json-body.ts';
import { compileValidator } from '../../src/http/validation.ts';
import type { GatewayError } from '../../src/kernel/error-codes.ts';

const complaintOf = (schema: object, data: unknown, httpPart = 'body') => {
  const checked = compileValidator({ schema, httpPart })(data);
  return 'error' in checked ? checked.error.message : undefined;
};
const thrownBy = (work: () => unknown) => {
  try {
    work();
    return undefined;
  } catch (error) {
    const { httpStatus, message } = error as GatewayError;
    return [httpStatus, message];
  }
};

describe('a schema violation', () => {
  const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });

  it.each([
    [{ type: 'string' }, 5, 'must be a text'],
    [{ type: 'number' }, 'x', 'must be a number'],
    [{ type: 'integer' }, 1.5, 'must be a whole number'],
    [{ type: 'boolean' }, 'true', 'must be true or false'],
    [{ type: 'object' }, [], 'must be an object'],
    [{ type: 'array' }, {}, 'must be a list'],
    [{ type: 'null' }, 0, 'must be null'],
    [{ type: ['string', 'number'] }, true, 'must be a text or a number'],
    [{ type: 'string', format: 'uuid' }, 'x', 'must be a UUID'],
    [{ type: 'string', format: 'date-time' }, 'tomorrow', 'must be a date and time in ISO 8601'],
    [{ type: 'string', minLength: 1 }, '', 'must not be empty'],
    [{ type: 'string', minLength: 2 }, 'a', 'must have at least 2 characters'],
    [{ type: 'string', maxLength: 2 }, 'abc', 'must have at most 2 characters'],
    [{ type: 'array', minItems: 1 }, [], 'must not be empty'],
    [{ type: 'array', minItems: 2 }, [1], 'must have at least 2 items'],
    [{ type: 'array', maxItems: 1 }, [1, 2], 'must have at most 1 items'],
    [{ type: 'number', minimum: 1 }, 0, 'must be at least 1'],
    [{ type: 'number', maximum: 1 }, 2, 'must be at most 1'],
    [{ type: 'number', exclusiveMinimum: 1 }, 1, 'must be more than 1'],
    [{ type: 'number', exclusiveMaximum: 1 }, 1, 'must be less than 1'],
    [{ enum: ['a', 'b'] }, 'c', 'must be one of a, b'],
    [{ const: 'a' }, 'c', 'must be a'],
    [{ type: 'string', pattern: '^a$' }, 'c', 'does not have an allowed form'],
    [{ type: 'string', 'x-rule': 'must be good' }, 5, 'must be good'],
    [{ type: 'string', 'x-rule': 5 }, 5, 'must be a text'],
    [{ anyOf: [{ type: 'string' }, { type: 'number' }] }, true, 'does not have an allowed form'],
  ])('%j by %j: %s', (schema, value, rule) => {
    expect(complaintOf(object({ field: schema }), { field: value })).toBe(`field ${rule}.`);
  });

  it('has the path of the field, in JSON notation and without control characters', () => {
    const list = { type: 'array', items: object({ Name: { type: 'string' } }, { required: ['Name'] }) };
    expect(complaintOf(object({ a: object({ list }) }), { a: { list: [{ Name: 'x' }, {}] } })).toBe('a.list[1].Name is required.');
    expect(complaintOf(object({ list }), { list: [{ Name: 5 }] })).toBe('list[0].Name must be a text.');
    expect(complaintOf(object({}, { required: ['a'] }), {})).toBe('a is required.');
    expect(complaintOf(object({ 'a/b~c\u0001': { type: 'string' } }), { 'a/b~c\u0001': 5 })).toBe('a/b~c? must be a text.');
    expect(complaintOf(object({ a1: { type: 'string' } }), { a1: 5 })).toBe('a1 must be a text.');
    expect(complaintOf(object({ '1a': { type: 'string' } }), { '1a': 5 })).toBe('1a must be a text.');
    const eleven = Array.from({ length: 11 }, (_, number) => ({ Name: number < 10 ? 'x' : 5 }));
    expect(complaintOf(object({ list }), { list: eleven })).toBe('list[10].Name must be a text.');
    expect(complaintOf(object({}, { additionalProperties: false }), { odd: 1 })).toBe('odd is not a known field.');
    expect(complaintOf(object({ a: object({}, { additionalProperties: false }) }), { a: { odd: 1 } })).toBe('a.odd is not a known field.');
  });

  it('of the whole body or query names that', () => {
    expect(complaintOf({ type: 'object' }, 'text')).toBe('The body must be a JSON object.');
    expect(complaintOf({ type: 'object' }, 'text', 'querystring')).toBe('The query must be an object.');
    expect(complaintOf({ type: 'object' }, 'text', 'params')).toBe('The path must be an object.');
    expect(complaintOf({ type: 'object' }, 'text', 'other')).toBe('The other must be an object.');
    const unnamed = compileValidator({ schema: { type: 'object' } })('text');
    expect('error' in unnamed && unnamed.error.message).toBe('The body must be a JSON object.');
  });

  it('is not reported for headers, which their readers check; strings of a query become numbers, those of a body do not', () => {
    const headers = { odd: 1 };
    expect(compileValidator({ schema: object({}, { required: ['a'] }), httpPart: 'headers' })(headers)).toEqual({ value: headers });
    const schema = object({ n: { type: 'integer' } });
    const query = { n: '7' };
    expect([complaintOf(schema, query, 'querystring'), query]).toEqual([undefined, { n: 7 }]);
    expect(complaintOf(schema, { n: '7' })).toBe('n must be a whole number.');
    const good = { n: 7 };
    expect(compileValidator({ schema, httpPart: 'body' })(good)).toEqual({ value: good });
  });

  it('of a date-time accepts optional seconds, fractions and offsets', () => {
    const schema = object({ at: { type: 'string', format: 'date-time' } });
    const good = [
      '2030-01-31T12:00',
      '2030-01-31 12:00:05',
      '2030-01-31t12:00:05.123456789z',
      '2030-01-31T12:00:05+02:00',
      '2030-01-31T12:00+0200',
    ];
    for (const at of good) expect([at, complaintOf(schema, { at })]).toEqual([at, undefined]);
    const wrong = [
      '2030-01-31',
      'x2030-01-31T12:00',
      '2030-01-31T12:00x',
      '2030-1-31T12:00',
      '2030-01-31T12:00:05.',
      '2030-01-31T12:00+2',
      '30-01-31T12:00',
    ];
    for (const at of wrong) expect([at, complaintOf(schema, { at })]).toEqual([at, expect.any(String)]);
  });
});

describe('a body', () => {
  const caps = { deepest: 3, maxValues: 10 };
  const read = (text: string | Buffer) => thrownBy(() => parseJsonBody(Buffer.from(text), caps))?.[1];

  it.each([
    ['{"a":', 'The body must be valid JSON.'],
    [Buffer.from([0x7b, 0xff]), 'The body must be UTF-8.'],
    ['[[[[]]]]', 'The body must not be nested deeper than 3 levels.'],
    [JSON.stringify(Array(12).fill(1)), 'The body must not contain more than 10 values.'],
    [`{"a":1.${'0'.repeat(70)}}`, 'A number in the body must not have more than 64 characters.'],
    ['{"a":[{"b":"x\\u0000"}]}', 'a[0].b must not contain the character U+0000.'],
    ['"\\u0000"', 'The body must not contain the character U+0000.'],
    ['{"a":"\\ud800"}', 'a must be valid Unicode text.'],
    ['{"a\\u0000":1}', 'The name a? must not contain the character U+0000.'],
    ['{"b":{"a\\ud800":1}}', 'The name b.a? must be valid Unicode text.'],
    ['{"__proto__":1}', 'The name __proto__ is not allowed.'],
    ['{"a":{"__proto__":{}}}', 'The name a.__proto__ is not allowed.'],
    ['{"constructor":{"prototype":1}}', 'The name constructor is not allowed.'],
    ['{"\\u005f_proto__":1}', 'The name __proto__ is not allowed.'],
    ['{"c\\u006fnstructor":{"prototype":1}}', 'The name constructor is not allowed.'],
  ])('%s: %s', (text, sentence) => {
    expect(read(text)).toBe(sentence);
  });

  it.each([
    '{"constructor":{"a":1}}',
    '{"constructor":null}',
    '{"constructor":"prototype"}',
    '{"prototype":1}',
    '{"a":{"prototype":1}}',
    'null',
    '7',
  ])('%s is accepted', (text) => {
    expect(parseJsonBody(Buffer.from(text), caps)).toEqual(JSON.parse(text));
  });

  it.each(['', ' \n', '\ufeff'])('that is empty (%j) is undefined', (text) => {
    expect(parseJsonBody(Buffer.from(text), caps)).toBeUndefined();
  });

  it('with a long field name has it truncated in the message', () => {
    expect(read(`{"${'n'.repeat(100)}":"\\u0000"}`)).toBe(`${'n'.repeat(60)} must not contain the character U+0000.`);
  });
});

describe('a query', () => {
  it.each([
    [{ a: 'x\0' }, 'a must not contain the character U+0000.'],
    [{ a: ['x', 'y\0'] }, 'a must not contain the character U+0000.'],
    [{ 'a\0': 'x' }, 'a? must not contain the character U+0000.'],
    [{ a: 'x', b: '\ud800' }, 'b must be valid Unicode text.'],
  ])('%j: %s', (query, sentence) => {
    expect(thrownBy(() => checkQuery(query))).toEqual([400, sentence]);
  });

  it.each([undefined, null, {}, { a: 'x', b: ['y'], c: 7 }])('%j is accepted', (query) => {
    expect(thrownBy(() => checkQuery(query))).toBeUndefined();
  });
});

describe('a charset', () => {
  const told = (contentType: string | undefined) => thrownBy(() => checkCharset(contentType));

  it('may be UTF-8 or a subset of it, in any spelling, or absent', () => {
    const good = [
      'application/json',
      'application/json; charset=utf-8',
      'application/json;charset = "UTF-8"',
      'a; charset=utf8; b=c',
      'a;charset=US-ASCII',
      undefined,
    ];
    for (const contentType of good) expect([contentType, told(contentType)]).toEqual([contentType, undefined]);
  });

  it.each([
    'a; charset=windows-1251',
    'a;charset="latin1"',
    'a; charset=',
    'a; charset=utf-88',
    'a; charset = latin1',
    'a; b=c; charset=x',
  ])('%s is refused', (contentType) => {
    expect(told(contentType)).toEqual([415, 'The charset of Content-Type must be utf-8.']);
  });
});
