// The composition root: config -> database -> link -> slices -> edges, and the order of start and stop in one place.
//
// Stop: nothing new is accepted; calls in flight have the grace to finish; then the link lets go of those that still wait for a device
// (they answer 3, their outcome stays open); then leases and the instance's heartbeat are released, so that others take over at once.
import { createAccess } from './access/access.ts';
import { createFailedLogins } from './access/failed-logins.ts';
import { createPeople } from './access/people/people.ts';
import { createEventHub } from './cabinet/events/event-hub.ts';
import type { PlaygroundPort } from './cabinet/playground/port.ts';
import { registerCabinetRoutes } from './cabinet/routes.ts';
import type { DeveloperFacts } from './cabinet/setup/developer-routes.ts';
import { createCallbacks } from './callbacks/callbacks.ts';
import { createCards } from './cards/cards.ts';
import { registerCardRoutes } from './cards/routes.ts';
import { openCertificate } from './certificate.ts';
import { type Config, isMqttPlainOpen, trustedProxiesOf } from './config.ts';
import type { Database } from './database/database.ts';
import { checkDurability } from './database/durability.ts';
import { endOtherInstances, type Instance, type LivingInstance, livingInstances, startInstance } from './database/instances.ts';
import { openDatabase } from './database/open.ts';
import { defaultBounds } from './database/postgres/database.ts';
import { registerBrokerRoutes } from './devices/broker-routes.ts';
import { createDevices } from './devices/devices.ts';
import { createPresenceKeeper } from './devices/presence-keeper.ts';
import { registerDeviceRoutes } from './devices/routes.ts';
import { createFiscal } from './fiscal/fiscal.ts';
import { registerFiscalRoutes } from './fiscal/routes.ts';
import { addGauges } from './gauges.ts';
import { createTokenCheck } from './http/authentication.ts';
import { createMetrics } from './http/metrics.ts';
import { createHttpServer } from './http/server.ts';
import { createInvoices } from './invoices/invoices.ts';
import { registerInvoiceRoutes } from './invoices/routes.ts';
import { type Clock, sleep } from './kernel/clock.ts';
import { GatewayError } from './kernel/error-codes.ts';
import type { Logger } from './kernel/logger.ts';
import type { Random } from './kernel/random.ts';
import { StartRefused } from './kernel/start-refused.ts';
import { createLedger } from './ledger/ledger.ts';
import { registerLedgerRoutes } from './ledger/routes.ts';
import type { Channel } from './link/channel.ts';
import { EmbeddedBroker } from './link/channels/mqtt/embedded-broker.ts';
import { MqttChannel } from './link/channels/mqtt/mqtt.ts';
import { BuiltInQueue } from './link/channels/queue/built-in-queue.ts';
import { RabbitmqChannel } from './link/channels/queue/rabbitmq.ts';
import { createLink } from './link/link.ts';
import { createRemoval } from './removal/removal.ts';
import { version } from './version.ts';
import { magicAmounts } from './virtual/mishaps/magic-amounts.ts';

/** What the outside world gives: the real ones in main.ts, the simulation's in tests. */
export interface World {
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Ends this process at once, so that whoever watches over it starts a new one. */
  endProcess?: ((exitCode: number) => void) | undefined;
}

export interface Addresses {
  /** {base_url} as others should call it. */
  baseUrl: string;
  mqttUrl: string;
  /** The embedded broker's address without TLS, if it has one: for virtual devices in the sandbox, which know no certificate. */
  mqttPlainUrl: string | undefined;
  queueUrl: string;
}

/** Calls that wait for a device get this long to be answered with 3 after the grace. */
const lastWordsMs = 2_000;

type Demo = Omit<DeveloperFacts, 'magicAmounts'>;

export type Gateway = Awaited<ReturnType<typeof startGateway>>;

