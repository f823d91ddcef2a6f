// The MQTT broker inside the gateway, for one instance with nothing installed. Devices log in with their secret and reach their own topics alone;
// the gateway itself is no MQTT client here but writes to the device's connection directly. Nothing is kept: no sessions, no retained messages.
import type { EventEmitter } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { Aedes, type Client } from 'aedes';
import type { Logger } from '../../kernel/logger.ts';
import { type Channel, ChannelDown, type ChannelListener, DeviceNotOnChannel, SendUnclear } from '../channel.ts';
import { isDeviceId } from '../messages.ts';
import { messageLimitBytes, mqttTopics } from '../protocol.ts';
import { deliverMqttMessage } from './mqtt-inbox.ts';
import { createPacketGuard } from './packet-guard.ts';

export interface EmbeddedBrokerOptions {
  host: string;
  /** 0: any free one; see `port`. */
  port: number;
  gatewayId: string;
  logger: Logger;
  checkDevice(deviceId: string, secret: string): Promise<boolean>;
}

export interface EmbeddedBroker extends Channel {
  /** The port that it listens on, once started. */
  readonly port: number;
  disconnectDevice(deviceId: string): void;
}

/** The CONNACK codes of MQTT 3.1.1 that a device may get. */
const serverUnavailable = 3;
const badLogin = 4;
/** Somewhat too large a message is dropped and counted, far too large ends the connection. A login holds a short will at most. */
const packetLimits = { firstBytes: 64 * 1024, bytes: 2 * messageLimitBytes };
/** A device that does not read is cut off instead of filling the memory. */
const drainWithinMs = 5_000;

export function createEmbeddedBroker(options: EmbeddedBrokerOptions): EmbeddedBroker {
  const { gatewayId, logger, checkDevice } = options;
  // Kept beside aedes's own list, which loses a client whose predecessor of the same id is still closing.
  const connected = new Map<string, Client>();
  const subscribed = new WeakSet<Client>();
  let listener: ChannelListener | undefined;
  let broker: Aedes | undefined;
  let server: Server | undefined;

  async function login(client: Client, username: string | undefined, password: Buffer | undefined): Promise<number> {
    // Client id = user: otherwise one device could end another's connection by taking its client id.
    if (!isDeviceId(username) || client.id !== username || password === undefined) return badLogin;
    try {
      return (await checkDevice(username, password.toString('utf8'))) ? 0 : badLogin;
    } catch (error) {
      logger.error({ err: error, deviceId: username }, 'the login of a device could not be judged');
      return serverUnavailable;
    }
  }

  function mayPublish(deviceId: string, topic: string): boolean {
    if (topic === mqttTopics.presence(deviceId)) return true;
    const prefix = mqttTopics.answers(deviceId, '');
    return topic.startsWith(prefix) && topic.length > prefix.length && !topic.includes('/', prefix.length);
  }

  function createBroker(): Promise<Aedes> {
    return Aedes.createBroker({
      id: gatewayId,
      drainTimeout: drainWithinMs,
      preConnect(_client, packet, done) {
        // Whatever the device asks for, its session ends with its connection.
        packet.clean = true;
        done(null, true);
      },
      authenticate(client, username, password, done) {
        void login(client, username, password).then((returnCode) => {
          if (returnCode === 0) return done(null, true);
          logger.warn({ clientId: client.id, returnCode }, 'a device was not let in');
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

  /** aedes pulls from the socket by itself; what it pulls is seen here as well. */
  function holdToSize(socket: Socket): void {
    const isWithinLimits = createPacketGuard(packetLimits);
    socket.on('data', (chunk) => {
      if (isWithinLimits(chunk)) return;
      listener?.dropped('mqtt', 'too-large');
      socket.destroy();
    });
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
    aedes.on('clientError', (client, error) => logger.debug({ err: error, clientId: client.id }, 'a device connection failed'));
    aedes.on('connectionError', (_client, error) => logger.debug({ err: error }, 'a connection that never logged in failed'));
  }

  return {
    name: 'mqtt',
    tellsAbsence: true,
    get isConnected() {
      return listener !== undefined;
    },
    get port() {
      return (server?.address() as AddressInfo | null | undefined)?.port ?? options.port;
    },

    async start(given) {
      broker = await createBroker();
      watchClients(broker);
      // Without no-delay an answer waits up to 40 ms for an acknowledgement.
      const { handle } = broker;
      const listening = createServer({ noDelay: true, keepAlive: true }, (socket) => {
        handle(socket);
        holdToSize(socket);
      });
      await new Promise<void>((resolve, reject) => {
        listening.once('error', reject);
        listening.listen(options.port, options.host, () => {
          listening.off('error', reject);
          listening.on('error', (error) => logger.error({ err: error }, 'the embedded broker has trouble listening'));
          resolve();
        });
      }).catch(async (error: unknown) => {
        await closeBroker();
        throw error;
      });
      server = listening;
      listener = given;
      given.up('mqtt');
    },

    async stop() {
      listener = undefined;
      const closing = server;
      server = undefined;
      const closed = new Promise<void>((resolve) => (closing ? closing.close(() => resolve()) : resolve()));
      await closeBroker();
      await closed;
    },

    async send(deviceId, command) {
      if (listener === undefined) throw new ChannelDown('mqtt');
      const client = connected.get(deviceId);
      if (client === undefined || client.closed || !subscribed.has(client)) throw new DeviceNotOnChannel('mqtt');
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

  async function closeBroker(): Promise<void> {
    const closing = broker;
    broker = undefined;
    connected.clear();
    if (closing) await new Promise<void>((resolve) => closing.close(() => resolve()));
  }
}
