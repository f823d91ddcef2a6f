// The composition root: settings -> database -> rooms -> server, and the order of start and stop in one place. How the rooms are put
// together is in wiring/.
//
// Drain: `ready` says no and everything is served for some seconds more; only a signal asks for it. Then
// stop: nothing new is accepted; calls in flight have the grace to finish; then the link lets go of those that still wait for a device
// (they answer 3, their outcome stays open); then leases and the instance's heartbeat are released, so that others take over at once.
import type { PlaygroundPort } from './cabinet/playground/port.ts';
import type { Database } from './database/database.ts';
import { requireCreatedBy } from './database/facts.ts';
import { endOtherInstances, type Instance, startInstance } from './database/instances.ts';
import { openDatabase } from './database/open.ts';
import { createOutageLog } from './database/outage-log.ts';
import { defaultBounds } from './database/postgres/database.ts';
import type { Shared } from './database/shared-deps.ts';
import { createMetrics } from './http/metrics.ts';
import type { HttpServer } from './http/server.ts';
import { GatewayError } from './kernel/error-codes.ts';
import type { World } from './kernel/world.ts';
import type { Config } from './settings.ts';
import { type Addresses, addressesOf } from './wiring/addresses.ts';
import { openCertificate } from './wiring/certificate.ts';
import { refuseDangers } from './wiring/dangers.ts';
import type { FaultPort } from './wiring/fault-header.ts';
import { addGauges } from './wiring/gauges.ts';
import { createStatusReader } from './wiring/instance-status.ts';
import { createRooms, type Rooms } from './wiring/rooms.ts';
import { createServer, type SandboxParts } from './wiring/server.ts';
import type { Traces } from './wiring/traces/traces.ts';
import { version } from './wiring/version.ts';

/** What the outside world gives: the real ones in main.ts, the simulation's in tests. */
export interface ProcessWorld extends World {
  /** Ends this process at once, so that its supervisor starts a new one. */
  endProcess?: ((exitCode: number) => void) | undefined;
}

/** Calls that wait for a device get this long to be answered with 3 after the grace. */
const lastAnswersMs = 2_000;

export type Gateway = Awaited<ReturnType<typeof startGateway>>;

/** Loaded only where a receiver is named: without one, traces cost nothing. */
async function openTraces(config: Config, world: World): Promise<Traces | undefined> {
  const { tracesUrl: url, tracesToken: token, tracesPercent: recordedPercent, hostname, pid } = config;
  if (url === undefined) return undefined;
  const { createTraces } = await import('./wiring/traces/traces.ts');
  const engine = config.databaseUrl === undefined ? 'sqlite' : 'postgres';
  return createTraces({ ...world, url, token, recordedPercent, engine, hostname, pid, version: version() });
}

/** `opened` is called when the database is this process's to use, before anything else happens. */
export async function startGateway(config: Config, outside: ProcessWorld, opened: () => void = () => {}) {
  const outages = createOutageLog(outside);
  const world = { ...outside, logger: outages.logger };
  const traces = await openTraces(config, world);
  const database = await openDatabase({
    url: config.databaseUrl,
    dataDir: config.dataDir,
    role: 'gateway',
    clock: world.clock,
    logger: world.logger,
    onLost(error) {
      // Not held back as a line about an outage: it is the last one.
      outside.logger.error({ err: error }, 'the database is lost to this process, which ends so that a new one can be started');
      world.endProcess?.(1);
    },
    bounds: { ...defaultBounds, poolSize: config.databaseConnections },
    watchStatement: traces?.watchStatement,
  });
  try {
    outages.watch(database.checkWrite);
    await requireCreatedBy(database.queries, config.mode);
    opened();
    const gateway = assemble(config, world, database, traces, outages.stop);
    await gateway.start();
    return gateway;
  } catch (error) {
    outages.stop();
    await database.close();
    throw error;
  }
}

