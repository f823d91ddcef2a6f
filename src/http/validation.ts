// Checks requests against their schemas. Bodies are not changed: nothing is coerced, defaulted or removed (Fastify would by default
// convert `amount: null` to 0). Query and path texts may become numbers and booleans.
// The error is one sentence with the field and the rule, and never contains the value.
import { Ajv, type AnySchema, type ErrorObject, type ValidateFunction } from 'ajv';
import { type GatewayError, invalidRequest } from '../kernel/error-codes.ts';
import { shortName } from './json-body.ts';

const formats = {
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i,
  // The offset may be missing [D23]; the parser checks later whether the day exists.
  'date-time': /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?([Zz]|[+-]\d{2}:?\d{2})?$/,
  uri: true,
  byte: true,
  binary: true,
  int32: true,
  int64: true,
  double: true,
} as const;

const shared = { strict: false, allErrors: false, verbose: true, formats } as const;

const typeNames: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  null: 'null',
};

const formatNames: Record<string, string> = { uuid: 'a UUID', 'date-time': 'a date and time in ISO 8601' };

function fieldName(path: string): string {
  const segments = path.split('/').slice(1);
  return segments.reduce((name, segment) => {
    const plain = shortName(segment.replaceAll('~1', '/').replaceAll('~0', '~'));
    if (/^\d+$/.test(plain)) return `${name}[${plain}]`;
    return name === '' ? plain : `${name}.${plain}`;
  }, '');
}

function inside(path: string, name: unknown): string {
  const parent = fieldName(path);
  const child = shortName(String(name));
  return parent === '' ? child : `${parent}.${child}`;
}

const atLeast = (limit: unknown, what: string) => (limit === 1 ? 'must not be empty' : `must have at least ${String(limit)} ${what}`);

/** By keyword: `limit` of the numeric ones, and the keyword's value in the schema. */
const rules: Record<string, (limit: unknown, value: unknown) => string> = {
  type: (_limit, value) =>
    `must be ${[value]
      .flat()
      .map((type) => typeNames[String(type)] ?? 'of another type')
      .join(' or ')}`,
  format: (_limit, value) => `must be ${formatNames[String(value)] ?? 'of another form'}`,
  minLength: (limit) => atLeast(limit, 'characters'),
  maxLength: (limit) => `must have at most ${String(limit)} characters`,
  minItems: (limit) => atLeast(limit, 'items'),
  maxItems: (limit) => `must have at most ${String(limit)} items`,
  minimum: (limit) => `must be at least ${String(limit)}`,
  maximum: (limit) => `must be at most ${String(limit)}`,
  exclusiveMinimum: (limit) => `must be more than ${String(limit)}`,
  exclusiveMaximum: (limit) => `must be less than ${String(limit)}`,
  enum: (_limit, value) => `must be one of ${(value as unknown[]).join(', ')}`,
  const: (_limit, value) => `must be ${String(value)}`,
};

function rule({ keyword, schema, params, parentSchema }: ErrorObject): string {
  const own: unknown = parentSchema?.['x-rule'];
  return typeof own === 'string' ? own : (rules[keyword]?.(params['limit'], schema) ?? 'does not have an allowed form');
}

function complaint(errors: readonly ErrorObject[], part: string): GatewayError {
  // For alternatives the validator lists each failed branch and last the whole, which is the error for the caller.
  const error = errors.at(-1);
  if (error === undefined) return invalidRequest(`The ${part} breaks its schema.`);
  if (error.keyword === 'required') return invalidRequest(`${inside(error.instancePath, error.params['missingProperty'])} is required.`);
  if (error.keyword === 'additionalProperties') {
    return invalidRequest(`${inside(error.instancePath, error.params['additionalProperty'])} is not a known field.`);
  }
  const field = fieldName(error.instancePath);
  if (field === '' && part === 'body') return invalidRequest('The body must be a JSON object.');
  return invalidRequest(`${field === '' ? `The ${part}` : field} ${rule(error)}.`);
}

const partNames: Record<string, string> = { body: 'body', querystring: 'query', params: 'path' };

interface CompileRequest {
  schema: unknown;
  httpPart?: string | undefined;
}

type Checked = { value: unknown } | { error: GatewayError };

// For all servers of a process, because each compiles the schema of schemas first.
const strict = new Ajv({ ...shared, coerceTypes: false });
const fromText = new Ajv({ ...shared, coerceTypes: true });

/** For Fastify's setValidatorCompiler. */
export function compileValidator({ schema, httpPart = 'body' }: CompileRequest): (data: unknown) => Checked {
  // Header schemas are documentation; the code that reads a header checks it.
  if (httpPart === 'headers') return (data) => ({ value: data });
  // Compiled at the first request: compiling all of some 150 schemas would take a tenth of the start, and most are never used.
  let compiled: ValidateFunction | undefined;
  return (data) => {
    compiled ??= (httpPart === 'body' ? strict : fromText).compile(schema as AnySchema);
    return compiled(data) ? { value: data } : { error: complaint(compiled.errors ?? [], partNames[httpPart] ?? httpPart) };
  };
}
