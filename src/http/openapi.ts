// The OpenAPI 3.0.3 document, generated from the routes' schemas. Its paths are relative to the base path, so that the committed
// document does not depend on a gateway's configuration. It is generated at the first request, to keep @fastify/swagger and its YAML
// library out of the gateway's start.
import { type FastifyInstance, fastify, type RouteOptions } from 'fastify';
import { errorCodes } from '../kernel/error-codes.ts';
import type { Access } from './authentication.ts';
import { type ApiDocument, shareParts } from './openapi-parts.ts';

const tags = [
  { name: 'Terminal status', description: 'The physical state of a terminal or register.' },
  { name: 'POS Mode', description: 'Card payments on bank terminals.' },
  { name: 'QR Mode', description: 'Invoices that are paid by QR.' },
  { name: 'Fiscal Mode', description: 'Cash, reports and receipts on fiscal registers.' },
  { name: 'Operations', description: 'Queries the state of an operation; starts nothing. Not part of v1.' },
  { name: 'Pictures', description: 'The picture of a QR, for receipts and screens. Not part of v1.' },
  { name: 'Devices', description: 'Pairing and authentication of devices. Not part of v1.' },
  {
    name: 'Cabinet',
    description: 'Merchants, keys, devices, callbacks, sales and people, with a session or the admin token. Not part of v1.',
  },
  { name: 'Monitoring', description: 'Health, metrics and this document. Not part of v1.' },
];

const errorTable = Object.entries(errorCodes).map(
  ([name, { code, httpStatus, meaning }]) => `| ${code} | ${name} | ${httpStatus} | ${meaning} |`,
);

const description = [
  'One REST interface to card terminals, fiscal registers and QR invoices.',
  '',
  'The API key goes into the field `APIKey` (query of a GET, body of a POST) or into the header `X-API-Key`. Paths may be written in any letter case. Field names may not: a name that differs from a known field only in letter case, `_` or `-` is errorCode 40, and so is a name that occurs twice in one object. Other unknown fields are ignored. An optional field may be null or empty, which means absent; `documentNr`, `Receipt.Uid` and `Idempotency-Key` must not be empty. Decimals may be numbers or texts (`35.5`, `"35.50"`).',
  '',
  'Every response carries `errorCode` and `errorMessage`. Read those, not the HTTP status: most failures come with 200.',
  '',
  'After errorCode 3 the outcome is unknown, not failed; the gateway resolves it later. Query it with `GET /Device/Operation/Status` and the `OID` of the answer, as often as you like: this starts nothing. A repeated request never executes an operation twice, under these conditions:',
  '',
  '- with an `Idempotency-Key`: until 24 hours after the operation has ended, whatever its outcome;',
  '- Pay with documentNr, Device/Invoice/Pay with Receipt.Uid, CloseDoc: without a time limit. An operation that was refused or never began is tried again: a payment may appear on the terminal again;',
  '- all others (except X reports, which are simply repeated): an equal request gets the outcome of the first, marked `Repeated`, while the first is open and for 10 minutes after, until the outcome was delivered; closeDay and Z also only until the next operation on their device. After that, or if the first never began, it is a new operation.',
  '',
  'So give every operation that moves money a documentNr, a Receipt.Uid or an `Idempotency-Key`. An equal request without any of them, sent while the caller of the first still waits, is answered errorCode 31.',
  '',
  '| errorCode | name | HTTP | meaning |',
  '|---|---|---|---|',
  ...errorTable,
  '',
  'By HTTP status:',
  '',
  '| HTTP | errorCode | when |',
  '|---|---|---|',
  '| 200 | all others | the request was understood; errorCode is the outcome |',
  '| 400, 408, 413, 415 | 40 | a field, the form or the size of the request breaks a rule, or it arrived too slowly |',
  '| 401 | 10 | cabinet and metrics only: not signed in, or the token is wrong. A wrong API key is errorCode 10 with HTTP 200 |',
  '| 403 | 10, 11 | cabinet only: the password must be entered again, or the role does not allow it |',
  '| 404 | 40 | there is no such path |',
  '| 405 | 40 | the path has another method: see Allow |',
  '| 429 | 41 | too many requests; retry after the seconds in Retry-After |',
  '| 503 | 41 | the gateway is stopping; this request did nothing. /health/ready answers 503 with 1, 2 or 41 |',
  '',
  'An answer without errorCode comes from a proxy in front of the gateway, which does not know whether the request was executed.',
  '',
  '`x-device-timeout-s` is the time-out of the device for a call; make the time-out of the request 15 seconds longer. An answer has one schema for success and failure: which fields it has depends on errorCode, and the description of the schema names those that each success has. `report` is JSON in a string; `x-report` is the schema of its content.',
].join('\n');