/** `opened` is called when the database is this process's to use, before anything else happens. */
export async function startGateway(config: Config, world: World, opened: () => void = () => {}) {
  const database = await openDatabase({
    url: config.databaseUrl,
    dataDir: config.dataDir,
    role: 'gateway',
    clock: world.clock,
    logger: world.logger,
    onLost(error) {
      world.logger.error({ err: error }, 'the database is lost to this process, which ends so that a new one can be started');
      world.endProcess?.(1);
    },
    bounds: { ...defaultBounds, poolSize: config.databaseConnections },
  });
  try {
    opened();
    const gateway = assemble(config, world, database);
    await gateway.start();
    return gateway;
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Every room, wired together and not yet started: what the API document is generated from as well. */
export function assemble(config: Config, world: World, database: Database) {
  const { clock, random, logger } = world;
  const instanceId = random.uuid();
  const shared = { database, clock, random, logger, instanceId };
  const metrics = createMetrics();
  let addresses: Addresses | undefined;
  let demo: Demo = {};
  let playground: PlaygroundPort | undefined;
  let instance: Instance | undefined;

  const access = createAccess(shared);
  const failedLogins = createFailedLogins(shared);
  const people = createPeople({
    ...shared,
    isSandbox: config.mode === 'sandbox',
    baseUrl: () => knownAddresses().baseUrl,
    onFailedLogin: failedLogins.note,
  });
  const devices = createDevices({ ...shared, banks: config.banks, addresses: () => knownAddresses() });
  const checkDevice = async (deviceId: string, secret: string) => (await devices.checkSecret(deviceId, secret)) !== undefined;

  const certificate =
    config.tlsCert === undefined || config.tlsKey === undefined
      ? undefined
      : openCertificate({ certFile: config.tlsCert, keyFile: config.tlsKey, clock, logger });

  const server = createHttpServer({
    host: config.host,
    port: config.port,
    basePath: config.basePath,
    tls: certificate?.pair,
    logger,
    clock,
    random,
    metrics,
    rateLimitPerS: config.rateLimit,
    trustedProxies: trustedProxiesOf(config),
    limits: {
      requestsInFlight: config.places,
      merchantSharePercent: config.merchantShare,
      connections: config.connections,
      newcomersPerAddress: config.connectionsPerAddress,
      bodiesPerAddress: config.bodiesPerAddress,
      bufferedBytes: config.bodyBufferMb * 1024 * 1024,
    },
    findCaller: access.findCaller,
    findDevice: devices.checkSecret,
    isAdminToken: createTokenCheck(config.adminToken),
    isMetricsToken: createTokenCheck(config.metricsToken),
    onFailedLogin: failedLogins.note,
    findSession: people.findSession,
    publicUrl: config.publicUrl,
    whyNotReady,
  });

  const broker =
    config.mqttUrl === undefined
      ? new EmbeddedBroker({
          host: config.host,
          port: isMqttPlainOpen(config) ? config.mqttPort : undefined,
          secure: certificate && { port: config.mqttsPort, context: certificate.context },
          gatewayId: instanceId,
          clock,
          logger,
          limits: {
            connections: config.mqttConnections,
            withoutLogin: config.mqttNewcomers,
            withoutLoginPerAddress: config.mqttNewcomersPerAddress,
            loginWithinMs: config.mqttLoginS * 1000,
          },
          deviceLogins: config.deviceLogins,
          checkDevice,
        })
      : undefined;
  const mqtt: Channel = broker ?? new MqttChannel({ url: config.mqttUrl ?? '', gatewayId: instanceId, clock, random, logger });
  const builtInQueue = config.queueUrl === undefined ? new BuiltInQueue({ clock, logger, deviceLogins: config.deviceLogins }) : undefined;
  if (builtInQueue) server.onUpgrade('/queue', (upgrade) => builtInQueue.handleUpgrade(upgrade));
  const queue: Channel = builtInQueue ?? new RabbitmqChannel({ url: config.queueUrl ?? '', gatewayId: instanceId, clock, random, logger });
  const embedded = [...(config.mqttUrl === undefined ? ['MQTT broker'] : []), ...(config.queueUrl === undefined ? ['queue'] : [])];
  const link = createLink({ clock, random, logger, gatewayId: instanceId, channels: [mqtt, queue], deviceMessagesPerS: config.deviceRate });
  devices.onCutOff((deviceId) => link.disconnectDevice(deviceId));

  const callbacks = createCallbacks({
    ...shared,
    delaysS: config.callbackDelaysS,
    allow: config.callbackAllow,
    keepDays: config.keepDays,
  });
  const invoices = createInvoices({ ...shared, callbacks, scanGraceS: config.scanGraceS });
  const ledger = createLedger({ ...shared, link, joinersPerCommand: config.joiners });
  const cards = createCards({ ...shared, ledger, link, invoices, callbacks });
  const fiscal = createFiscal({ ...shared, ledger, callbacks });
  const presenceKeeper = createPresenceKeeper({ ...shared, link });
  const events = createEventHub({ ...shared, link });
  const removal = createRemoval({
    ...shared,
    keeping: { commandsDays: config.keepCommandsDays, invoicesDays: config.keepInvoicesDays, auditDays: config.keepAuditDays },
  });

  server.routes((app) => {
    registerDeviceRoutes(app, { ...shared, devices, link });
    registerCardRoutes(app, cards);
    registerInvoiceRoutes(app, { invoices, invoiceAuth: config.invoiceAuth });
    registerFiscalRoutes(app, fiscal);
    registerLedgerRoutes(app, { database, ledger });
    // Only an outside broker asks.
    registerBrokerRoutes(app, { devices, tokens: config.queueUrl === undefined ? [] : config.brokerToken });
    registerCabinetRoutes(app, {
      ...shared,
      access,
      devices,
      callbacks,
      link,
      ledger,
      cards,
      cancelUnpaidInvoice: invoices.cancelUnpaidInvoice,
      qrOf: invoices.qrOf,
      events,
      fiscal,
      developerFacts: () => ({
        ...demo,
        magicAmounts: magicAmounts.map(({ ending, kinds, meaning }) => ({ amount: `x.${ending}`, kinds, meaning })),
      }),
      playground: () => playground,
      rotateQrSecret: invoices.rotateQrSecret,
      people,
      basePath: config.basePath,
      publicUrl: config.publicUrl,
      isSandbox: config.mode === 'sandbox',
      version: version(),
      banks: config.banks,
    });
  });
  addGauges(metrics, { database, callbacks, link, ledger });

  function knownAddresses(): Addresses {
    if (!addresses) throw new GatewayError('Internal_error', 'The gateway is not listening yet.');
    return addresses;
  }

  async function whyNotReady(): Promise<string | undefined> {
    try {
      await database.ping();
    } catch (cause) {
      throw new GatewayError('Error_Connection_Database', 'The database cannot be reached.', { cause });
    }
    const down = Object.entries(link.stats().connected).filter(([, isConnected]) => !isConnected);
    return down.length === 0 ? undefined : `Not connected: ${down.map(([name]) => name).join(', ')}.`;
  }

  async function start(): Promise<void> {
    // A file has one gateway at a time: whoever is in the table was killed, and its commands are ours to settle now.
    if (database.engine === 'sqlite') await endOtherInstances(database.queries);
    // Shown to the others first: of two that start together and do not fit, neither overlooks the other.
    instance = await startInstance(shared, { id: instanceId, host: config.hostname, pid: config.pid, embedded: embedded.join(' and ') });
    const listening = await open().catch(async (error: unknown) => {
      await instance?.stop();
      throw error;
    });
    addresses = addressesOf(config, listening.url, broker);
    certificate?.watch(server.renewCertificate);
    ledger.start();
    callbacks.start();
    presenceKeeper.start();
    removal.start();
    logger.info({ ...addresses, instanceId, engine: database.engine, embedded }, 'the gateway is ready');
  }

  async function open(): Promise<{ url: string }> {
    if (config.mode === 'serve') await refuseDangers();
    await invoices.start();
    await link.start();
    return server.listen();
  }

  /** What the environment alone cannot tell: the database's promises, and who else is using it. */
  async function refuseDangers(): Promise<void> {
    const problems = await checkDurability(database);
    if (problems.length > 0) throw new StartRefused(problems.join('\n'));
    const other = await livingNeighbour();
    if (!other) return;
    const who = `Another instance (process ${other.pid} on ${other.host})`;
    throw new StartRefused(
      embedded.length > 0
        ? `${who} uses this database, and the ${embedded.join(' and ')} of this one would be embedded, so devices of one could not be reached by the other: set TILLGATE_MQTT_URL and TILLGATE_QUEUE_URL on every instance.`
        : `${who} uses this database with its own ${other.embedded}: give it TILLGATE_MQTT_URL and TILLGATE_QUEUE_URL first.`,
    );
  }

  /** One that does not fit together with this one. Whether it lives is told by its next heartbeat: one that was killed leaves a fresh row. */
  async function livingNeighbour(): Promise<LivingInstance | undefined> {
    const firstBeats = new Map<string, number>();
    for (;;) {
      const living = await livingInstances(database.queries);
      const others = living.filter((one) => one.id !== instanceId && (embedded.length > 0 || one.embedded !== ''));
      const beating = others.find(({ id, heartbeatAt }) => (firstBeats.get(id) ?? heartbeatAt) !== heartbeatAt);
      if (beating || others.length === 0) return beating;
      for (const { id, host, pid, heartbeatAt } of others) {
        if (firstBeats.has(id)) continue;
        firstBeats.set(id, heartbeatAt);
        logger.warn({ host, pid }, 'another instance used this database a moment ago; waiting to see whether it still lives');
      }
      await sleep(clock, 250);
    }
  }

  async function stop(): Promise<void> {
    const graceMs = config.stopGraceS * 1000;
    const cancelLetGo = clock.after(graceMs, () => void link.stop());
    events.stop();
    await server.stop(graceMs + lastWordsMs);
    cancelLetGo();
    certificate?.stop();
    devices.stop();
    access.stop();
    people.stop();
    for (const part of [failedLogins, removal, presenceKeeper, link, ledger, callbacks, invoices, instance]) {
      // The database may be away: what cannot be written now is found by the others when the leases run out.
      await part?.stop().catch((error: unknown) => logger.warn({ err: error }, 'a part of the gateway could not say goodbye'));
    }
    await database.close();
    logger.info({ instanceId }, 'the gateway has stopped');
  }

  /** What the sandbox has to try things with. */
  const setDemo = (given: Demo) => {
    demo = given;
  };

  /** The sandbox's, which stands above this; a real gateway has none. */
  const setPlayground = (given: PlaygroundPort) => {
    playground = given;
  };

  return {
    server,
    database,
    access,
    people,
    devices,
    link,
    ledger,
    callbacks,
    invoices,
    metrics,
    start,
    stop,
    setDemo,
    setPlayground,
    events,
    addresses: knownAddresses,
  };
}

/** What devices are told: the configured public addresses, or those that this process listens on, with TLS where there is the choice. */
function addressesOf(config: Config, listeningUrl: string, broker: EmbeddedBroker | undefined): Addresses {
  const baseUrl = config.publicUrl ?? listeningUrl;
  const { hostname } = new URL(baseUrl);
  const mqttPlainUrl = broker?.port === undefined ? undefined : `mqtt://${hostname}:${broker.port}`;
  const mqttsUrl = broker?.securePort === undefined ? undefined : `mqtts://${hostname}:${broker.securePort}`;
  return {
    baseUrl,
    mqttUrl: config.mqttPublicUrl ?? withoutLogin(config.mqttUrl) ?? mqttsUrl ?? mqttPlainUrl ?? '',
    mqttPlainUrl,
    queueUrl: config.queuePublicUrl ?? withoutLogin(config.queueUrl) ?? `${baseUrl.replace(/^http/, 'ws')}/queue`,
  };
}

function withoutLogin(address: string | undefined): string | undefined {
  if (address === undefined) return undefined;
  const url = new URL(address);
  url.username = '';
  url.password = '';
  return url.href;
}
