// Components of the API document that the calls share: named schemas, common answers and examples of errors.
// Invariant: a name has one meaning. A different answer or example under a used name stays in its call; a different schema is an error.
import { errorCodes } from '../kernel/error-codes.ts';
import { callbackHeaders } from './callback-schemas.ts';

type Json = Record<string, unknown>;

interface Operation extends Json {
  responses?: Record<string, Json>;
}

export interface ApiDocument extends Json {
  components?: Json;
  paths?: Record<string, Record<string, Operation>>;
}

const responseNames: Record<string, string> = {
  400: 'InvalidRequest',
  401: 'NotSignedIn',
  403: 'NotAllowed',
  429: 'TooManyRequests',
};

/** Answers that the server gives before it has found a route: every call may get them, so generated clients need a type for them. */
const everywhere = {
  503: {
    name: 'Stopping',
    description: 'errorCode 41: the gateway is stopping, and this request did nothing. Retry after the seconds in Retry-After.',
    example: { errorCode: 41, errorMessage: 'Too_Many_Requests: The gateway is stopping.' },
  },
  default: {
    name: 'OtherFailure',
    description:
      'Other failures have the envelope, too: errorCode 40 with HTTP 404 (no such path), 405 (another method: see Allow), 408, 413 and 415.',
    example: { errorCode: 40, errorMessage: 'Invalid_Request: There is no such path.' },
  },
};

/** A copy of the document with equal parts moved to `components`. */
export function shareParts(document: ApiDocument): ApiDocument {
  const schemas: Json = {};
  const responses: Json = {};
  const examples: Json = {};
  const parameters: Json = {};
  const hoisted = Object.entries(document.paths ?? {}).map(([path, methods]) => [
    path,
    hoistSchemas(isOfTheApi(path) ? withoutChoices(methods) : methods, schemas),
  ]);
  const paths = Object.fromEntries(hoisted) as NonNullable<ApiDocument['paths']>;
  const failure = { $ref: '#/components/schemas/Failure' };
  for (const [path, methods] of Object.entries(paths)) {
    for (const operation of Object.values(methods)) {
      nameCallbacks(operation, parameters);
      shareExamples(operation, examples);
      shareResponses(operation, responses);
      if (!isOfTheApi(path)) continue;
      for (const [status, { name, description, example }] of Object.entries(everywhere)) {
        if (operation.responses?.[status] !== undefined) continue;
        responses[name] ??= { description, content: { 'application/json': { schema: failure, example } } };
        operation.responses = { ...operation.responses, [status]: { $ref: `#/components/responses/${name}` } };
      }
    }
  }
  const found = { schemas: sorted(schemas), responses: sorted(responses), examples: sorted(examples), parameters };
  return { ...document, components: { ...document.components, ...found }, paths };
}

/** The two halves of the document: developers of an ERP read and generate only the calls for ERPs. */
export const isForCabinet = (tags: readonly string[]) => tags.includes('Cabinet');
export const isForErp = (tags: readonly string[]) => !isForCabinet(tags);

/** The document of some calls only, with the components that they use. */
export function partOf(document: ApiDocument, isWanted: (tags: readonly string[]) => boolean): ApiDocument {
  const wanted = Object.entries(document.paths ?? {}).map(([path, methods]) => [
    path,
    Object.fromEntries(Object.entries(methods).filter(([, { tags }]) => isWanted(tags as string[]))),
  ]);
  const paths = Object.fromEntries(wanted.filter(([, methods]) => Object.keys(methods as object).length > 0)) as ApiDocument['paths'];
  const tags = (document['tags'] as { name: string }[]).filter(({ name }) => isWanted([name]));
  const { securitySchemes = {}, ...parts } = document.components as Record<string, Json>;
  const ways = Object.values(paths ?? {}).flatMap((methods) =>
    Object.values(methods).flatMap(({ security }) => (security ?? []) as object[]),
  );
  const usedWays = new Set(ways.flatMap((way) => Object.keys(way)));
  const schemes = Object.fromEntries(Object.entries(securitySchemes).filter(([name]) => usedWays.has(name)));
  const used = referencesOf(paths, parts);
  const kept = Object.entries(parts).map(([kind, named]) => [
    kind,
    Object.fromEntries(Object.entries(named).filter(([name]) => used.has(`#/components/${kind}/${name}`))),
  ]);
  return { ...document, tags, components: { securitySchemes: schemes, ...Object.fromEntries(kept) }, paths: paths ?? {} };
}

