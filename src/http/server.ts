// The HTTP server: everything around a route's own work. A request passes, in this order: overload check, JSON body,
// access [D8], schema, handler, envelope [D4 to D7], log line. It knows no slice; slices register their routes on it.
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
import type { Logger } from '../kernel/logger.ts';
import { networkOf } from '../kernel/network-of.ts';
import type { Random } from '../kernel/random.ts';
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
import { factsOf } from './request-facts.ts';
import { logRequest } from './request-log.ts';
import { createRouteTable, type RouteTable } from './route-table.ts';
import { createUnauthenticatedConnections } from './unauthenticated-connections.ts';
import { createUpgrades, type UpgradeHandler, type Upgrades, type UpgradesDeps } from './upgrades.ts';
import { createValidatorCompiler } from './validation.ts';
import { optionalViewerOf } from './viewer.ts';

export interface HttpServerOptions extends AccessOptions {
  host: string;
  port: number;
  /** Begins with a slash and does not end with one, or is empty. */
  basePath: string;
  /** Further names by which browsers may call it, besides `host`, loopback and the public URL's. */
  hosts?: readonly string[] | undefined;
  /** PEM texts; with them the server speaks HTTPS only. */
  tls?: { cert: string; key: string } | undefined;
  logger: Logger;
  clock: Clock;
  random: Random;
  metrics: Metrics;
  /** Calls back with each device that loses the right to connect, as `findDevice` knows it from then on. */
  onCutOff: UpgradesDeps['onCutOff'];
  /** For /health/ready: what works; it throws when nothing does. */
  readiness: () => Promise<Readiness>;
  /** CIDR ranges of the proxies whose X-Forwarded-For counts. */
  trustedProxies?: readonly string[];
  limits?: Partial<HttpLimits>;
  /** Who may read /docs and /openapi.json: every caller, or signed-in users of the cabinet. */
  apiReference?: 'public' | 'cabinet';
  /** A known user was answered 403: which call they may not make. */
  onForbidden?:
    | ((forbidden: { actor: string; userId?: string | undefined; merchantId?: string | undefined; call: string }) => void)
    | undefined;
  /** What the reference page fills in; only a sandbox has something. */
  demo?: () => Demo;
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
  /** The API document, made of the routes when it is first asked for. */
  describe(): Promise<ApiDocument>;
  /** Adds routes, with paths relative to the base path. Before `listen` only. */
  routes(register: (app: RouteApp) => void): void;
  /** Hands over WebSocket requests of devices that logged in, at a path relative to the base path. */
  onUpgrade(path: string, handler: UpgradeHandler): void;
  listen(): Promise<{ url: string; port: number }>;
  /** Connections from now on see this certificate; those that stand go on. */
  renewCertificate(pair: { cert: string; key: string }): void;
  countConnections(): Promise<number>;
  /**
   * Announces that this instance is about to stop, and serves all the same: `ready` says 503 and every answer ends its connection.
   * After that time the listener is closed, and what came in before is still served for a moment. Nothing happens if the time is 0.
   */
  drain(announcedMs: number): Promise<void>;
  /** Accepts nothing new, lets what is under way end within the bound, then cuts what is left. */
  stop(graceMs: number): Promise<void>;
}

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { basePath } = options;
  const limits = { ...defaultLimits, ...options.limits };
  let phase: 'serving' | 'leaving' | 'stopping' = 'serving';
  let isLast = false;
  const whyNot = () => (phase === 'stopping' ? stopping() : undefined);

  const unauthenticated = createUnauthenticatedConnections({
    perAddress: limits.newcomersPerAddress,
    inAll: limits.connections,
    trustedProxies: options.trustedProxies ?? [],
  });
  const admission = createAdmission({ ...options, limits, unauthenticated, whyNot });
  const connections = createConnections(options.clock, (error) => noteUnreadable(options, error));
  const upgrades = createUpgrades({
    authenticate: createUpgradeLogin(options.findDevice),
    onCutOff: options.onCutOff,
    whyNot,
    refuse: connections.refuse,
    failed: (error) => options.logger.error({ err: error }, 'the login of a device could not be judged'),
    loggedIn: unauthenticated.loggedIn,
  });
  const routeTable = createRouteTable(basePath);

  const app = createApp(options, limits, { admission, connections, upgrades });
  unauthenticated.attach(app.server);
  app.setNotFoundHandler(routeTable.refuseUnknown);
  readJsonBodies(app, limits, options.clock, admission);
  wrapRoutes(app, routeTable, admission, createHostCheck(options));
  admission.attach(app);
  answerInEnvelope(app, () => isLast);
  const readiness = () => (phase === 'serving' ? options.readiness() : Promise.reject(stopping()));
  const describe = registerOwnRoutes(app, options, routeTable, readiness);

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
      await closed;
    },
  };
}

/**
 * Before the listener closes, a proxy may keep its connections for this long, so that it makes no new ones then: one that the system has
 * taken in and this process has not would be reset with its request. Seen: 2 of 5,000 POSTs on a busy machine.
 */
const beforeCloseMs = 1_000;

/** A proxy that connected just before the listener closed has this long to bring its request. */
const lastArrivalsMs = 1_000;

/**
 * Only the listener: what `close` of an HTTP server ends besides, idle connections, may have a request on its way that would get no answer.
 * Called by a timer, right after the loop has taken in every connection that was waiting; one that is not yet taken in would be reset.
 */
function closeListener(app: FastifyInstance): void {
  TcpServer.prototype.close.call(app.server);
}

