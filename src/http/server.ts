// The HTTP server: everything around the handlers. A request passes, in this order: overload check, JSON body,
// access [D8], schema, handler, envelope [D4 to D7], log line. It depends on no slice; slices register their routes on it.

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as TcpServer } from 'node:net';
import type { Server as TlsServer } from 'node:tls';
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  type FastifyTypeProvider,
  type RouteOptions,
} from 'fastify';
import type { Static, TSchema } from 'typebox';
import { type Clock, sleep } from '../kernel/clock.ts';
import { errorCodes, GatewayError } from '../kernel/error-codes.ts';
import { networkOf } from '../kernel/network-of.ts';
import { hostInUrl } from '../kernel/url-parts.ts';
import type { World } from '../kernel/world.ts';
import { type Admission, createAdmission } from './admission.ts';
import { answerFailure, answerInEnvelope } from './answering.ts';
import { type AccessOptions, createUpgradeLogin, open, signedIn, takesSmallBodiesOnly } from './authentication.ts';
import { createBodyIntake } from './body-intake.ts';
import { registerCabinetFiles } from './cabinet-files.ts';
import { type Connections, createConnections } from './connections.ts';
import { registerDocsPage } from './docs-page.ts';
import type { Demo } from './examples.ts';
import { createHostCheck } from './host-check.ts';
import { checkCharset, checkEncoding, parseJsonBody } from './json-body.ts';
import { maxAnonymousBodyBytes } from './large-bodies.ts';
import { defaultLimits, type HttpLimits } from './limits.ts';
import type { Metrics } from './metrics.ts';
import { noteRoutes } from './openapi.ts';
import type { ApiDocument } from './openapi-parts.ts';
import { type Readiness, registerOperationRoutes } from './operation-routes.ts';
import { type DocumentFile, packagedDocument } from './packaged-document.ts';
import { createReadingTurns } from './reading-turns.ts';
import { factsOf } from './request-facts.ts';
import { logRequest } from './request-log.ts';
import { createRouteTable, type RouteTable } from './route-table.ts';
import { takeTurns } from './turns.ts';
import { createUnauthenticatedConnections, type UnauthenticatedConnections } from './unauthenticated-connections.ts';
import { createUpgrades, type UpgradeHandler, type Upgrades, type UpgradesDeps } from './upgrades.ts';
import { compileValidator } from './validation.ts';
import { optionalViewerOf } from './viewer.ts';

export interface HttpServerOptions extends AccessOptions, World {
  host: string;
  port: number;
  /** Begins with a slash and does not end with one, or is empty. */
  basePath: string;
  /** Further host names for browsers, besides `host`, loopback and the public URL's. */
  hosts?: readonly string[] | undefined;
  /** PEM texts and options of OpenSSL; with them the server speaks HTTPS only. */
  tls?: { cert: string; key: string; secureOptions?: number } | undefined;
  metrics: Metrics;
  /** Calls back with each device that loses the right to connect, once `findDevice` rejects it. */
  onCutOff: UpgradesDeps['onCutOff'];
  /** For /health/ready: the modes and channels that work; throws if none does. */
  readiness: () => Promise<Readiness>;
  /** CIDR ranges of the proxies whose X-Forwarded-For counts. */
  trustedProxies?: readonly string[];
  limits?: Partial<HttpLimits>;
  /** Access to /docs and /openapi.json: every caller, or signed-in users of the cabinet. */
  apiReference?: 'public' | 'cabinet';
  /** Called when a signed-in user was answered 403, with the forbidden call. */
  onForbidden?:
    | ((forbidden: { actor: string; userId?: string | undefined; merchantId?: string | undefined; call: string }) => void)
    | undefined;
  /** Values that the reference page fills in; only in a sandbox. */
  demo?: () => Demo;
  /** The directory of the built cabinet, if not web/dist. */
  cabinetDirectory?: URL;
}

/** Gives `request.body`, `request.query` and `request.params` the types of their TypeBox schemas. */
export interface TypeBoxProvider extends FastifyTypeProvider {
  validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown;
  serializer: unknown;
}

