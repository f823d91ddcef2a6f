// Calls by chance from the gateway's own OpenAPI document: right, nearly right and wrong fields, with a key, a token or nothing.
// Whatever is sent, the answer has the envelope or is what the document says of that call, and is never an internal error.
import fc from 'fast-check';
import type { ForeignShop } from '../conformance/foreign-shop.ts';
import { arbitraryOf, disturbed } from '../link/schema-arbitrary.ts';

interface Parameter {
  $ref?: string;
  name: string;
  in: 'query' | 'path' | 'header';
  schema: object;
}

interface Operation {
  operationId: string;
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: object; example?: object }> };
  responses: Record<string, { $ref?: string; content?: Record<string, object> }>;
}

interface ApiDocument {
  components: { schemas: Record<string, object>; responses: Record<string, { content?: Record<string, object> }> };
  paths: Record<string, Record<string, Operation>>;
}

interface Call {
  operation: Operation;
  method: string;
  path: string;
  query: Record<string, unknown>;
  headers: Record<string, string>;
  body: string | undefined;
}

export type Fuzz = (seed: number, count: number) => Promise<void>;

/** Streams end when the reader does; the others would end the fuzz itself: its key, its devices, its user. */
const leftOut = new Set(['streamEvents', 'revokeKey', 'disableDevice', 'disableMerchant', 'newDeviceSecret', 'playground']);

export async function createHttpFuzz(shop: ForeignShop, deviceIds: readonly string[]): Promise<Fuzz> {
  const { baseUrl } = shop.till;
  const document = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as ApiDocument;
  const logins = [
    {},
    { 'x-api-key': shop.apiKey },
    { 'x-api-key': shop.apiKey },
    { authorization: `Bearer ${shop.gateway.adminToken}`, 'x-tillgate-request': '1' },
    { authorization: 'Basic bm9ib2R5Om5vdGhpbmc=' },
  ];
  const calls = fc.oneof(
    ...Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, { operationId }]) => !leftOut.has(operationId))
        .map(([method, operation]) => callOf(document, { path, method, operation, deviceIds, logins })),
    ),
  );
  return async (seed, count) => {
    for (const call of fc.sample(calls, { seed, numRuns: count })) await judge(baseUrl, call);
  };
}

interface Given {
  path: string;
  method: string;
  operation: Operation;
  deviceIds: readonly string[];
  logins: readonly Record<string, string>[];
}

function callOf(document: ApiDocument, { path, method, operation, deviceIds, logins }: Given): fc.Arbitrary<Call> {
  const { schemas } = document.components;
  const parameters = operation.parameters ?? [];
  const recordOf = (place: Parameter['in']) => {
    const inPlace = parameters.filter((parameter) => parameter.in === place);
    const known = fc.record(Object.fromEntries(inPlace.map(({ name, schema }) => [name, arbitraryOf(schemas, schema)])));
    const names = inPlace.map(({ name }) => name);
    return names.length === 0 ? fc.constant<Record<string, unknown>>({}) : fc.oneof(known, disturbed(known, names));
  };
  const json = operation.requestBody?.content['application/json'];
  return fc
    .record({
      query: recordOf('query'),
      inPath: recordOf('path'),
      inHeader: recordOf('header'),
      body: json === undefined ? fc.constant(undefined) : bodyOf(schemas, json),
      login: fc.constantFrom(...logins),
      deviceId: fc.constantFrom(undefined, ...deviceIds),
    })
    .map(({ query, inPath, inHeader, body, login, deviceId }) => {
      const ownDevice = deviceId === undefined ? {} : { DeviceID: deviceId };
      const filled = body !== null && typeof body === 'object' && !Array.isArray(body) ? { ...body, ...ownDevice } : body;
      return {
        operation,
        method: method.toUpperCase(),
        path: path.replace(/\{(\w+)\}/g, (_whole, name: string) => encodeURIComponent(textOf(inPath[name] ?? 'x').toWellFormed())),
        query: parameters.some(({ name }) => name === 'DeviceID') ? { ...query, ...ownDevice } : query,
        headers: { ...headersOf(inHeader), ...login, ...(json === undefined ? {} : { 'content-type': 'application/json' }) },
        body: filled === undefined ? undefined : typeof filled === 'string' ? filled : JSON.stringify(filled),
      };
    });
}

/** By the schema, by the example, disturbed, any JSON, and text that is none. */
function bodyOf(schemas: Record<string, object>, { schema, example = {} }: { schema: object; example?: object }): fc.Arbitrary<unknown> {
  const right = arbitraryOf(schemas, schema) as fc.Arbitrary<Record<string, unknown>>;
  const shown = fc.constant(example as Record<string, unknown>);
  const names = [...Object.keys(example), 'APIKey', 'DeviceID', 'amount'];
  return fc.oneof(right, disturbed(shown, names), disturbed(right, names), fc.jsonValue(), fc.string());
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));

function headersOf(fields: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      textOf(value)
        .replace(/[^\x20-\x7e]/g, '?')
        .trim(),
    ]),
  );
}

async function judge(baseUrl: string, { operation, method, path, query, headers, body }: Call): Promise<void> {
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]) => [name, textOf(value).toWellFormed()] as [string, string]),
  ).toString();
  const url = `${baseUrl}${path}${search === '' ? '' : `?${search}`}`;
  const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }), signal: AbortSignal.timeout(30_000) });
  const text = await response.text();
  const said = () => `${method} ${url} ${body?.slice(0, 300) ?? ''} was answered ${response.status} ${text.slice(0, 300)}`;
  const type = response.headers.get('content-type')?.split(';')[0] ?? '';
  if (type !== 'application/json') {
    if (operation.responses['200']?.content?.[type] === undefined) throw new Error(`No envelope: ${said()}`);
    return;
  }
  const answer = JSON.parse(text) as { errorCode?: unknown; errorMessage?: unknown };
  if (!Number.isInteger(answer.errorCode) || typeof answer.errorMessage !== 'string') throw new Error(`No envelope: ${said()}`);
  if (answer.errorCode === 1 || (response.status >= 500 && response.status !== 503)) throw new Error(`An internal error: ${said()}`);
}
