// The MQTT broker inside the gateway, for a single instance without external services. Devices log in with their secret and may use only
// their own topics. The gateway is no MQTT client here: it writes to the device's connection directly. No sessions and no retained messages.
// Unauthenticated clients reach its ports: connections, logins, packets, unread data and log lines are all bounded [D62].
import type { EventEmitter } from 'node:events';
import type { Aedes, AedesOptions, Client, ConnectPacket } from 'aedes';
import type { Logger } from '../../../kernel/logger.ts';
import type { RateLimiter } from '../../../kernel/rate-limiter.ts';
import { restrainLogger } from '../../../kernel/restrained-logger.ts';
import { type Channel, ChannelDown, type ChannelListener, DeviceNotOnChannel, SendUnclear } from '../../channel.ts';
import { isDeviceId, isGatewayId } from '../../messages.ts';
import { maxMessageBytes, mqttTopics } from '../../protocol.ts';
import type { CommandMessage } from '../../wire-schemas.ts';
import type { PlacedDevice } from '../device-places.ts';
import { createLoginLimit } from '../login-limit.ts';
import { type BrokerClients, createBrokerClients } from './broker-clients.ts';
import { BrokerPorts, type BrokerPortsOptions } from './broker-ports.ts';
import { defaultGateLimits, type GateLimits } from './connection-gate.ts';
import { deliverMqttMessage } from './mqtt-inbox.ts';
import { disableNumberCache } from './packet-numbers.ts';

export interface EmbeddedBrokerOptions extends Omit<BrokerPortsOptions, 'limits' | 'onCut'> {
  gatewayId: string;
  limits?: Partial<GateLimits>;
  /** Burst of logins of one device; then one a second. */
  deviceLogins?: number;
  /** Undefined: the device is unknown or disabled, or the secret is wrong. */
  checkDevice(deviceId: string, secret: string): Promise<Pick<PlacedDevice, 'merchantId'> | undefined>;
  /** A device has logged in; `login` is its CONNECT packet. */
  onLogin?(deviceId: string, login: BrokerLogin): void;
  /** A message was published with the retain flag, which is removed. */
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
/** A device that does not read is disconnected instead of filling the memory. */
const drainWithinMs = 5_000;
const maxUnreadBytes = 4 * maxMessageBytes;
/** The protocol requires QoS 1; a QoS 2 message stays in memory until its handshake ends. */
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
    // Rate-limited, because unauthenticated clients can cause most of these lines.
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

  /** The ports, once started. */
  get port(): number | undefined {
    return this.#ports.plain;
  }

  get securePort(): number | undefined {
    return this.#ports.secure;
  }

  async start(listener: ChannelListener): Promise<void> {
    // Loaded on demand: a gateway with an external broker does not need it.
    const { Aedes } = await import('aedes');
    await disableNumberCache();
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
    // The device does not read, so a command sent now would arrive late.
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

  /** The permissions of a client, in the order of aedes's checks. */
  #rules(): AedesOptions {
    return {
      id: this.#options.gatewayId,
      drainTimeout: drainWithinMs,
      connectTimeout: this.#limits.loginWithinMs,
      maxInflightInbound: unfinishedMessages,
      maxTopicLevels: topicLevels,
      preConnect: (client, packet, done) => {
        if (this.#options.onLogin) this.#logins.set(client, loginOf(packet));
        // The session always ends with the connection, even if the device requests a persistent one.
        packet.clean = true;
        done(null, true);
      },
      authenticate: (client, username, password, done) => {
        this.#clients.loggingIn(client);
        void this.#judgeLogin(client, username, password).then((returnCode) => {
          if (returnCode === accepted) {
            const login = this.#logins.get(client);
            if (login) this.#options.onLogin?.(client.id, login);
            return done(null, true);
          }
          this.#logger.warn({ clientId: shortened(client.id), returnCode }, 'the login of a device was refused');
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
        // A closed client publishes only its will. `gone` reports the same, and in the right order if the device has already reconnected.
        if (client.closed && packet.topic === mqttTopics.presence(client.id))
          return done(new Error('The end of the connection was already reported.'));
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
      const device = await this.#options.checkDevice(username, password.toString('utf8'));
      if (device === undefined) return badLogin;
      if (this.#loginsOf.take(username) !== undefined) {
        this.#listener?.dropped('mqtt', 'over-budget', username);
        return serverUnavailable;
      }
      const { merchantId } = device;
      if (this.#ports.loggedIn(client.conn, { deviceId: username, merchantId })) return accepted;
      this.#logger.warn(
        { deviceId: username, merchantId, places: this.#limits.connections },
        'the embedded broker has no place for a device',
      );
      return serverUnavailable;
    } catch (error) {
      this.#logger.error({ err: error, deviceId: username }, 'the login of a device could not be checked');
      return serverUnavailable;
    }
  }

  #watchTrouble(aedes: Aedes): void {
    const logger = this.#logger;
    // aedes reports internal failures by an event that is missing in its types; without a listener the event would end the process.
    (aedes as EventEmitter).on('error', (error: unknown) => logger.error({ err: error }, 'the embedded broker failed'));
    aedes.on('clientError', (client, error) => logger.debug({ err: error, clientId: shortened(client.id) }, 'a device connection failed'));
    aedes.on('connectionError', (_client, error) => logger.debug({ err: error }, 'a connection that never logged in failed'));
  }

  async #close(): Promise<void> {
    const closing = this.#aedes;
    this.#aedes = undefined;
    const nobodyLeft = this.#ports.stopListening();
    this.#clients.clear();
    if (closing) await new Promise<void>((resolve) => closing.close(() => resolve()));
    // aedes closes only connections that have logged in.
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