/** The whole document, of its two halves: they share components, but no path. */
export function joined(one: ApiDocument, other: ApiDocument): ApiDocument {
  const kinds = Object.keys({ ...one.components, ...other.components });
  const components = kinds.map((kind) => [kind, { ...(one.components?.[kind] as Json), ...(other.components?.[kind] as Json) }]);
  const tags = [...(one['tags'] as Json[]), ...(other['tags'] as Json[])];
  return { ...one, tags, components: Object.fromEntries(components) as Json, paths: { ...one.paths, ...other.paths } };
}

/** All references from here, transitively. */
function referencesOf(from: unknown, parts: Record<string, Json | undefined>, found = new Set<string>()): Set<string> {
  for (const [, reference = ''] of JSON.stringify(from).matchAll(/"\$ref":"([^"]+)"/g)) {
    if (found.has(reference)) continue;
    found.add(reference);
    const [, , kind = '', name = ''] = reference.split('/');
    referencesOf(parts[kind]?.[name] ?? {}, parts, found);
  }
  return found;
}

/** The calls for ERPs and devices; those of the cabinet and of operator tools have their own statuses. */
function isOfTheApi(path: string): boolean {
  return /^\/(?:Device|Invoice|qr|pairing)(?:\/|$)/.test(path);
}

/** `x-name`: move to the components under that name. `x-document`: a schema to show instead of the one to check. Examples are values, not schemas. */
function hoistSchemas(value: unknown, schemas: Json): unknown {
  if (Array.isArray(value)) return value.map((item) => hoistSchemas(item, schemas));
  if (typeof value !== 'object' || value === null) return value;
  const { 'x-name': name, 'x-document': shown, ...rest } = value as Json;
  if (shown !== undefined) return hoistSchemas(shown, schemas);
  const entries = Object.entries(rest).map(([key, item]) => [
    key,
    key === 'example' || key === 'examples' ? item : hoistSchemas(item, schemas),
  ]);
  const copy = Object.fromEntries(entries) as Json;
  // Type.Enum leaves it out; generators then make a class, or text of any kind.
  const { enum: choices, type = 'string' } = copy;
  if (Array.isArray(choices) && choices.every((choice) => typeof choice === 'string')) Object.assign(copy, { type });
  if (typeof name !== 'string') return copy;
  if (!isSame(schemas[name] ?? copy, copy)) throw new Error(`Two schemas of the API document are called ${name}.`);
  schemas[name] = copy;
  return { $ref: `#/components/schemas/${name}` };
}

/** Generators make a type that does not exist of "number or text"; without a type they make one that takes both [D292]. */
function withoutChoices(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutChoices);
  if (typeof value !== 'object' || value === null) return value;
  const { anyOf, ...rest } = value as { anyOf?: Json[]; description?: string };
  const schema = Object.fromEntries(Object.entries(rest).map(([key, item]) => [key, withoutChoices(item)]));
  if (anyOf === undefined) return schema;
  if (!anyOf.every(({ type }) => ['number', 'integer', 'string'].includes(String(type)))) return { ...schema, anyOf };
  return { ...schema, description: `${rest.description ?? ''} A number or a text.`.trim() };
}

/** The document has `callbacks` in the call; a route's schema has them as `x-callbacks` (callback-schemas.ts). */
function nameCallbacks(operation: Operation, parameters: Json): void {
  const { 'x-callbacks': callbacks } = operation;
  if (callbacks === undefined) return;
  delete operation['x-callbacks'];
  operation['callbacks'] = callbacks;
  Object.assign(parameters, callbackHeaders);
}

function shareExamples({ responses = {} }: Operation, examples: Json): void {
  for (const { content } of Object.values(responses) as { content?: Record<string, { examples?: Json }> }[]) {
    for (const media of Object.values(content ?? {})) {
      for (const [name, example] of Object.entries(media.examples ?? {})) {
        if (!(name in errorCodes) || !isSame(examples[name] ?? example, example)) continue;
        examples[name] = example;
        media.examples = { ...media.examples, [name]: { $ref: `#/components/examples/${name}` } };
      }
    }
  }
}

function shareResponses(operation: Operation, shared: Json): void {
  for (const [status, response] of Object.entries(operation.responses ?? {})) {
    const name = responseNames[status];
    if (name === undefined || !isSame(shared[name] ?? response, response)) continue;
    shared[name] = response;
    operation.responses = { ...operation.responses, [status]: { $ref: `#/components/responses/${name}` } };
  }
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function sorted(parts: Json): Json {
  return Object.fromEntries(Object.entries(parts).sort(([one], [other]) => one.localeCompare(other)));
}
