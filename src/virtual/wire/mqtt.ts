// The device's side of MQTT 3.1.1: clean session, a will with offline presence, commands at QoS 0, answers and presence at QoS 1. Each
// connection is a new client, so that the library cannot resend messages of an older one.
import { connect, type MqttClient } from 'mqtt';
import packets from 'mqtt-packet';
import { mqttTopics } from '../../link/protocol.ts';
import { type Connector, type ConnectorOptions, createReconnecting, type Wire, type WireListener } from '../client/connector.ts';

// Otherwise the library caches a buffer for each number up to 65,535: 17 MB that a device does not need.
packets.writeToStream.cacheNumbers = false;

const connectTimeoutMs = 5_000;

export const createMqttConnector = (options: ConnectorOptions): Connector =>
  createReconnecting({ ...options, channel: 'mqtt', connect: (listener) => connectOnce(options, listener) });

function connectOnce({ url, deviceId, secret }: ConnectorOptions, listener: WireListener): Promise<Wire> {
  return new Promise((resolve, reject) => {
    const client = connect(url, {
      protocolVersion: 4,
      clean: true,
      clientId: deviceId,
      username: deviceId,
      password: secret,
      keepalive: 15,
      connectTimeout: connectTimeoutMs,
      reconnectPeriod: 0,
      resubscribe: false,
      queueQoSZero: false,
      will: {
        topic: mqttTopics.presence(deviceId),
        payload: Buffer.from(JSON.stringify({ v: 1, device: deviceId, online: false })),
        qos: 1,
        retain: false,
      },
    });
    const fail = (error: Error) => {
      client.end(true);
      reject(error);
    };
    // Never removed: an error event without a listener would end the process.
    client.on('error', fail);
    client.once('close', () => {
      fail(new Error('The broker closed the connection.'));
      listener.lost();
    });
    client.once('connect', () => {
      setNoDelay(client);
      client.on('message', (_topic, payload, packet) => {
        // This protocol retains nothing: a retained message is a leftover.
        if (!packet.retain) listener.command(payload);
      });
      client.subscribe(mqttTopics.commands(deviceId), { qos: 0 }, (error, grants) => {
        if (error || grants?.some((grant) => grant.qos > 2)) fail(error ?? new Error('The broker refused the subscription.'));
        else resolve(wireOf(client, deviceId));
      });
    });
  });
}

function setNoDelay(client: MqttClient): void {
  const stream = client.stream as { setNoDelay?: (noDelay: boolean) => void };
  stream.setNoDelay?.(true);
}

function wireOf(client: MqttClient, deviceId: string): Wire {
  function publish(topic: string, message: object): void {
    if (!client.connected) throw new Error('MQTT is not connected.');
    client.publish(topic, JSON.stringify(message), { qos: 1, retain: false }, () => {});
  }

  return {
    sendAnswer: (answer, replyTo) => publish(mqttTopics.answers(deviceId, replyTo), answer),
    sendPresence: (presence) => publish(mqttTopics.presence(deviceId), presence),
    close: async () => {
      // A clean disconnect discards the will, so the device publishes its offline presence itself.
      if (client.connected) publish(mqttTopics.presence(deviceId), { v: 1, device: deviceId, online: false });
      await client.endAsync();
    },
    destroy: () => client.stream.destroy(),
  };
}
