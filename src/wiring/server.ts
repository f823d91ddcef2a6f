// The HTTP server of this gateway: limits from the settings, authentication from the rooms, and the routes of all rooms.
import type { PlaygroundPort } from '../cabinet/playground/port.ts';
import { registerCabinetRoutes } from '../cabinet/routes.ts';
import type { DeveloperFacts } from '../cabinet/setup/developer-routes.ts';
import { registerCardRoutes } from '../cards/routes.ts';
import type { Shared } from '../database/shared-deps.ts';
import { registerBrokerRoutes } from '../devices/broker-routes.ts';
import { registerDeviceRoutes } from '../devices/routes.ts';
import { registerFiscalRoutes } from '../fiscal/routes.ts';
import { createTokenCheck } from '../http/authentication.ts';
import type { Metrics } from '../http/metrics.ts';
import type { Readiness } from '../http/operation-routes.ts';
import { createHttpServer, type HttpServer, type RouteApp } from '../http/server.ts';
import { registerInvoiceRoutes } from '../invoices/routes.ts';
import { GatewayError } from '../kernel/error-codes.ts';
import { registerLedgerRoutes } from '../ledger/routes.ts';
import { trustedProxiesOf } from '../setting-dangers.ts';
import type { Config } from '../settings.ts';
import { magicAmounts } from '../virtual/mishaps/magic-amounts.ts';
import type { Certificate } from './certificate.ts';
import { type FaultPort, watchFaultHeader } from './fault-header.ts';
import type { Rooms } from './rooms.ts';
import type { Traces } from './traces/traces.ts';
import { version } from './version.ts';

/** Parts that only a sandbox has. */
export interface SandboxParts {
  demo: Omit<DeveloperFacts, 'magicAmounts'>;
  playground: PlaygroundPort | undefined;
  faults?: FaultPort;
}

interface Deps {
  config: Config;
  shared: Shared;
  rooms: Rooms;
  metrics: Metrics;
  certificate: Certificate | undefined;
  traces: Traces | undefined;
  /** Set later by the sandbox. */
  sandbox: SandboxParts;
}

export function createServer(deps: Deps): HttpServer {
  const { config, shared, rooms, metrics, certificate, traces } = deps;
  const { access, devices, people, loginFailed, countedAudit, keyUses } = rooms;
  const { builtInQueue } = rooms.channels;
  const server = createHttpServer({
    ...shared,
    host: config.host,
    port: config.port,
    basePath: config.basePath,
    tls: certificate?.pair,
    metrics,
    rateLimitPerS: config.rateLimit,
    merchantRatePerS: config.merchantRate ?? 5 * config.rateLimit,
    trustedProxies: trustedProxiesOf(config),
    limits: {
      requestsInFlight: config.places,
      merchantSharePercent: config.merchantShare,
      connections: config.connections,
      unauthenticatedPerAddress: config.connectionsPerAddress,
      bodiesPerAddress: config.bodiesPerAddress,
      bufferedBytes: config.bodyBufferMb * 1024 * 1024,
    },
    findCaller: access.findCaller,
    onKeyUsed: keyUses.note,
    findDevice: devices.checkSecret,
    onCutOff: devices.onCutOff,
    isAdminToken: createTokenCheck(config.adminToken),
    isMetricsToken: createTokenCheck(config.metricsToken),
    onFailedLogin: loginFailed,
    onForbidden: ({ actor, merchantId, userId, call }) =>
      countedAudit.note({ actor, action: 'access.refuse', subject: userId ?? actor, merchantId, about: call }),
    findSession: people.findSession,
    publicUrl: config.publicUrl,
    hosts: config.hosts,
    apiReference: config.apiReference,
    demo: () => deps.sandbox.demo,
    readiness: () => readiness(deps),
  });
  traces?.watchRequests(server.app);
  if (config.mode === 'sandbox') watchFaultHeader(server.app, () => deps.sandbox.faults);
  if (builtInQueue) server.onUpgrade('/queue', (upgrade) => builtInQueue.handleUpgrade(upgrade));
  server.routes((app) => registerRoutes(app, deps));
  return server;
}

function registerRoutes(app: RouteApp, { config, shared, rooms, sandbox }: Deps): void {
  const { access, callbacks, cards, devices, events, fiscal, invoices, ledger, link, people } = rooms;
  registerDeviceRoutes(app, { ...shared, devices, link });
  registerCardRoutes(app, cards);
  registerInvoiceRoutes(app, { invoices, invoiceAuth: config.invoiceAuth });
  registerFiscalRoutes(app, fiscal);
  registerLedgerRoutes(app, { database: shared.database, ledger });
  // Only an external broker calls these.
  registerBrokerRoutes(app, {
    devices,
    isRefused: rooms.floods?.isRefused,
    tokens: config.queueUrl === undefined ? [] : config.brokerToken,
  });
  registerCabinetRoutes(app, {
    ...shared,
    access,
    devices,
    callbacks,
    link,
    ledger,
    cards,
    cancelInvoice: invoices.cancelInvoice,
    qrOf: invoices.qrOf,
    events,
    fiscal,
    dryRuns: rooms.dryRuns,
    developerFacts: () => ({
      ...sandbox.demo,
      magicAmounts: magicAmounts.map(({ ending, magic, kind, meaning }) => ({ amount: `x.${ending}`, fault: magic, kind, meaning })),
    }),
    playground: () => sandbox.playground,
    rotateQrSecret: invoices.rotateQrSecret,
    people,
    basePath: config.basePath,
    publicUrl: config.publicUrl,
    isSandbox: config.mode === 'sandbox',
    version: version(),
    banks: config.banks,
    exportBounds: { maxAtOnce: config.exports, maxRows: config.exportRows },
  });
}

/** For /health/ready. QR Mode needs only the database; the other modes need at least one channel to the devices. */
async function readiness({ shared: { database }, rooms: { link } }: Deps): Promise<Readiness> {
  try {
    await database.checkWrite();
  } catch (cause) {
    throw new GatewayError('Error_Connection_Database', 'The database cannot be reached or cannot be written.', { cause });
  }
  const channels = link.stats().connected;
  const states = Object.values(channels);
  const withDevices = states.every(Boolean) ? 'up' : states.some(Boolean) ? 'partly' : 'down';
  return { modes: { POS: withDevices, QR: 'up', Fiscal: withDevices }, channels };
}
