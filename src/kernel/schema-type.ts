// Builders for JSON Schema, with TypeBox's types, so that `Static` derives the type of a valid value. TypeBox itself is not loaded: only
// these builders are used, and its nearly four hundred files would take a tenth of the start time and of the memory. A test compares each
// builder with TypeBox's own.
import type TypeBox from 'typebox';

type Builders = Pick<
  typeof TypeBox,
  | 'Array'
  | 'Boolean'
  | 'Enum'
  | 'Integer'
  | 'Literal'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'Record'
  | 'String'
  | 'Union'
  | 'Unsafe'
>;

type Schema = Record<string, unknown>;

/** Marks an optional property; not enumerable, so that it appears in no document. */
const optional = '~optional';

const plain =
  (type: string) =>
  (options: Schema = {}) => ({ type, ...options });

const builders = {
  Array: (items: Schema, options: Schema = {}) => ({ type: 'array', items, ...options }),
  Boolean: plain('boolean'),
  Enum: (values: readonly unknown[], options: Schema = {}) => ({ enum: values, ...options }),
  Integer: plain('integer'),
  Literal: (value: unknown, options: Schema = {}) => ({ type: typeof value, const: value, ...options }),
  Null: plain('null'),
  Number: plain('number'),
  Object(properties: Record<string, Schema>, options: Schema = {}) {
    const required = Object.keys(properties).filter((name) => properties[name]?.[optional] !== true);
    return { type: 'object', ...(required.length === 0 ? {} : { required }), properties, ...options };
  },
  Optional: (schema: Schema) => Object.defineProperty({ ...schema }, optional, { value: true }),
  Record: (_names: Schema, values: Schema, options: Schema = {}) => ({ type: 'object', patternProperties: { '^.*$': values }, ...options }),
  String: plain('string'),
  Union: (anyOf: readonly Schema[], options: Schema = {}) => ({ anyOf, ...options }),
  Unsafe: (schema: Schema) => ({ ...schema }),
};

export const Type = builders as unknown as Builders;