type Security = Record<string, string[]>[];

/** The security schemes of a call. The field APIKey is described among the fields; devices have their own page [D147]. */
function securityOf(access: Access | undefined): Security {
  const header = { keyInHeader: [] };
  switch (access?.kind) {
    case 'key':
    case 'optionalKey':
      // {}: the key in the field APIKey, which no security scheme can describe in a body, or no key where none is needed [D292].
      return [header, {}];
    case 'cabinet':
      return access.who === 'public' ? [] : [{ session: [] }, { adminToken: [] }];
    default:
      return [];
  }
}

/** Must be called before routes are added, because it records them. The returned function generates the document, once. */
export function noteRoutes(app: FastifyInstance, basePath: string): () => Promise<ApiDocument> {
  const routes: RouteOptions[] = [];
  let document: Promise<ApiDocument> | undefined;
  app.addHook('onRoute', (route) => {
    if (route.schema?.hide !== true) routes.push(route);
  });
  return () => {
    document ??= describe(routes, basePath).catch((error: unknown) => {
      document = undefined;
      throw error;
    });
    return document;
  };
}

/** Registers the routes on a second server, without handlers, that never listens. */
async function describe(routes: readonly RouteOptions[], basePath: string): Promise<ApiDocument> {
  const { default: swagger } = await import('@fastify/swagger');
  const paper = fastify();
  paper.setValidatorCompiler(() => () => true);
  paper.setSerializerCompiler(() => () => '');
  await paper.register(swagger, {
    openapi: {
      openapi: '3.0.3',
      info: {
        title: 'Tillgate',
        version: 'v1',
        description,
        license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
      },
      servers: [{ url: basePath === '' ? '/' : basePath }],
      tags,
      components: {
        securitySchemes: {
          keyInHeader: {
            type: 'apiKey',
            in: 'header',
            name: 'X-API-Key',
            description:
              'Keeps the key out of URLs. The field APIKey (query of a GET, body of a POST) is accepted instead: this is the empty alternative in `security`.',
          },
          session: {
            type: 'apiKey',
            in: 'cookie',
            name: '__Host-tillgate_session',
            description: 'Set by signing in; changes need the header x-tillgate-request: 1 as well.',
          },
          adminToken: { type: 'http', scheme: 'bearer', description: 'TILLGATE_ADMIN_TOKEN.' },
        },
      },
    },
    transformObject: (made) => shareParts(('openapiObject' in made ? made.openapiObject : {}) as ApiDocument),
    transform: ({ schema, url, route }) => {
      const relative = url.startsWith(basePath) ? url.slice(basePath.length) || '/' : url;
      return { schema: { ...schema, security: securityOf(route.config?.access) }, url: relative };
    },
  });
  for (const { method, url, schema = {}, config } of routes)
    paper.route({ method, url, schema, ...(config && { config }), handler: async () => {} });
  await paper.ready();
  return paper.swagger() as unknown as ApiDocument;
}

/** The whole document, after all routes are registered. */
export async function describeApi(server: { app: FastifyInstance; describe(): Promise<object> }): Promise<object> {
  await server.app.ready();
  return server.describe();
}
