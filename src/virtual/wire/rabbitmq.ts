// The device's side of RabbitMQ: its own queue, exclusive and auto-delete, read without acks; answers and presence go to the gateway's exchange
// with the device's user id. If the queue is still locked by its previous connection, it is retried every 2 s.
import type { Channel, ChannelModel } from 'amqplib';
import { queueNames } from '../../link/protocol.ts';
import { type Connector, type ConnectorOptions, createReconnecting, type Wire, type WireListener } from '../client/connector.ts';

const connectTimeoutMs = 5_000;
const heartbeatS = 10;
const lockedRetryMs = 2_000;

export function createAmqpConnector(options: ConnectorOptions): Connector {
  const isQueueLocked = (error: unknown) => error instanceof Error && error.message.includes('RESOURCE_LOCKED');
  const waitAfter = (error: unknown) => (isQueueLocked(error) ? lockedRetryMs : undefined);
  return createReconnecting({ ...options, channel: 'queue', connect: (listener) => connectOnce(options, listener), waitAfter });
}

function addressOf({ url, deviceId, secret }: ConnectorOptions): string {
  const address = new URL(url);
  address.username = encodeURIComponent(deviceId);
  address.password = encodeURIComponent(secret);
  address.searchParams.set('heartbeat', String(heartbeatS));
  return address.toString();
}

async function connectOnce(options: ConnectorOptions, listener: WireListener): Promise<Wire> {
  const { deviceId } = options;
  // Loaded on demand: most installations have no RabbitMQ.
  const { connect } = await import('amqplib');
  const connection = await connect(addressOf(options), { noDelay: true, timeout: connectTimeoutMs });
  // A close event follows an error; without this listener the error would end the process.
  connection.on('error', () => {});
  connection.once('close', () => listener.lost());
  try {
    const channel = await connection.createChannel();
    channel.on('error', () => {});
    const queue = queueNames.commands(deviceId);
    await channel.assertQueue(queue, { exclusive: true, autoDelete: true, durable: false });
    // The broker closes the channel after a refused publish or a deleted queue; then the connection is opened again.
    channel.once('close', () => destroy(connection));
    const onMessage = (message: { content: Buffer } | null) => (message ? listener.command(message.content) : destroy(connection));
    await channel.consume(queue, onMessage, { noAck: true, exclusive: true });
    return wireOf(connection, channel, deviceId);
  } catch (error) {
    destroy(connection);
    throw error;
  }
}

function destroy(connection: ChannelModel): void {
  connection.close().catch(() => {});
}

/** Simulates a power cut: the socket is closed without a protocol message. */
function cut(connection: ChannelModel): void {
  const { stream } = connection.connection as { stream?: { destroy(): void } };
  if (stream) stream.destroy();
  else destroy(connection);
}

function wireOf(connection: ChannelModel, channel: Channel, deviceId: string): Wire {
  function publish(key: string, message: object): void {
    channel.publish(queueNames.answersExchange, key, Buffer.from(JSON.stringify(message)), {
      userId: deviceId,
      contentType: 'application/json',
      deliveryMode: 1,
    });
  }

  return {
    sendAnswer: (answer, replyTo) => publish(queueNames.answerKey(deviceId, replyTo), answer),
    sendPresence: (presence) => publish(queueNames.presenceKey(deviceId), presence),
    close: async () => {
      publish(queueNames.presenceKey(deviceId), { v: 1, device: deviceId, online: false });
      await connection.close().catch(() => {});
    },
    destroy: () => cut(connection),
  };
}