export type RouteApp = FastifyInstance<Server, IncomingMessage, ServerResponse, FastifyBaseLogger, TypeBoxProvider>;

export interface HttpServer {
  /** The Fastify instance, for `inject` in tests. */
  readonly app: FastifyInstance;
  /** The API document, generated from the routes at the first call. */
  describe(): Promise<ApiDocument>;
  /** Adds routes, with paths relative to the base path. Only before `listen`. */
  routes(register: (app: RouteApp) => void): void;
  /** Sets the handler of WebSocket requests of authenticated devices, at a path relative to the base path. */
  onUpgrade(path: string, handler: UpgradeHandler): void;
  listen(): Promise<{ url: string; port: number }>;
  /** New connections get this certificate; open ones continue. */
  renewCertificate(pair: { cert: string; key: string }): void;
  countConnections(): Promise<number>;
  /**
   * Announces that this instance is about to stop, and keeps serving: `ready` answers 503 and every answer closes its connection.
   * Then the listener is closed, and connections that were accepted before are still served briefly. Does nothing if the time is 0.
   */
  drain(announcedMs: number): Promise<void>;
  /** Refuses new requests, waits within the bound for those in flight, then closes all connections. */
  stop(graceMs: number): Promise<void>;
}

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { basePath } = options;
  const limits = { ...defaultLimits, ...options.limits };
  let phase: 'serving' | 'leaving' | 'stopping' = 'serving';
  let isLast = false;
  const whyNot = () => (phase === 'stopping' ? stopping() : undefined);

  const unauthenticated = createUnauthenticatedConnections({
    perAddress: limits.unauthenticatedPerAddress,
    inAll: limits.connections,
    trustedProxies: options.trustedProxies ?? [],
    isTls: options.tls !== undefined,
  });
  const admission = createAdmission({ ...options, limits, unauthenticated, whyNot });
  const connections = createConnections(options.clock, (error) => noteUnreadable(options, error));
  const upgrades = createUpgrades({
    authenticate: createUpgradeLogin(options.findDevice),
    onCutOff: options.onCutOff,
    whyNot,
    refuse: connections.refuse,
    failed: (error) => options.logger.error({ err: error }, 'the login of a device could not be checked'),
    loggedIn: (socket) => unauthenticated.loggedIn(socket),
  });
  const routeTable = createRouteTable(basePath);

  const app = createApp(options, limits, { admission, connections, upgrades, unauthenticated });
  unauthenticated.attach(app.server);
  app.setNotFoundHandler(routeTable.refuseUnknown);
  readJsonBodies(app, limits, options.clock, admission);
  wrapRoutes(app, routeTable, admission, createHostCheck(options));
  admission.attach(app);
  answerInEnvelope(app, () => isLast);
  const refuseStopping = () => {
    if (phase !== 'serving') throw stopping();
  };
  const describe = registerOwnRoutes(app, options, routeTable, refuseStopping);

  return {
    app,
    describe,
    routes(register) {
      app.register(async (scope) => register(scope as unknown as RouteApp), { prefix: basePath });
    },
    onUpgrade(path, handler) {
      upgrades.onUpgrade(`${basePath}${path}`, handler);
    },
    listen: () => listen(app, options),
    renewCertificate(pair) {
      (app.server as unknown as TlsServer).setSecureContext(pair);
    },
    countConnections: () =>
      new Promise((resolve, reject) =>
        app.server.getConnections((error, count) => {
          if (error) reject(error);
          else resolve(count);
        }),
      ),
    async drain(announcedMs) {
      if (announcedMs === 0) return;
      phase = 'leaving';
      isLast = true;
      const quietMs = Math.min(beforeCloseMs, announcedMs / 2);
      await sleep(options.clock, announcedMs - quietMs);
      isLast = false;
      await sleep(options.clock, quietMs);
      closeListener(app);
      isLast = true;
      await sleep(options.clock, lastArrivalsMs);
    },
    async stop(graceMs) {
      phase = 'stopping';
      isLast = true;
      const closed = app.close();
      await admission.drained(graceMs);
      upgrades.end();
      app.server.closeAllConnections();
      unauthenticated.cutHandshakes();
      await closed;
    },
  };
}

