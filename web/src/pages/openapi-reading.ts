// The OpenAPI document as the Developers page reads it: the calls of v1 with their fields and an example each. Pure.

interface Schema {
  $ref?: string;
  type?: string;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  enum?: unknown[];
  format?: string;
}

interface ApiOperation {
  operationId?: string;
  summary?: string;
  description?: string;
  tags?: string[];
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema?: Schema }[];
  requestBody?: { content?: Record<string, { schema?: Schema; example?: object }> };
}

export interface OpenApi {
  info: { description: string };
  paths: Record<string, Record<string, ApiOperation>>;
  components?: { schemas?: Record<string, Schema> };
}

export interface OperationField {
  name: string;
  type: string;
  description: string;
  isRequired: boolean;
}

export interface Operation {
  id: string;
  method: string;
  path: string;
  tag: string;
  summary: string;
  description?: string;
  fields: OperationField[];
  example: Record<string, unknown>;
}

const shownTags = ['POS Mode', 'QR Mode', 'Fiscal Mode', 'Terminal status', 'Operations'];

/** The depth of nested fields; a receipt has two levels. The bound also ends a recursive schema. */
const maxDepth = 4;

export function operationsOf(api: OpenApi): Operation[] {
  const all = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => toOperation(api, method.toUpperCase(), path, operation)),
  );
  return all.filter(({ tag }) => shownTags.includes(tag)).sort((one, other) => shownTags.indexOf(one.tag) - shownTags.indexOf(other.tag));
}

function toOperation(api: OpenApi, method: string, path: string, operation: ApiOperation): Operation {
  const body = operation.requestBody?.content?.['application/json'];
  const query = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query');
  const fields = [
    ...query.map(({ name, schema, description, required }) =>
      toField(name, { ...resolve(api, schema), ...(description === undefined ? {} : { description }) }, required === true),
    ),
    ...fieldsIn(api, resolve(api, body?.schema), '', 1),
  ];
  return {
    id: operation.operationId ?? `${method} ${path}`,
    method,
    path,
    tag: operation.tags?.[0] ?? '',
    summary: operation.summary ?? path,
    ...(operation.description === undefined ? {} : { description: operation.description }),
    fields,
    example: { ...Object.fromEntries(query.map(({ name }) => [name, ''])), ...body?.example },
  };
}

/** The schema of a reference, with the properties beside the reference. */
function resolve(api: OpenApi, schema: Schema = {}): Schema {
  const { $ref, allOf = [], ...own } = schema;
  const parts = [...($ref === undefined ? [] : [api.components?.schemas?.[$ref.split('/').at(-1) ?? ''] ?? {}]), ...allOf];
  return parts.length === 0 ? own : { ...Object.assign({}, ...parts.map((part) => resolve(api, part))), ...own };
}

function fieldsIn(api: OpenApi, { properties = {}, required = [] }: Schema, prefix: string, depth: number): OperationField[] {
  return Object.entries(properties).flatMap(([name, written]) => {
    const schema = resolve(api, written);
    const content = schema.type === 'array' ? resolve(api, schema.items) : schema;
    const path = `${prefix}${name}${schema.type === 'array' ? '[]' : ''}`;
    const inner = depth < maxDepth ? fieldsIn(api, content, `${path}.`, depth + 1) : [];
    return [toField(`${prefix}${name}`, schema, required.includes(name)), ...inner];
  });
}

function toField(name: string, schema: Schema, isRequired: boolean): OperationField {
  return { name, type: typeOf(schema), description: schema.description ?? '', isRequired };
}

function typeOf({ enum: values, anyOf, oneOf, type, format }: Schema): string {
  if (values) return values.map(String).join(' | ');
  const ways = anyOf ?? oneOf;
  if (ways) return ways.map(typeOf).join(' | ');
  // A decimal: the document shows it without a type, because generators cannot express the choice.
  return type === undefined ? 'number | string' : [type, format].filter(Boolean).join(' ');
}
