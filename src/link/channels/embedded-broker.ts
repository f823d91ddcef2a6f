// The MQTT broker inside the gateway, for one instance with nothing installed. Devices log in with their secret and reach their own topics alone;
// the gateway itself is no MQTT client here but writes to the device's connection directly. Nothing is kept: no sessions, no retained messages.
// Strangers reach its ports: connections, logins, packets, what is waiting to be read and what is logged about it are all bounded [D62].
import type { EventEmitter } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type SecureContext, TLSSocket } from 'node:tls';
import { Aedes, type Client } from 'aedes';
import type { Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import { networkOf } from '../../kernel/network-of.ts';
import { restrainLogger } from '../../kernel/restrained-logger.ts';
import { type Channel, ChannelDown, type ChannelListener, DeviceNotOnChannel, SendUnclear } from '../channel.ts';
import { isDeviceId, isGatewayId } from '../messages.ts';
import { maxMessageBytes, mqttTopics } from '../protocol.ts';
import { createConnectionGate, defaultGateLimits, type GateLimits, type Place } from './connection-gate.ts';
import { holdSocket } from './held-socket.ts';
import { createLoginLimit } from './login-limit.ts';
import { deliverMqttMessage } from './mqtt-inbox.ts';

export interface EmbeddedBrokerOptions {
  host: string;
  /** For MQTT without encryption. 0: any free one; see `port`. undefined: none. */
  port: number | undefined;
  /** For MQTT over TLS; `context` is asked for each connection, so that a renewed certificate counts from the next one on. */
  secure?: { port: number; context(): SecureContext } | undefined;
  gatewayId: string;
  clock: Clock;
  logger: Logger;
  limits?: Partial<GateLimits>;
  /** Logins of one device at once; then one a second. */
  deviceLogins?: number;
  checkDevice(deviceId: string, secret: string): Promise<boolean>;
}

export interface EmbeddedBroker extends Channel {
  /** The ports that it listens on, once started. */
  readonly port: number | undefined;
  readonly securePort: number | undefined;
  disconnectDevice(deviceId: string): void;
}

/** The CONNACK codes of MQTT 3.1.1 that a device may get. */
const serverUnavailable = 3;
const badLogin = 4;
/** Somewhat too large a message is dropped and counted, far too large ends the connection. A login holds a short will at most. */
const packetLimits = { firstBytes: 64 * 1024, bytes: 2 * maxMessageBytes, controlBytes: 4 * 1024 };
/** A device that does not read is cut off instead of filling the memory. */
const drainWithinMs = 5_000;
const maxUnreadBytes = 4 * maxMessageBytes;
/** The protocol asks for QoS 1; of QoS 2 each message lies in memory until its handshake ends. */
const unfinishedMessages = 8;
const topicLevels = 8;

export function createEmbeddedBroker(options: EmbeddedBrokerOptions): EmbeddedBroker {
  const { gatewayId, clock, checkDevice } = options;
  // Most of what is to be said here, strangers can cause.
  const logger = restrainLogger(options.logger, clock);
  const limits = { ...defaultGateLimits, ...options.limits };
  const gate = createConnectionGate(clock, limits);
  const sockets = new Set<Socket>();
  const places = new WeakMap<object, Place>();
  const loginsOf = createLoginLimit(clock, options.deviceLogins);
  // Kept beside aedes's own list, which loses a client whose predecessor of the same id is still closing.
  const connected = new Map<string, Client>();
  const subscribed = new WeakSet<Client>();
  let listener: ChannelListener | undefined;
  let broker: Aedes | undefined;
  let servers: { plain?: Server; secure?: Server } = {};

  async function login(client: Client, username: string | undefined, password: Buffer | undefined): Promise<number> {
    // Client id = user: otherwise one device could end another's connection by taking its client id.
    if (!isDeviceId(username) || client.id !== username || password === undefined) return badLogin;
    try {
      if (!(await checkDevice(username, password.toString('utf8')))) return badLogin;
      if (loginsOf.take(username) === undefined) return 0;
      listener?.dropped('mqtt', 'over-budget', username);
      return serverUnavailable;
    } catch (error) {
      logger.error({ err: error, deviceId: username }, 'the login of a device could not be judged');
      return serverUnavailable;
    }
  }

  function mayPublish(deviceId: string, topic: string): boolean {
    if (topic === mqttTopics.presence(deviceId)) return true;
    const prefix = mqttTopics.answers(deviceId, '');
    return topic.startsWith(prefix) && isGatewayId(topic.slice(prefix.length));
  }

  function createBroker(): Promise<Aedes> {
    return Aedes.createBroker({
      id: gatewayId,
      drainTimeout: drainWithinMs,
      connectTimeout: limits.loginWithinMs,
      maxInflightInbound: unfinishedMessages,
      maxTopicLevels: topicLevels,
      preConnect(_client, packet, done) {
        // Whatever the device asks for, its session ends with its connection.
        packet.clean = true;
        done(null, true);
      },
      authenticate(client, username, password, done) {
        void login(client, username, password).then((returnCode) => {
          if (returnCode === 0) {
            places.get(client.conn)?.loggedIn();
            return done(null, true);
          }
          logger.warn({ clientId: shortened(client.id), returnCode }, 'a device was not let in');
          done(Object.assign(new Error('The login was refused.'), { returnCode }), null);
        });
      },
      authorizePublish(client, packet, done) {
        if (client === null || !mayPublish(client.id, packet.topic)) return done(new Error('This topic is not yours.'));
        // A closed client publishes only its will. `gone` says the same, and in the right order when the device is back already.
        if (client.closed && packet.topic === mqttTopics.presence(client.id))
          return done(new Error('The end of the connection was noticed.'));
        packet.retain = false;
        done();
      },
      authorizeSubscribe(client, subscription, done) {
        done(null, subscription.topic === mqttTopics.commands(client.id) ? subscription : null);
      },
      published(packet, client, done) {
        if (client && listener) {
          const payload = Buffer.isBuffer(packet.payload) ? packet.payload : Buffer.from(packet.payload);
          deliverMqttMessage(listener, gatewayId, { topic: packet.topic, payload, isRetained: false });
        }
        done();
      },
    });
  }

  function welcome(handle: Aedes['handle'], raw: Socket, context: SecureContext | undefined): void {
    const place = gate.enter(networkOf(raw.remoteAddress ?? ''), () => raw.destroy());
    if (place === undefined) {
      logger.warn({ connections: gate.connections }, 'the embedded broker has no room for another connection');
      raw.destroy();
      return;
    }
    sockets.add(raw);
    raw.on('close', () => {
      sockets.delete(raw);
      place.leave();
    });
    raw.on('error', () => raw.destroy());
    const socket = context === undefined ? raw : new TLSSocket(raw, { isServer: true, secureContext: context });
    places.set(socket, place);
    const client = handle(socket);
    // A handshake that fails ends the connection like everything else.
    socket.on('error', () => socket.destroy());
    holdSocket(socket, { clock, limits: packetLimits, cut: (why) => listener?.dropped('mqtt', why, connectedId(client)) });
  }

  /** Only a name that a login stands behind. */
  function connectedId(client: Client): string | undefined {
    return connected.get(client.id) === client ? client.id : undefined;
  }

  function watchClients(aedes: Aedes): void {
    aedes.on('client', (client) => {
      // A second connection replaces the first; the first one's end is told before the second one's presence.
      if (connected.has(client.id)) listener?.gone('mqtt', client.id);
      connected.set(client.id, client);
    });
    aedes.on('clientDisconnect', (client) => {
      if (connected.get(client.id) !== client) return;
      connected.delete(client.id);
      listener?.gone('mqtt', client.id);
    });
    aedes.on('subscribe', (subscriptions, client) => {
      if (client && subscriptions.some(({ topic, qos }) => topic === mqttTopics.commands(client.id) && (qos as number) < 128))
        subscribed.add(client);
    });
    aedes.on('unsubscribe', (topics, client) => {
      if (client && topics.includes(mqttTopics.commands(client.id))) subscribed.delete(client);
    });
    // aedes tells its own troubles as an event that its types do not know; unheard it would end the process.
    (aedes as EventEmitter).on('error', (error: unknown) => logger.error({ err: error }, 'the embedded broker has trouble'));
    aedes.on('clientError', (client, error) => logger.debug({ err: error, clientId: shortened(client.id) }, 'a device connection failed'));
    aedes.on('connectionError', (_client, error) => logger.debug({ err: error }, 'a connection that never logged in failed'));
  }

  return {
    name: 'mqtt',
    tellsAbsence: true,
    get isConnected() {
      return listener !== undefined;
    },
    get port() {
      return portOf(servers.plain);
    },
    get securePort() {
      return portOf(servers.secure);
    },

    async start(given) {
      broker = await createBroker();
      watchClients(broker);
      const { handle } = broker;
      const { port, secure } = options;
      try {
        if (port !== undefined) servers.plain = await listen(port, (socket) => welcome(handle, socket, undefined));
        if (secure !== undefined) servers.secure = await listen(secure.port, (socket) => welcome(handle, socket, secure.context()));
      } catch (error) {
        await close();
        throw error;
      }
      listener = given;
      given.up('mqtt');
    },

    async stop() {
      listener = undefined;
      await close();
    },

    async send(deviceId, command) {
      if (listener === undefined) throw new ChannelDown('mqtt');
      const client = connected.get(deviceId);
      if (client === undefined || client.closed || !subscribed.has(client)) throw new DeviceNotOnChannel('mqtt');
      // It hangs, and what is sent now would come at some other time.
      if (client.conn.writableLength > maxUnreadBytes) throw new DeviceNotOnChannel('mqtt');
      const payload = Buffer.from(JSON.stringify(command));
      await new Promise<void>((resolve) => {
        client.publish({ cmd: 'publish', topic: mqttTopics.commands(deviceId), payload, qos: 0, retain: false, dup: false }, () =>
          resolve(),
        );
      });
      if (client.closed) throw new SendUnclear('mqtt');
    },

    disconnectDevice(deviceId) {
      connected.get(deviceId)?.close();
    },
  };

  async function listen(port: number, accept: (socket: Socket) => void): Promise<Server> {
    // Without no-delay an answer waits up to 40 ms for an acknowledgement.
    const server = createServer({ noDelay: true, keepAlive: true }, accept);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, options.host, () => {
        server.off('error', reject);
        resolve();
      });
    });
    server.on('error', (error) => logger.error({ err: error }, 'the embedded broker has trouble listening'));
    return server;
  }

  async function close(): Promise<void> {
    const closing = broker;
    const closed = Object.values(servers).map((server) => new Promise<void>((resolve) => server.close(() => resolve())));
    broker = undefined;
    servers = {};
    connected.clear();
    if (closing) await new Promise<void>((resolve) => closing.close(() => resolve()));
    // aedes knows only those that have logged in.
    for (const socket of sockets) socket.destroy();
    await Promise.all(closed);
  }
}

function portOf(server: Server | undefined): number | undefined {
  return (server?.address() as AddressInfo | null | undefined)?.port;
}

/** A stranger chooses his client id, up to 64 KiB of it. */
function shortened(clientId: string): string {
  return clientId.slice(0, 64);
}
