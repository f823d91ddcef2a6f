// The MQTT broker inside the gateway, for one instance with nothing installed. Devices log in with their secret and reach their own topics alone;
// the gateway itself is no MQTT client here but writes to the device's connection directly. Nothing is kept: no sessions, no retained messages.
// Unauthenticated clients reach its ports: connections, logins, packets, what is waiting to be read and what is logged about it are all bounded [D62].
import type { EventEmitter } from 'node:events';
import type { Aedes, AedesOptions, Client, ConnectPacket } from 'aedes';
import type { Logger } from '../../../kernel/logger.ts';
import type { RateLimiter } from '../../../kernel/rate-limiter.ts';
import { restrainLogger } from '../../../kernel/restrained-logger.ts';
import { type Channel, ChannelDown, type ChannelListener, DeviceNotOnChannel, SendUnclear } from '../../channel.ts';
import { isDeviceId, isGatewayId } from '../../messages.ts';
import { maxMessageBytes, mqttTopics } from '../../protocol.ts';
import type { CommandMessage } from '../../wire-schemas.ts';
import { createLoginLimit } from '../login-limit.ts';
import { type BrokerClients, createBrokerClients } from './broker-clients.ts';
import { BrokerPorts, type BrokerPortsOptions } from './broker-ports.ts';
import { defaultGateLimits, type GateLimits } from './connection-gate.ts';
import { deliverMqttMessage } from './mqtt-inbox.ts';
import { keepNoNumbersReady } from './packet-numbers.ts';

export interface EmbeddedBrokerOptions extends Omit<BrokerPortsOptions, 'limits' | 'onCut'> {
  gatewayId: string;
  limits?: Partial<GateLimits>;
  /** Logins of one device at once; then one a second. */
  deviceLogins?: number;
  checkDevice(deviceId: string, secret: string): Promise<boolean>;
  /** A device was let in, and this is how it asked for it. */
  onLogin?(deviceId: string, login: BrokerLogin): void;
  /** A message was published with the retain flag, which is taken off. */
  onRetained?(deviceId: string, topic: string): void;
}

export interface BrokerLogin {
  will: { topic: string; payload: Uint8Array; isRetained: boolean } | undefined;
  keepaliveS: number;
  isClean: boolean;
}

/** The CONNACK codes of MQTT 3.1.1 that a device may get. */
const accepted = 0;
const serverUnavailable = 3;
const badLogin = 4;
/** A device that does not read is cut off instead of filling the memory. */
const drainWithinMs = 5_000;
const maxUnreadBytes = 4 * maxMessageBytes;
/** The protocol asks for QoS 1; of QoS 2 each message lies in memory until its handshake ends. */
const unfinishedMessages = 8;
const topicLevels = 8;
const foreignTopic = { field: 'topic', why: "it was published to a topic that is not the device's own; the connection is ended" };

export class EmbeddedBroker implements Channel {
  readonly name = 'mqtt';
  readonly tellsAbsence = true;
  readonly #options: EmbeddedBrokerOptions;
  readonly #limits: GateLimits;
  readonly #logger: Logger;
  readonly #ports: BrokerPorts;
  readonly #clients: BrokerClients;
  readonly #loginsOf: RateLimiter;
  readonly #logins = new WeakMap<Client, BrokerLogin>();
  #listener: ChannelListener | undefined;
  #aedes: Aedes | undefined;

