// Random values from a JSON Schema of asyncapi/v1.json, with unknown fields, as a device of a later version may send them.
// Supports the keywords that the document uses, except if/then: the caller filters by the schema itself.
import fc, { type Arbitrary } from 'fast-check';

interface Schema {
  $ref?: string;
  allOf?: Schema[];
  anyOf?: Schema[];
  const?: unknown;
  enum?: unknown[];
  type?: string;
  format?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  minItems?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
}

/** Values that survive a JSON round trip: no -0, and no __proto__. */
const anyJson = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value).replaceAll('__proto__', 'proto')) as unknown);

const moments = fc
  .tuple(
    fc.date({ min: new Date('0002-01-01T00:00:00Z'), max: new Date('9998-12-31T00:00:00Z'), noInvalidDate: true }),
    fc.constantFrom('Z', '+02:00', '-11:30'),
    fc.boolean(),
  )
  .map(([date, zone, isShort]) => `${date.toISOString().slice(0, isShort ? 19 : 23)}${zone}`);

export function arbitraryOf(schemas: Record<string, object>, schema: Schema): Arbitrary<unknown> {
  const of = (inner: Schema) => arbitraryOf(schemas, inner);
  if (schema.$ref !== undefined) return of(schemas[schema.$ref.split('/').at(-1) ?? ''] as Schema);
  if (schema.allOf) return fc.tuple(...schema.allOf.map(of)).map((parts) => Object.assign({}, ...(parts as object[])) as unknown);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(of));
  if ('const' in schema) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  switch (schema.type) {
    case 'string':
      return textOf(schema);
    case 'integer':
      return fc.integer({ min: schema.minimum ?? -1e9, max: schema.maximum ?? 1e9 });
    case 'number':
      return fc
        .double({ min: schema.minimum ?? schema.exclusiveMinimum ?? -1e12, max: schema.maximum ?? 1e12, noNaN: true })
        .map((value) => value + 0);
    case 'boolean':
      return fc.boolean();
    case 'array':
      return fc.array(of(schema.items ?? {}), { minLength: schema.minItems ?? 0, maxLength: 3 });
    default:
      return objectOf(schema, of);
  }
}

function textOf({ format, pattern, minLength, maxLength }: Schema): Arbitrary<string> {
  if (format === 'uuid') return fc.uuid();
  if (format === 'date-time') return moments;
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern));
  return fc.string({ minLength: minLength ?? 0, maxLength: maxLength ?? 20 });
}

function objectOf({ properties = {}, required = [] }: Schema, of: (schema: Schema) => Arbitrary<unknown>): Arbitrary<object> {
  const known = fc.record(Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, of(inner)])), {
    requiredKeys: required,
  });
  const unknown = fc.dictionary(fc.stringMatching(/^x[a-z]{1,3}$/), anyJson, { maxKeys: 2 });
  return fc.tuple(unknown, known).map(([more, own]) => ({ ...more, ...own }));
}

/** The message with some fields removed or replaced, mostly by nearly valid values. */
export function disturbed(message: Arbitrary<Record<string, unknown>>, fields: readonly string[]): Arbitrary<Record<string, unknown>> {
  const nearlyRight = fc.oneof(
    fc.constantFrom<unknown>(
      undefined,
      null,
      true,
      false,
      0,
      1,
      2,
      '',
      '1',
      {},
      [],
      'done',
      'accepted',
      'final',
      'Pay',
      'Status',
      'printer',
    ),
    fc.constantFrom(
      '2026',
      'Jan 1 2026',
      '+275760-09-13T00:00:00.000Z',
      '-000001-01-01T00:00:00Z',
      'soon',
      '\u0000',
      '\ud800',
      'a'.repeat(3000),
    ),
    fc.uuid().map((uuid) => uuid.toUpperCase()),
    moments,
    anyJson,
  );
  const changes = fc.dictionary(fc.constantFrom(...fields), nearlyRight, { maxKeys: 3 });
  return fc.tuple(message, changes).map(([own, other]) => ({ ...own, ...other }));
}