/** Every room, wired together and not yet started: what the API document is generated from as well. */
export function assemble(config: Config, { clock, random, logger }: World, database: Database, traces?: Traces, onStopped = () => {}) {
  const shared: Shared = { database, clock, random, logger, instanceId: random.uuid(), traceparent: traces?.current };
  const metrics = createMetrics();
  const sandbox: SandboxParts = { demo: {}, playground: undefined };
  let known: Addresses | undefined;
  let instance: Instance | undefined;

  function addresses(): Addresses {
    if (!known) throw new GatewayError('Internal_error', 'The gateway is not listening yet.');
    return known;
  }

  const { tlsCert: certFile, tlsKey: keyFile } = config;
  const certificate = certFile === undefined || keyFile === undefined ? undefined : openCertificate({ certFile, keyFile, clock, logger });
  const rooms = createRooms({ config, shared, certificate, traces, addresses });
  const server = createServer({ config, shared, rooms, metrics, certificate, traces, sandbox });
  addGauges(metrics, { clock, database, certificate, ...rooms });
  const { embedded, embeddedBroker } = rooms.channels;

  async function start(): Promise<void> {
    // A file has one gateway at a time: a gateway in the table was killed, and this one settles its commands.
    if (database.engine === 'sqlite') await endOtherInstances(database.queries);
    // Shown to the others first: of two that start together and do not fit, neither overlooks the other.
    const { instanceId: id } = shared;
    const { hostname: host, pid } = config;
    const readStatus = createStatusReader({ database, server, ...rooms });
    instance = await startInstance({ ...shared, readStatus }, { id, host, pid, embedded: embedded.join(' and '), version: version() });
    const listening = await open(config, shared, rooms, server).catch(async (error: unknown) => {
      await instance?.stop();
      throw error;
    });
    known = addressesOf(config, listening.url, embeddedBroker);
    certificate?.watch(server.renewCertificate);
    for (const room of [rooms.ledger, rooms.callbacks, rooms.presenceKeeper, rooms.removal, rooms.hourKeeper, rooms.searchKeeper])
      room.start();
    logger.info({ ...known, instanceId: id, engine: database.engine, embedded }, 'the gateway is ready');
    void rooms.checkBrokerAdmins();
  }

  async function drainAndStop(): Promise<void> {
    if (config.drainS > 0) logger.info({ drainS: config.drainS }, 'the gateway is about to stop and still serves');
    await server.drain(config.drainS * 1000);
    await stop();
  }

  async function stop(): Promise<void> {
    const { access, callbacks, devices, events, countedAudit, hourKeeper, invoices, ledger, link, people, presenceKeeper, removal } = rooms;
    const graceMs = config.stopGraceS * 1000;
    const cancelLetGo = clock.after(graceMs, () => void link.stop());
    events.stop();
    await server.stop(graceMs + lastAnswersMs);
    cancelLetGo();
    for (const part of [certificate, devices, rooms.rabbitmqConnections, access, people]) part?.stop();
    for (const part of [
      countedAudit,
      rooms.keyUses,
      removal,
      hourKeeper,
      rooms.searchKeeper,
      presenceKeeper,
      link,
      ledger,
      callbacks,
      invoices,
      instance,
    ]) {
      // The database may be away: what cannot be written now is found by the others when the leases run out.
      await part?.stop().catch((error: unknown) => logger.warn({ err: error }, 'a part of the gateway could not say goodbye'));
    }
    onStopped();
    await database.close();
    await traces?.stop();
    logger.info({ instanceId: shared.instanceId }, 'the gateway has stopped');
  }

  return {
    ...rooms,
    server,
    database,
    metrics,
    start,
    stop,
    drainAndStop,
    addresses,
    setDemo(given: SandboxParts['demo']) {
      sandbox.demo = given;
    },
    /** The sandbox's, which stands above this; a real gateway has none. */
    setPlayground(given: PlaygroundPort) {
      sandbox.playground = given;
    },
    /** Of the virtual devices in this process. */
    setFaults(given: FaultPort) {
      sandbox.faults = given;
    },
  };
}

/** Devices are reached before callers are let in. */
async function open(config: Config, shared: Shared, { invoices, link, channels }: Rooms, server: HttpServer): Promise<{ url: string }> {
  if (config.mode === 'serve') await refuseDangers({ ...shared, embedded: channels.embedded });
  await invoices.start();
  await link.start();
  return server.listen();
}