  constructor(options: EmbeddedBrokerOptions) {
    const { clock, deviceLogins } = options;
    this.#options = options;
    this.#limits = { ...defaultGateLimits, ...options.limits };
    // Unauthenticated clients can cause most of these lines.
    this.#logger = restrainLogger(options.logger, clock);
    this.#loginsOf = createLoginLimit(clock, deviceLogins);
    this.#clients = createBrokerClients((deviceId) => this.#listener?.gone('mqtt', deviceId));
    this.#ports = new BrokerPorts({
      ...options,
      limits: this.#limits,
      logger: this.#logger,
      onCut: (client, why) => this.#listener?.dropped('mqtt', why, this.#clients.deviceIdOf(client)),
    });
  }

  get isConnected(): boolean {
    return this.#listener !== undefined;
  }

  /** The ports that it listens on, once started. */
  get port(): number | undefined {
    return this.#ports.plain;
  }

  get securePort(): number | undefined {
    return this.#ports.secure;
  }

  async start(listener: ChannelListener): Promise<void> {
    // Loaded where it is used: a gateway with a broker outside needs nothing of it.
    const { Aedes } = await import('aedes');
    await keepNoNumbersReady();
    const aedes = await Aedes.createBroker(this.#rules());
    this.#aedes = aedes;
    this.#clients.watch(aedes);
    this.#watchTrouble(aedes);
    try {
      await this.#ports.open(aedes.handle);
    } catch (error) {
      await this.#close();
      throw error;
    }
    this.#listener = listener;
    listener.up('mqtt');
  }

  async stop(): Promise<void> {
    this.#listener = undefined;
    await this.#close();
  }

  async send(deviceId: string, command: CommandMessage, _expiresInMs: number): Promise<void> {
    if (this.#listener === undefined) throw new ChannelDown('mqtt');
    const client = this.#clients.of(deviceId);
    if (client === undefined || client.closed || !this.#clients.isListening(client)) throw new DeviceNotOnChannel('mqtt');
    // It hangs, and what is sent now would come at some other time.
    if (client.conn.writableLength > maxUnreadBytes) throw new DeviceNotOnChannel('mqtt');
    const payload = Buffer.from(JSON.stringify(command));
    await new Promise<void>((resolve) => {
      client.publish({ cmd: 'publish', topic: mqttTopics.commands(deviceId), payload, qos: 0, retain: false, dup: false }, () => resolve());
    });
    if (client.closed) throw new SendUnclear('mqtt');
  }

  disconnectDevice(deviceId: string): void {
    this.#clients.cutOff(deviceId);
  }

  /** What a client may do, in the order in which aedes asks. */
  #rules(): AedesOptions {
    return {
      id: this.#options.gatewayId,
      drainTimeout: drainWithinMs,
      connectTimeout: this.#limits.loginWithinMs,
      maxInflightInbound: unfinishedMessages,
      maxTopicLevels: topicLevels,
      preConnect: (client, packet, done) => {
        if (this.#options.onLogin) this.#logins.set(client, loginOf(packet));
        // Whatever the device asks for, its session ends with its connection.
        packet.clean = true;
        done(null, true);
      },
      authenticate: (client, username, password, done) => {
        this.#clients.loggingIn(client);
        void this.#judgeLogin(client, username, password).then((returnCode) => {
          if (returnCode === accepted) {
            this.#ports.loggedIn(client.conn);
            const login = this.#logins.get(client);
            if (login) this.#options.onLogin?.(client.id, login);
            return done(null, true);
          }
          this.#logger.warn({ clientId: shortened(client.id), returnCode }, 'a device was not let in');
          done(Object.assign(new Error('The login was refused.'), { returnCode }), null);
        });
      },
      authorizeSubscribe(client, subscription, done) {
        done(null, subscription.topic === mqttTopics.commands(client.id) ? subscription : null);
      },
      authorizePublish: (client, packet, done) => {
        if (client === null || !mayPublish(client.id, packet.topic)) {
          if (client) this.#listener?.dropped('mqtt', 'unknown-address', this.#clients.deviceIdOf(client), foreignTopic);
          return done(new Error('This topic is not yours.'));
        }
        if (this.#clients.isCutOff(client)) return done(new Error('The device may no longer connect.'));
        // A closed client publishes only its will. `gone` says the same, and in the right order when the device is back already.
        if (client.closed && packet.topic === mqttTopics.presence(client.id))
          return done(new Error('The end of the connection was noticed.'));
        if (packet.retain) this.#options.onRetained?.(client.id, packet.topic);
        packet.retain = false;
        done();
      },
      published: (packet, client, done) => {
        if (client && this.#listener) {
          const payload = Buffer.isBuffer(packet.payload) ? packet.payload : Buffer.from(packet.payload);
          deliverMqttMessage(this.#listener, this.#options.gatewayId, { topic: packet.topic, payload, isRetained: false });
        }
        done();
      },
    };
  }

  async #judgeLogin(client: Client, username: string | undefined, password: Buffer | undefined): Promise<number> {
    // Client id = user: otherwise one device could end another's connection by taking its client id.
    if (!isDeviceId(username) || client.id !== username || password === undefined) return badLogin;
    try {
      if (!(await this.#options.checkDevice(username, password.toString('utf8')))) return badLogin;
      if (this.#loginsOf.take(username) === undefined) return accepted;
      this.#listener?.dropped('mqtt', 'over-budget', username);
      return serverUnavailable;
    } catch (error) {
      this.#logger.error({ err: error, deviceId: username }, 'the login of a device could not be judged');
      return serverUnavailable;
    }
  }

  #watchTrouble(aedes: Aedes): void {
    const logger = this.#logger;
    // aedes reports its own failures by an event that its types do not know; without a listener that event would end the process.
    (aedes as EventEmitter).on('error', (error: unknown) => logger.error({ err: error }, 'the embedded broker has trouble'));
    aedes.on('clientError', (client, error) => logger.debug({ err: error, clientId: shortened(client.id) }, 'a device connection failed'));
    aedes.on('connectionError', (_client, error) => logger.debug({ err: error }, 'a connection that never logged in failed'));
  }

  async #close(): Promise<void> {
    const closing = this.#aedes;
    this.#aedes = undefined;
    const nobodyLeft = this.#ports.stopListening();
    this.#clients.clear();
    if (closing) await new Promise<void>((resolve) => closing.close(() => resolve()));
    // aedes knows only those that have logged in.
    this.#ports.cutAll();
    await nobodyLeft;
  }
}

function loginOf({ will, keepalive = 0, clean = false }: ConnectPacket): BrokerLogin {
  const payload = will && Buffer.from(will.payload);
  return {
    will: will && payload && { topic: will.topic, payload, isRetained: will.retain === true },
    keepaliveS: keepalive,
    isClean: clean,
  };
}

function mayPublish(deviceId: string, topic: string): boolean {
  if (topic === mqttTopics.presence(deviceId)) return true;
  const prefix = mqttTopics.answers(deviceId, '');
  return topic.startsWith(prefix) && isGatewayId(topic.slice(prefix.length));
}

/** An unauthenticated client chooses its client id, up to 64 KiB. */
function shortened(clientId: string): string {
  return clientId.slice(0, 64);
}