/**
 * For this long before the listener closes, a proxy may keep its connections, so that it opens no new ones at that moment: a connection that
 * the kernel has accepted but this process has not would be reset with its request. Measured: 2 of 5,000 POSTs on a busy machine.
 */
const beforeCloseMs = 1_000;

/** Time for a proxy that connected just before the listener closed to send its request. */
const lastArrivalsMs = 1_000;

/**
 * Closes only the listener. `close` of an HTTP server also ends idle connections, which may have a request on the way that would get no
 * answer. Called by a timer, right after the event loop has accepted every waiting connection; a connection not yet accepted would be reset.
 */
function closeListener(app: FastifyInstance): void {
  TcpServer.prototype.close.call(app.server);
}

/** 503 instead of 429 [D57]: a proxy in front then tries another instance. */
function stopping(): GatewayError {
  return new GatewayError('Too_Many_Requests', 'The gateway is stopping.', { httpStatus: 503, retryAfterS: 1 });
}

function noteUnreadable({ logger, metrics }: HttpServerOptions, { errorName, httpStatus }: GatewayError): void {
  const errorCode = errorCodes[errorName].code;
  metrics.observeRequest('', 'unreadable', errorCode, 0);
  logger.info({ httpStatus, errorCode }, 'unreadable request');
}

interface AppParts {
  unauthenticated: UnauthenticatedConnections;
  admission: Admission;
  connections: Connections;
  upgrades: Upgrades;
}

/** Fastify, with its defaults for malformed requests, errors and connections replaced by this room's. */
function createApp(options: HttpServerOptions, limits: HttpLimits, parts: AppParts): FastifyInstance {
  const { admission, connections, upgrades, unauthenticated } = parts;
  const { logger, random, tls, trustedProxies } = options;
  const nodeOptions = {
    headersTimeout: limits.headersTimeoutMs,
    connectionsCheckingInterval: limits.checkIntervalMs,
    requireHostHeader: false,
    // Behind a request whose answer is due it waits for its turn, like any other request, and upgrades nothing.
    shouldUpgradeCallback: (request: IncomingMessage) => !connections.isAnswerDue(request.socket) && upgrades.shouldUpgrade(request),
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
    // The last address in X-Forwarded-For that is not one of our proxies. A client can only forge the addresses before it.
    trustProxy: trustedProxies?.length ? [...trustedProxies] : false,
    routerOptions: { caseSensitive: false, ignoreTrailingSlash: true, maxParamLength: 200 },
    clientErrorHandler: connections.clientError,
    frameworkErrors: (error, request, reply) => {
      answerFailure(logger, error, request, reply);
      reply.raw.once('close', () => logRequest(logger, request, reply, 0));
    },
    ...(tls === undefined ? { http: nodeOptions } : { https: { ...nodeOptions, ...tls, handshakeTimeout: limits.headersTimeoutMs } }),
  }) as unknown as FastifyInstance;
  takeTurns(app.server, tls === undefined ? 'connection' : 'secureConnection', createReadingTurns(unauthenticated));
  connections.attach(app.server, limits.stalledAnswerMs);
  app.server.on('upgrade', upgrades.upgrade);
  app.server.maxConnections = limits.connections;
  app.setValidatorCompiler(compileValidator);
  app.setErrorHandler((error, request, reply) => {
    admission.workEnded(request);
    answerFailure(logger, error, request, reply);
    noteForbidden(options, error, request);
  });
  return app;
}

/** A request for the password or a code is no refusal. */
function noteForbidden({ onForbidden }: HttpServerOptions, error: unknown, request: FastifyRequest): void {
  const viewer = optionalViewerOf(request);
  if (onForbidden === undefined || viewer === undefined || !(error instanceof GatewayError) || error.httpStatus !== 403) return;
  if (error.fields !== undefined && ('needsConfirmation' in error.fields || 'needsTotp' in error.fields)) return;
  const { access } = request.routeOptions.config;
  onForbidden({ ...viewer, call: access?.kind === 'cabinet' ? access.call : request.method });
}

