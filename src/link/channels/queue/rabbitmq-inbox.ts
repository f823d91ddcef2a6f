// Messages of devices over RabbitMQ: the gateway's queues, and how messages are distinguished.
// The property user-id, which RabbitMQ checks against the login, is the only proof of the sender.
import type { Channel as AmqpChannel, ChannelModel, ConsumeMessage } from 'amqplib';
import type { ChannelListener } from '../../channel.ts';
import { isDeviceId } from '../../messages.ts';
import { queueNames } from '../../protocol.ts';
import { offerAnswer, offerPresence } from '../inbox.ts';

/** Lengths of the gateway's queues, bounded in case the gateway hangs. */
const maxInbox = { answers: 100_000, presences: 20_000 };

interface InboxOptions {
  gatewayId: string;
  onError(error: unknown): void;
  onMessage(message: ConsumeMessage): void;
  /** The broker has deleted a queue of the gateway. */
  onCancelled(): void;
}

export async function openInbox(model: ChannelModel, options: InboxOptions): Promise<AmqpChannel> {
  const inbox = await model.createChannel();
  inbox.on('error', options.onError);
  await inbox.assertExchange(queueNames.answersExchange, 'topic', { durable: true });
  // Answers and presence have separate queues: a flood of presence evicts only presence, oldest first.
  for (const [key, maxLength] of [
    [queueNames.answerKey('*', options.gatewayId), maxInbox.answers],
    [queueNames.presenceKey('*'), maxInbox.presences],
  ] as const) {
    const { queue } = await inbox.assertQueue('', { exclusive: true, autoDelete: true, durable: false, maxLength });
    await inbox.bindQueue(queue, queueNames.answersExchange, key);
    const take = (message: ConsumeMessage | null) => (message === null ? options.onCancelled() : options.onMessage(message));
    await inbox.consume(queue, take, { noAck: true });
  }
  return inbox;
}

const noUserId = { field: 'user-id', why: 'the property user-id must be the DeviceID' };

export function deliverQueueMessage(listener: ChannelListener, gatewayId: string, message: ConsumeMessage): void {
  const [deviceId, address, ...more] = message.fields.routingKey.split('.');
  if (!isDeviceId(deviceId) || more.length > 0) return listener.dropped('queue', 'unknown-address');
  if (message.properties.userId !== deviceId) return listener.dropped('queue', 'unknown-sender', deviceId, noUserId);
  const received = { channel: 'queue', deviceId, bytes: message.content } as const;
  if (address === gatewayId) offerAnswer(listener, received);
  else offerPresence(listener, received);
}
