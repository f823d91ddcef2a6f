// The channel over an outside MQTT broker (Mosquitto, RabbitMQ with its MQTT plugin). Every connection is a new client object, so that nothing of an
// old one can be sent again behind our back; commands go at QoS 0 and only while connected. Only MQTT 3.1.1 is used.
import type { Socket } from 'node:net';
import { connect, type MqttClient } from 'mqtt';
import type { Cancel, Clock } from '../../kernel/clock.ts';
import type { Logger } from '../../kernel/logger.ts';
import type { Random } from '../../kernel/random.ts';
import { reconnectDelayMs } from '../backoff.ts';
import { type Channel, ChannelDown, type ChannelListener, SendUnclear } from '../channel.ts';
import { mqttTopics } from '../protocol.ts';
import { deliverMqttMessage } from './mqtt-inbox.ts';

export interface MqttChannelOptions {
  /** mqtt://user:password@host:port or mqtts://... */
  url: string;
  gatewayId: string;
  clock: Clock;
  random: Random;
  logger: Logger;
}

const keepaliveS = 15;
const connectWithinMs = 10_000;

export function createMqttChannel(options: MqttChannelOptions): Channel {
  const { gatewayId, clock, random, logger } = options;
  const unsettled = new Set<(error: Error) => void>();
  let listener: ChannelListener | undefined;
  let client: MqttClient | undefined;
  let isConnected = false;
  let attempt = 0;
  let cancelReconnect: Cancel = () => {};
  let cancelPatience: Cancel = () => {};
  let firstAttemptEnded: () => void = () => {};

  function open(): void {
    const opening = connect(options.url, {
      protocolVersion: 4,
      clientId: `tillgate-${gatewayId}`,
      clean: true,
      keepalive: keepaliveS,
      connectTimeout: connectWithinMs,
      reconnectPeriod: 0,
      resubscribe: false,
      queueQoSZero: false,
    });
    client = opening;
    // A broker that takes the connection and then says nothing must not hold the channel for ever.
    cancelPatience = clock.after(connectWithinMs, () => closed(opening));
    opening.on('connect', () => {
      (opening.stream as Partial<Socket>).setNoDelay?.(true);
      subscribe(opening);
    });
    opening.on('message', (topic, payload, packet) => {
      if (client === opening && listener) deliverMqttMessage(listener, gatewayId, { topic, payload, isRetained: packet.retain });
    });
    opening.on('error', (error) => {
      logger.warn({ err: error, channel: 'mqtt' }, 'the MQTT connection has trouble');
      // A refused login does not always close the socket.
      if (!isConnected) closed(opening);
    });
    opening.on('close', () => closed(opening));
  }

  function subscribe(opening: MqttClient): void {
    const topics = [mqttTopics.answers('+', gatewayId), mqttTopics.presence('+')];
    opening.subscribe(topics, { qos: 1 }, (error, granted) => {
      if (client !== opening || listener === undefined) return;
      // Without the answers nothing may be sent: better no channel than one that is deaf.
      if (error || (granted ?? []).some(({ qos }) => (qos as number) >= 128)) {
        logger.error({ err: error, topics }, 'the broker does not let the gateway subscribe');
        closed(opening);
        return;
      }
      cancelPatience();
      isConnected = true;
      attempt = 0;
      firstAttemptEnded();
      listener.up('mqtt');
    });
  }

  function closed(closing: MqttClient): void {
    if (client !== closing) return;
    client = undefined;
    cancelPatience();
    closing.end(true);
    const wasConnected = isConnected;
    isConnected = false;
    for (const reject of [...unsettled]) reject(new SendUnclear('mqtt'));
    if (listener === undefined) return;
    if (wasConnected) listener.down('mqtt');
    attempt += 1;
    cancelReconnect = clock.after(reconnectDelayMs(attempt, random), open);
    firstAttemptEnded();
  }

  return {
    name: 'mqtt',
    tellsAbsence: false,
    get isConnected() {
      return isConnected;
    },

    async start(given) {
      listener = given;
      await new Promise<void>((resolve) => {
        firstAttemptEnded = resolve;
        open();
      });
    },

    async stop() {
      listener = undefined;
      cancelReconnect();
      cancelPatience();
      firstAttemptEnded();
      const closing = client;
      client = undefined;
      isConnected = false;
      for (const reject of [...unsettled]) reject(new SendUnclear('mqtt'));
      if (closing) await new Promise<void>((resolve) => closing.end(true, {}, () => resolve()));
    },

    send(deviceId, command) {
      const sending = client;
      if (!isConnected || !sending?.connected) return Promise.reject(new ChannelDown('mqtt'));
      return new Promise<void>((resolve, reject) => {
        const fail = (error: Error) => {
          unsettled.delete(fail);
          reject(error);
        };
        unsettled.add(fail);
        sending.publish(mqttTopics.commands(deviceId), JSON.stringify(command), { qos: 0, retain: false }, (error) => {
          if (error) return fail(new SendUnclear('mqtt', error));
          unsettled.delete(fail);
          resolve();
        });
      });
    },
  };
}
