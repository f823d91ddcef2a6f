// Our builders of schemas stand in for TypeBox's own, whose types they have: both must make the same of everything that the program writes.
import TypeBox from 'typebox';
import { expect, it } from 'vitest';
import { Type } from '../../src/kernel/schema-type.ts';

const described = { description: 'One of many' };

const made = (by: typeof Type) => ({
  array: by.Array(by.String({ maxLength: 3 }), { maxItems: 5 }),
  boolean: by.Boolean(described),
  enum: by.Enum(['a', 'b'], described),
  integer: by.Integer({ minimum: 1 }),
  literal: by.Literal(1, described),
  literalText: by.Literal('one'),
  null: by.Null(),
  number: by.Number(),
  nothing: by.Object({}),
  allOptional: by.Object({ a: by.Optional(by.String()) }),
  object: by.Object(
    { kept: by.String(), missing: by.Optional(by.Integer()), deep: by.Object({ also: by.Optional(by.Unsafe<0>({ enum: [0] })) }) },
    { additionalProperties: false, ...described },
  ),
  string: by.String({ format: 'uuid' }),
  record: by.Record(by.String(), by.Integer()),
  union: by.Union([by.String(), by.Null()], described),
  unsafe: by.Unsafe<number>({ type: 'integer', enum: [1, 2] }),
});

it('makes what TypeBox makes', () => {
  expect(JSON.stringify(made(Type), undefined, 1)).toBe(JSON.stringify(made(TypeBox), undefined, 1));
});

it('has every builder of ours in that comparison', () => {
  const compared = new Set(Object.keys(made(Type)));
  expect(Object.keys(Type).filter((name) => !compared.has(name.toLowerCase()) && name !== 'Optional')).toEqual([]);
});

it('makes no field optional in a schema that is in use', () => {
  const name = Type.String();
  expect(JSON.stringify(Type.Object({ kept: name, missing: Type.Optional(name) }))).toContain('"required":["kept"]');
});
