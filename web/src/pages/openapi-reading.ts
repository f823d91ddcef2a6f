// The OpenAPI document as the Developers page reads it: the calls of v1 with their fields and an example each. Pure.

interface Schema {
  type?: string;
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

const shownTags = ['POS Mode', 'QR Mode', 'Fiscal Mode', 'Terminal status'];

export function operationsOf(api: OpenApi): Operation[] {
  const all = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => toOperation(method.toUpperCase(), path, operation)),
  );
  return all.filter(({ tag }) => shownTags.includes(tag)).sort((one, other) => shownTags.indexOf(one.tag) - shownTags.indexOf(other.tag));
}

function toOperation(method: string, path: string, operation: ApiOperation): Operation {
  const body = operation.requestBody?.content?.['application/json'];
  const query = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query');
  const fields = [
    ...query.map((parameter) =>
      toField(parameter.name, { ...parameter.schema, description: parameter.description }, parameter.required === true),
    ),
    ...Object.entries(body?.schema?.properties ?? {}).map(([name, schema]) =>
      toField(name, schema, body?.schema?.required?.includes(name) === true),
    ),
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

function toField(name: string, schema: Schema, isRequired: boolean): OperationField {
  const type = schema.enum ? schema.enum.map(String).join(' | ') : [schema.type, schema.format].filter(Boolean).join(' ');
  return { name, type, description: schema.description ?? '', isRequired };
}