/** A large body is parsed only for a caller with a valid credential [D160]. */
function readJsonBodies(app: FastifyInstance, limits: HttpLimits, clock: Clock, admission: Admission): void {
  const intake = createBodyIntake({ clock, ...limits });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) => {
    checkEncoding(request.headers['content-encoding']);
    checkCharset(request.headers['content-type']);
    const { access } = request.routeOptions.config;
    const maxBytes = access !== undefined && takesSmallBodiesOnly(access) ? maxAnonymousBodyBytes : limits.bodyBytes;
    const length = request.headers['content-length'];
    const body = await intake.read(networkOf(request.ip), payload, {
      contentLength: length === undefined ? undefined : Number(length),
      maxBytes,
      inTurn: (bytes, read) => admission.bodyArrived(request, bytes, read),
    });
    if (access === undefined) return undefined;
    if (body.length > maxAnonymousBodyBytes) await admission.judgeUnparsed(request, access, body);
    return parseJsonBody(body, limits.json);
  });
}

/** Every route declares its access, checks the Host header if browsers call it, is in the route table, and reports when its handler has ended. */
function wrapRoutes(
  app: FastifyInstance,
  routeTable: RouteTable,
  admission: Admission,
  checkHost: (request: FastifyRequest) => void,
): void {
  app.addHook('onRoute', (route: RouteOptions) => {
    if (route.config?.access === undefined) throw new Error(`The route ${route.url} declares no access.`);
    // A fallback route matches unknown paths, so it does not make a path a known one.
    if (route.config.isFallback !== true) routeTable.add([route.method].flat(), route.url);
    if (route.config.access.kind === 'cabinet' || route.config.isForBrowsers === true) {
      route.onRequest = [route.onRequest ?? []].flat();
      route.onRequest.push(async (request) => checkHost(request));
    }
    const { handler } = route;
    route.handler = async function (request, reply) {
      try {
        // A handler that returned and sent nothing is a success without fields. An answer that was sent in chunks and cut counts as sent.
        return (await handler.call(this, request, reply)) ?? (reply.sent || factsOf(request).errorCode !== undefined ? reply : {});
      } finally {
        admission.workEnded(request);
      }
    };
  });
}

const noDemo: Demo = {};

/** Health, metrics, the API document and the cabinet's files. */
function registerOwnRoutes(
  app: FastifyInstance,
  {
    basePath,
    publicUrl,
    logger,
    metrics,
    readiness,
    apiReference = 'public',
    demo = () => noDemo,
    cabinetDirectory: directory,
  }: HttpServerOptions,
  { refuseUnknown }: RouteTable,
  refuseStopping: () => void,
): () => Promise<ApiDocument> {
  const describe = noteRoutes(app, basePath);
  app.register(
    async (scope) => {
      registerOperationRoutes(scope, { metrics, readiness, refuseStopping });
      const read = (file: DocumentFile) => packagedDocument(file, basePath);
      registerDocsPage(scope, { basePath, publicUrl, read, demo, access: apiReference === 'public' ? open : signedIn });
      registerCabinetFiles(scope, { basePath, logger, refuseUnknown, directory });
    },
    { prefix: basePath },
  );
  return describe;
}

async function listen(app: FastifyInstance, { host, port, tls, basePath }: HttpServerOptions): Promise<{ url: string; port: number }> {
  // For "localhost" Fastify opens a second server, without the handlers of `connections`.
  await app.listen({ host: host === 'localhost' ? '127.0.0.1' : host, port });
  const address = app.server.address();
  const listening = typeof address === 'object' && address !== null ? address.port : port;
  return { url: `${tls === undefined ? 'http' : 'https'}://${hostInUrl(host)}:${listening}${basePath}`, port: listening };
}
