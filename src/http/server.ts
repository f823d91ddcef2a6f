// The HTTP server: everything around a route's own work. A request passes, in this order: overload check, JSON body,
// access [D8], schema, handler, envelope [D4 to D7], log line. It knows no slice; slices register their routes on it.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:tls';
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyTypeProvider,
  type RouteOptions,
} from 'fastify';
import type { Static, TSchema } from 'typebox';
import type { Clock } from '../kernel/clock.ts';
import { errorCodes, GatewayError } from '../kernel/error-codes.ts';
import type { Logger } from '../kernel/logger.ts';
import { networkOf } from '../kernel/network-of.ts';
import type { Random } from '../kernel/random.ts';
import { type AccessOptions, createAccessJudge, createUpgradeLogin, ownerOf } from './authentication.ts';
import { createBodyIntake } from './body-intake.ts';
import { registerCabinetFiles } from './cabinet-files.ts';
import { createConnections } from './connections.ts';
import { registerDocsPage } from './docs-page.ts';
import { failureBody, noSuchPath, protocolFailure, successBody, toGatewayError } from './envelope.ts';
import { createInFlight, type Flight } from './in-flight.ts';
import { checkCharset, checkQuery, type JsonCaps, parseJsonBody } from './json-body.ts';
import type { Metrics } from './metrics.ts';
import { createNewcomers } from './newcomers.ts';
import { registerOpenApi } from './openapi.ts';
import { registerOperationRoutes } from './operation-routes.ts';
import { createPlaces, type Place } from './places.ts';
import { factsOf } from './request-facts.ts';
import { logCrash, logRequest, routeOf } from './request-log.ts';
import { createRouteTable } from './route-table.ts';
import { aboutThisRequest } from './this-request.ts';
import { createUpgrades, type UpgradeHandler } from './upgrades.ts';
import { createValidatorCompiler } from './validation.ts';

export interface HttpLimits {
  bodyBytes: number;
  json: JsonCaps;
  /** All headers must be in by then, and the whole request. Neither bounds how long an answer may take. */
  headersTimeoutMs: number;
  requestTimeoutMs: number;
  keepAliveTimeoutMs: number;
  /** A client that does not read its answer is cut after this long without progress. */
  stalledAnswerMs: number;
  checkIntervalMs: number;
  /** Places for requests whose body is in, and the part of them that one merchant or address may take for itself. */
  requestsInFlight: number;
  merchantSharePercent: number;
  connections: number;
  /** Of one address: connections that have not logged in, and bodies that are still coming. */
  newcomersPerAddress: number;
  bodiesPerAddress: number;
  /** Bytes of all bodies that are still coming. */
  bufferedBytes: number;
}

export const defaultLimits: HttpLimits = {
  bodyBytes: 1024 * 1024,
  json: { deepest: 32, maxValues: 50_000 },
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 72_000,
  stalledAnswerMs: 60_000,
  checkIntervalMs: 500,
  requestsInFlight: 5_000,
  merchantSharePercent: 50,
  connections: 20_000,
  newcomersPerAddress: 500,
  bodiesPerAddress: 500,
  bufferedBytes: 64 * 1024 * 1024,
};

export interface HttpServerOptions extends AccessOptions {
  host: string;
  port: number;
  /** Begins with a slash and does not end with one, or is empty. */
  basePath: string;
  /** PEM texts; with them the server speaks HTTPS only. */
  tls?: { cert: string; key: string } | undefined;
  logger: Logger;
  clock: Clock;
  random: Random;
  metrics: Metrics;
  /** For /health/ready: undefined when ready, otherwise one sentence that says what is missing; or it throws, where the catalogue has a name for that. */
  whyNotReady: () => Promise<string | undefined>;
  /** CIDR ranges of the proxies whose X-Forwarded-For counts. */
  trustedProxies?: readonly string[];
  limits?: Partial<HttpLimits>;
  /** Where the built cabinet lies, if not in web/dist. */
  cabinetDirectory?: URL;
}

/** Makes `request.body`, `request.query` and `request.params` have the types of their TypeBox schemas. */
export interface TypeBoxProvider extends FastifyTypeProvider {
  validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown;
  serializer: unknown;
}

export type RouteApp = FastifyInstance<Server, IncomingMessage, ServerResponse, FastifyBaseLogger, TypeBoxProvider>;