/** 503 instead of 429 [D57]: a proxy in front takes it as a reason to try another instance. */
function stopping(): GatewayError {
  return new GatewayError('Too_Many_Requests', 'The gateway is stopping.', { httpStatus: 503, retryAfterS: 1 });
}

function noteUnreadable({ logger, metrics }: HttpServerOptions, { errorName, httpStatus }: GatewayError): void {
  const errorCode = errorCodes[errorName].code;
  metrics.observeRequest('', 'unreadable', errorCode, 0);
  logger.info({ httpStatus, errorCode }, 'unreadable request');
}

interface AppParts {
  admission: Admission;
  connections: Connections;
  upgrades: Upgrades;
}

/** Fastify as it is used here: what it would do by itself with odd requests, errors and connections is decided in this room. */
function createApp(options: HttpServerOptions, limits: HttpLimits, { admission, connections, upgrades }: AppParts): FastifyInstance {
  const { logger, random, tls, trustedProxies } = options;
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
    trustProxy: trustedProxies?.length ? [...trustedProxies] : false,
    routerOptions: { caseSensitive: false, ignoreTrailingSlash: true, maxParamLength: 200 },
    clientErrorHandler: connections.clientError,
    frameworkErrors: (error, request, reply) => {
      answerFailure(logger, error, request, reply);
      reply.raw.once('close', () => logRequest(logger, request, reply, 0));
    },
    ...(tls === undefined ? { http: nodeOptions } : { https: { ...nodeOptions, ...tls, handshakeTimeout: limits.headersTimeoutMs } }),
  }) as unknown as FastifyInstance;
  connections.attach(app.server, limits.stalledAnswerMs);
  app.server.on('upgrade', upgrades.upgrade);
  app.server.maxConnections = limits.connections;
  app.setValidatorCompiler(createValidatorCompiler());
  app.setErrorHandler((error, request, reply) => {
    admission.workEnded(request);
    answerFailure(logger, error, request, reply);
    noteForbidden(options, error, request);
  });
  return app;
}

/** A question for the password is no refusal. */
function noteForbidden({ onForbidden }: HttpServerOptions, error: unknown, request: FastifyRequest): void {
  const viewer = optionalViewerOf(request);
  if (onForbidden === undefined || viewer === undefined || !(error instanceof GatewayError) || error.httpStatus !== 403) return;
  if (error.fields !== undefined && ('needsConfirmation' in error.fields || 'needsTotp' in error.fields)) return;
  const { access } = request.routeOptions.config;
  onForbidden({ ...viewer, call: access?.kind === 'cabinet' ? access.call : request.method });
}

/** Nothing large is parsed for a caller without a good credential [D160]. */
function readJsonBodies(app: FastifyInstance, limits: HttpLimits, clock: Clock, admission: Admission): void {
  const intake = createBodyIntake({ clock, ...limits });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) => {
    checkEncoding(request.headers['content-encoding']);
    checkCharset(request.headers['content-type']);
    const { access } = request.routeOptions.config;
    const maxBytes = access !== undefined && takesSmallBodiesOnly(access) ? maxAnonymousBodyBytes : limits.bodyBytes;
    const length = request.headers['content-length'];
    const body = await intake.read(networkOf(request.ip), payload, length === undefined ? undefined : Number(length), maxBytes);
    if (access === undefined) return undefined;
    if (body.length > maxAnonymousBodyBytes) await admission.judgeUnparsed(request, access, body);
    return parseJsonBody(body, limits.json);
  });
}

/** Every route says who may call it, is called by a name of ours if browsers call it, is known to the table, and tells when its work has ended. */
function wrapRoutes(
  app: FastifyInstance,
  routeTable: RouteTable,
  admission: Admission,
  checkHost: (request: FastifyRequest) => void,
): void {
  app.addHook('onRoute', (route: RouteOptions) => {
    if (route.config?.access === undefined) throw new Error(`The route ${route.url} declares no access.`);
    // What stands in for every unknown path under it says nothing about which paths exist.
    if (route.config.isFallback !== true) routeTable.add([route.method].flat(), route.url);
    if (route.config.access.kind === 'cabinet' || route.config.isForBrowsers === true) {
      route.onRequest = [route.onRequest ?? []].flat();
      route.onRequest.push(async (request) => checkHost(request));
    }
    const { handler } = route;
    route.handler = async function (request, reply) {
      try {
        // Nothing returned and nothing sent is a success without fields. What was sent in pieces and cut was sent.
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
  { basePath, logger, metrics, apiReference = 'public', demo = () => noDemo, cabinetDirectory: directory }: HttpServerOptions,
  { refuseUnknown }: RouteTable,
  readiness: () => Promise<Readiness>,
): () => Promise<ApiDocument> {
  const describe = noteRoutes(app, basePath);
  app.register(
    async (scope) => {
      registerOperationRoutes(scope, { metrics, readiness });
      registerDocsPage(scope, { basePath, describe, demo, access: apiReference === 'public' ? open : signedIn });
      registerCabinetFiles(scope, { basePath, logger, refuseUnknown, directory });
    },
    { prefix: basePath },
  );
  return describe;
}

async function listen(app: FastifyInstance, { host, port, tls, basePath }: HttpServerOptions): Promise<{ url: string; port: number }> {
  // For "localhost" Fastify opens a second server, which would lack what `connections` does.
  await app.listen({ host: host === 'localhost' ? '127.0.0.1' : host, port });
  const address = app.server.address();
  const listening = typeof address === 'object' && address !== null ? address.port : port;
  const name = host.includes(':') ? `[${host}]` : host;
  return { url: `${tls === undefined ? 'http' : 'https'}://${name}:${listening}${basePath}`, port: listening };
}
