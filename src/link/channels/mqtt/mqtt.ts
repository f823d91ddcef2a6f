// The channel over an external MQTT broker (Mosquitto, RabbitMQ with its MQTT plugin). Every connection is a new client object, so that the
// library cannot resend messages of an old one. Commands are sent at QoS 0 and only while connected. Only MQTT 3.1.1 is used.
import type { Socket } from 'node:net';
import type { connect, MqttClient } from 'mqtt';
import type { Cancel } from '../../../kernel/clock.ts';
import { type Channel, ChannelDown, type ChannelListener, SendUnclear } from '../../channel.ts';
import { mqttTopics } from '../../protocol.ts';
import type { CommandMessage } from '../../wire-schemas.ts';
import type { BrokerOptions } from '../broker-options.ts';
import { reconnectPauseMs } from '../reconnect-pause.ts';
import { createTroubleLog, type TroubleLog } from '../trouble-log.ts';
import { deliverMqttMessage } from './mqtt-inbox.ts';
import { disableNumberCache } from './packet-numbers.ts';

type Options = BrokerOptions<typeof connect>;

const keepaliveS = 15;
const connectWithinMs = 10_000;

async function ownLibrary(): Promise<{ connect: typeof connect }> {
  await disableNumberCache();
  return await import('mqtt');
}

export class MqttChannel implements Channel {
  readonly name = 'mqtt';
  readonly tellsAbsence = false;
  readonly #options: Options;
  readonly #troubles: TroubleLog;
  /** Sends that the client has not confirmed yet. */
  readonly #unsettled = new Set<(error: Error) => void>();
  #listener: ChannelListener | undefined;
  #client: MqttClient | undefined;
  #connect: typeof connect | undefined;
  #isConnected = false;
  #attempt = 0;
  #cancelReconnect: Cancel = () => {};
  #cancelPatience: Cancel = () => {};
  #firstAttemptEnded: () => void = () => {};

  constructor(options: Options) {
    this.#options = options;
    this.#troubles = createTroubleLog(options, 'mqtt');
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  async start(listener: ChannelListener): Promise<void> {
    this.#listener = listener;
    // Loaded on demand: a gateway with the embedded broker does not need it.
    const { library = ownLibrary } = this.#options;
    this.#connect = (await library()).connect;
    if (this.#listener === undefined) return;
    await new Promise<void>((resolve) => {
      this.#firstAttemptEnded = resolve;
      this.#open();
    });
  }

  async stop(): Promise<void> {
    this.#listener = undefined;
    this.#cancelReconnect();
    this.#cancelPatience();
    this.#firstAttemptEnded();
    const closing = this.#client;
    this.#client = undefined;
    this.#isConnected = false;
    this.#leaveSendsUnclear();
    if (closing) await new Promise<void>((resolve) => closing.end(true, {}, () => resolve()));
  }

  send(deviceId: string, command: CommandMessage, _expiresInMs: number): Promise<void> {
    const client = this.#client;
    if (!this.#isConnected || !client?.connected) return Promise.reject(new ChannelDown('mqtt'));
    return new Promise<void>((resolve, reject) => {
      const fail = (error: Error) => {
        this.#unsettled.delete(fail);
        reject(error);
      };
      this.#unsettled.add(fail);
      client.publish(mqttTopics.commands(deviceId), JSON.stringify(command), { qos: 0, retain: false }, (error) => {
        if (error) return fail(new SendUnclear('mqtt', error));
        this.#unsettled.delete(fail);
        resolve();
      });
    });
  }

  #open(): void {
    const { url, gatewayId, clock } = this.#options;
    if (this.#connect === undefined) throw new Error('The channel was not started.');
    const client = this.#connect(url, {
      protocolVersion: 4,
      clientId: `tillgate-${gatewayId}`,
      clean: true,
      keepalive: keepaliveS,
      connectTimeout: connectWithinMs,
      reconnectPeriod: 0,
      resubscribe: false,
      queueQoSZero: false,
      // Without it the library collects the arguments of debug lines that are never written.
      log: () => {},
    });
    this.#client = client;
    // A broker that accepts the connection and then does not answer must not block the channel for ever.
    this.#cancelPatience = clock.after(connectWithinMs, () => this.#closed(client));
    client.on('connect', () => {
      const socket = client.stream as Socket;
      socket.setNoDelay?.(true);
      this.#subscribe(client);
    });
    client.on('message', (topic, payload, packet) => {
      if (this.#client === client && this.#listener)
        deliverMqttMessage(this.#listener, gatewayId, { topic, payload, isRetained: packet.retain });
    });
    client.on('error', (error) => {
      this.#troubles.note(error, 'the MQTT broker cannot be reached; the gateway keeps trying');
      // A refused login does not always close the socket.
      if (!this.#isConnected) this.#closed(client);
    });
    client.on('close', () => this.#closed(client));
  }

  #subscribe(client: MqttClient): void {
    const { gatewayId, logger } = this.#options;
    const topics = [mqttTopics.answers('+', gatewayId), mqttTopics.presence('+')];
    client.subscribe(topics, { qos: 0 }, (error, granted) => {
      if (this.#client !== client || this.#listener === undefined) return;
      // Without a subscription to answers nothing may be sent.
      if (error || (granted ?? []).some(({ qos }) => (qos as number) >= 128)) {
        logger.error({ err: error, topics }, 'the broker refuses the subscription of the gateway');
        this.#closed(client);
        return;
      }
      this.#cancelPatience();
      this.#isConnected = true;
      this.#troubles.over();
      this.#attempt = 0;
      this.#firstAttemptEnded();
      this.#listener.up('mqtt');
    });
  }

  /** The connection has ended or could not be opened; the next attempt follows after a pause. */
  #closed(client: MqttClient): void {
    if (this.#client !== client) return;
    const { clock, random } = this.#options;
    this.#client = undefined;
    this.#cancelPatience();
    client.end(true);
    const wasConnected = this.#isConnected;
    this.#isConnected = false;
    this.#leaveSendsUnclear();
    if (this.#listener === undefined) return;
    if (wasConnected) this.#listener.down('mqtt');
    this.#attempt += 1;
    this.#cancelReconnect = clock.after(reconnectPauseMs(this.#attempt, random), () => this.#open());
    this.#firstAttemptEnded();
  }

  #leaveSendsUnclear(): void {
    for (const fail of [...this.#unsettled]) fail(new SendUnclear('mqtt'));
  }
}