export interface HttpServer {
  /** The bare Fastify instance, for `inject` in tests. */
  readonly app: FastifyInstance;
  /** Adds routes, with paths relative to the base path. Before `listen` only. */
  routes(register: (app: RouteApp) => void): void;
  /** Hands over WebSocket requests of devices that logged in, at a path relative to the base path. */
  onUpgrade(path: string, handler: UpgradeHandler): void;
  listen(): Promise<{ url: string; port: number }>;
  /** Connections from now on see this certificate; those that stand go on. */
  renewCertificate(pair: { cert: string; key: string }): void;
  /** Accepts nothing new, lets what is under way end within the bound, then cuts what is left. */
  stop(graceMs: number): Promise<void>;
}

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { basePath, clock, logger, metrics, random } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const judge = createAccessJudge(options);
  const inFlight = createInFlight(clock);
  const flights = new WeakMap<FastifyRequest, Flight>();
  const places = createPlaces({ clock, count: limits.requestsInFlight, defaultSharePercent: limits.merchantSharePercent });
  const takenPlaces = new WeakMap<FastifyRequest, Place>();
  const intake = createBodyIntake({ clock, ...limits });
  const newcomers = createNewcomers({
    perAddress: limits.newcomersPerAddress,
    inAll: limits.connections,
    trustedProxies: options.trustedProxies ?? [],
  });
  const routeTable = createRouteTable();
  let isStopping = false;

  const connections = createConnections((error) => {
    metrics.observeRequest('', 'unreadable', errorCodes[error.errorName].code, 0);
    logger.info({ httpStatus: error.httpStatus, errorCode: errorCodes[error.errorName].code }, 'unreadable request');
  });

  const upgrades = createUpgrades({
    authenticate: createUpgradeLogin(options.findDevice),
    whyNot: () => (isStopping ? stopping() : undefined),
    refuse: connections.refuse,
    failed: (error) => logger.error({ err: error }, 'the login of a device could not be judged'),
    loggedIn: newcomers.loggedIn,
  });

  const nodeOptions = {
    headersTimeout: limits.headersTimeoutMs,
    connectionsCheckingInterval: limits.checkIntervalMs,
    requireHostHeader: false,
    shouldUpgradeCallback: upgrades.shouldUpgrade,
  };
  const app = fastify({
    logger: false,
    genReqId: () => random.uuid(),
    exposeHeadRoutes: false,
    bodyLimit: limits.bodyBytes,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    // The last address that no proxy of ours had: what the first of them saw. Whatever a client wrote itself stands before that.
    trustProxy: options.trustedProxies?.length ? [...options.trustedProxies] : false,
    routerOptions: { caseSensitive: false, ignoreTrailingSlash: true, maxParamLength: 200 },
    clientErrorHandler: connections.clientError,
    frameworkErrors: (error, request, reply) => {
      fail(error, request, reply);
      reply.raw.once('close', () => logRequest(logger, request, reply, 0));
    },
    ...(options.tls === undefined
      ? { http: nodeOptions }
      : { https: { ...nodeOptions, ...options.tls, handshakeTimeout: limits.headersTimeoutMs } }),
  }) as unknown as FastifyInstance;
  connections.attach(app.server, limits.stalledAnswerMs);
  app.server.on('upgrade', upgrades.upgrade);
  app.server.maxConnections = limits.connections;
  newcomers.attach(app.server);

  function fail(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const error = toGatewayError(thrown, request.id);
    flights.get(request)?.workEnded();
    factsOf(request).errorCode = errorCodes[error.errorName].code;
    if (error.errorName === 'Internal_error' && !(thrown instanceof GatewayError)) logCrash(logger, request, thrown);
    setCommonHeaders(reply, request);
    if (error.retryAfterS !== undefined) reply.header('retry-after', String(error.retryAfterS));
    // Fastify would close at once, and the reset could reach a client that is still writing before the answer does.
    // The rest of the body is read and dropped instead; the request time-out bounds it.
    if (error.httpStatus === 413) reply.removeHeader('connection');
    // A body that was cut may go on coming for ever.
    if (error.httpStatus === 408) reply.header('connection', 'close');
    if (error.httpStatus === 401) reply.header('www-authenticate', 'Bearer');
    const body = failureBody(error, aboutThisRequest(error.errorName, request.routeOptions.config.access));
    reply.code(error.httpStatus).type('application/json; charset=utf-8').serializer(JSON.stringify).send(body);
  }

  app.setValidatorCompiler(createValidatorCompiler());
  app.setSerializerCompiler(() => (body) => JSON.stringify(body));
  app.setErrorHandler((error, request, reply) => fail(error, request, reply));
  app.setNotFoundHandler(refuseUnknown);

  function refuseUnknown(request: FastifyRequest, reply: FastifyReply): never {
    if (request.headers.upgrade !== undefined) reply.header('connection', 'close');
    const methods = routeTable.methodsFor(request.url.split('?', 1)[0] ?? '');
    if (methods.length === 0) throw noSuchPath();
    reply.header('allow', methods.join(', '));
    throw protocolFailure(405, `The method must be ${methods.join(' or ')}.`);
  }

  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) => {
    checkCharset(request.headers['content-type']);
    const length = request.headers['content-length'];
    const body = await intake.read(networkOf(request.ip), payload, length === undefined ? undefined : Number(length));
    return parseJsonBody(body, limits.json);
  });

  app.addHook('onRoute', (route: RouteOptions) => {
    const access = route.config?.access;
    if (access === undefined) throw new Error(`The route ${route.url} declares no access.`);
    // What stands in for every unknown path under it says nothing about which paths exist.
    if (route.config?.isFallback !== true) routeTable.add([route.method].flat(), route.url);
    const { handler } = route;
    route.handler = async function (request, reply) {
      try {
        // Nothing returned and nothing sent is a success without fields.
        return (await handler.call(this, request, reply)) ?? (reply.sent ? reply : {});
      } finally {
        flights.get(request)?.workEnded();
      }
    };
  });

  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.config.isLongLived !== true) {
      const startedAtMs = clock.elapsed();
      const flight = inFlight.begin(() => {
        const durationMs = clock.elapsed() - startedAtMs;
        logRequest(logger, request, reply, durationMs);
        metrics.observeRequest(request.method, routeOf(request), factsOf(request).errorCode, durationMs);
        takenPlaces.get(request)?.leave();
      });
      flights.set(request, flight);
      reply.raw.once('close', () => flight.responseClosed());
    }
    if (isStopping && !isProbe(request)) throw stopping();
    checkQuery(request.query);
  });

  function isProbe(request: FastifyRequest): boolean {
    return routeOf(request).startsWith(`${basePath}/health/`) || routeOf(request) === `${basePath}/metrics`;
  }

  // The body is in: from here on the request has a place, first as its address's, then as its merchant's.
  app.addHook('preValidation', async (request, reply) => {
    const { socket } = request.raw;
    newcomers.busy(socket, true);
    reply.raw.once('close', () => newcomers.busy(socket, false));
    const flight = flights.get(request);
    flight?.workStarted();
    const place = flight && !isProbe(request) ? places.take({ name: networkOf(request.ip) }) : undefined;
    if (flight && !isProbe(request)) {
      if (place === undefined) throw overloaded('The gateway is overloaded.');
      takenPlaces.set(request, place);
    }
    const { access } = request.routeOptions.config;
    if (request.is404 || access === undefined) return;
    await judge(request, access);
    const owner = ownerOf(request);
    if (owner === undefined) return;
    newcomers.loggedIn(socket);
    if (place?.moveTo(owner) === false) throw overloaded('This merchant has as many requests under way as its share allows.');
  });

  app.addHook('preSerialization', async (request, _reply, payload: unknown) => {
    const facts = factsOf(request);
    if (facts.errorCode !== undefined) return payload;
    if (payload === null || typeof payload !== 'object' || Array.isArray(payload))
      throw new Error('A handler must return an object of fields.');
    facts.errorCode = errorCodes.NoError.code;
    return successBody(payload);
  });

  app.addHook('onSend', async (request, reply, payload) => {
    // Pictures and pages have no envelope to count by.
    factsOf(request).errorCode ??= errorCodes.NoError.code;
    setCommonHeaders(reply, request);
    if (isStopping) reply.header('connection', 'close');
    return payload;
  });

  registerOpenApi(app, basePath);
  app.register(
    async (scope) => {
      registerOperationRoutes(scope, {
        metrics,
        whyNotReady: async () => (isStopping ? 'The gateway is stopping.' : options.whyNotReady()),
      });
      registerDocsPage(scope, basePath, () => app.swagger());
      registerCabinetFiles(scope, { basePath, logger, refuseUnknown, directory: options.cabinetDirectory });
    },
    { prefix: basePath },
  );

  return {
    app,
    routes(register) {
      app.register(async (scope) => register(scope as unknown as RouteApp), { prefix: basePath });
    },
    onUpgrade(path, handler) {
      upgrades.onUpgrade(`${basePath}${path}`, handler);
    },
    async listen() {
      // For "localhost" Fastify opens a second server, which would lack what `connections` does.
      await app.listen({ host: options.host === 'localhost' ? '127.0.0.1' : options.host, port: options.port });
      const address = app.server.address();
      const port = typeof address === 'object' && address !== null ? address.port : options.port;
      const host = options.host.includes(':') ? `[${options.host}]` : options.host;
      return { url: `${options.tls === undefined ? 'http' : 'https'}://${host}:${port}${basePath}`, port };
    },
    renewCertificate(pair) {
      (app.server as unknown as TlsServer).setSecureContext(pair);
    },
    async stop(graceMs) {
      isStopping = true;
      const closed = app.close();
      await inFlight.drained(graceMs);
      upgrades.end();
      app.server.closeAllConnections();
      await closed;
    },
  };
}

function overloaded(reason: string): GatewayError {
  return new GatewayError('Too_Many_Requests', reason, { retryAfterS: 1 });
}

/** 503 instead of 429 [D57]: a proxy in front takes it as the word to try another instance. */
function stopping(): GatewayError {
  return new GatewayError('Too_Many_Requests', 'The gateway is stopping.', { httpStatus: 503, retryAfterS: 1 });
}

/** A year, for this host alone: what else lives under the domain is not ours to decide. */
const httpsOnly = 'max-age=31536000';

function setCommonHeaders(reply: FastifyReply, request: FastifyRequest): void {
  if (request.protocol === 'https') reply.header('strict-transport-security', httpsOnly);
  if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store');
  if (!reply.hasHeader('content-security-policy')) reply.header('content-security-policy', "default-src 'none'; frame-ancestors 'none'");
  reply.header('x-content-type-options', 'nosniff').header('referrer-policy', 'no-referrer').header('x-request-id', request.id);
}
