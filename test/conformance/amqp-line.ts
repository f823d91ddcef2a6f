// A foreign device's queue on RabbitMQ, by the raw amqplib package: declared, read and answered as the protocol page says.
import { connect } from 'amqplib';
import type { ForeignDevice, Line } from './foreign-device.ts';

export const amqpUrl = ({ deviceId, secret, queueUrl }: Pick<ForeignDevice, 'deviceId' | 'secret' | 'queueUrl'>) => {
  const url = new URL(queueUrl);
  url.username = deviceId;
  url.password = secret;
  url.searchParams.set('heartbeat', '10');
  return url.href;
};

export async function connectAmqp(device: ForeignDevice): Promise<Line> {
  const { deviceId } = device;
  const connection = await connect(amqpUrl(device));
  connection.on('error', () => {});
  const ended = new Promise<void>((resolve) => connection.once('close', () => resolve()));
  const channel = await connection.createChannel();
  channel.on('error', () => {});
  await channel.assertQueue(`tillgate.device.${deviceId}`, { exclusive: true, autoDelete: true, durable: false });
  await channel.consume(
    `tillgate.device.${deviceId}`,
    (message) => {
      if (!message) return;
      const text = message.content.toString('utf8');
      const amqp = { ...message.properties, ...message.fields };
      device.hear({ wire: 'queue', atMs: Date.now(), message: JSON.parse(text), text, amqp });
    },
    { noAck: true },
  );
  const publish = (key: string, text: string | Buffer) => {
    channel.publish('tillgate.answers', `${deviceId}.${key}`, Buffer.from(text), { userId: deviceId });
  };
  return {
    answer: publish,
    presence: (text) => publish('presence', text),
    die: () => (connection as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy(),
    async close() {
      // amqplib waits for ever for a connection that the broker has ended.
      await Promise.race([connection.close(), ended]);
    },
    ended,
  };
}
