import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';
import { connect } from 'amqplib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock, systemRandom } from '../../../src/kernel/system.ts';
import { createAmqpConnector } from '../../../src/virtual/wire/rabbitmq.ts';
import { recordingLogger } from '../../support/quiet-logger.ts';
import { type RabbitmqServer, startRabbitmq } from '../../support/servers/rabbitmq.ts';
import { until } from '../../support/until.ts';
import { connectorContract, contractDevice, type GatewaySide } from './connector-contract.ts';

const { deviceId, secret } = contractDevice;
const queue = `tillgate.device.${deviceId}`;
let server: RabbitmqServer;

beforeAll(async () => {
  const permissions = {
    configure: `^tillgate\\.device\\.${deviceId}$`,
    write: '^tillgate\\.answers$',
    read: `^tillgate\\.device\\.${deviceId}$`,
  };
  server = await startRabbitmq({
    users: [
      { name: 'gateway', password: 'g', tags: ['administrator'] },
      { name: deviceId, password: secret, permissions },
    ],
  });
}, 120_000);

afterAll(() => server.stop());

async function openRabbit(): Promise<GatewaySide> {
  const proxy = await openProxy(server.port);
  const connection = await connect(server.url);
  const channel = await connection.createConfirmChannel();
  await channel.assertExchange('tillgate.answers', 'topic', { durable: true });
  const { queue: inbox } = await channel.assertQueue('', { exclusive: true });
  await channel.bindQueue(inbox, 'tillgate.answers', '#');
  const side: Pick<GatewaySide, 'answers' | 'presences'> = { answers: [], presences: [] };
  await channel.consume(
    inbox,
    (message) => {
      // Without the property an answer would not count.
      if (!message || message.properties.userId !== deviceId) return;
      const [, replyTo] = message.fields.routingKey.split('.');
      const body = JSON.parse(message.content.toString());
      if (replyTo === 'presence') side.presences.push(body);
      else side.answers.push({ replyTo, answer: body });
    },
    { noAck: true },
  );
  return {
    ...side,
    url: `amqp://127.0.0.1:${proxy.port}`,
    saysGoodbye: false,
    send: async (bytes) => {
      channel.publish('', queue, bytes, { mandatory: true, persistent: false });
      await channel.waitForConfirms();
    },
    cut: async () => proxy.cut(),
    async stop() {
      await proxy.stop();
      await connection.close().catch(() => {});
    },
  };
}

/** Between device and broker, so that one connection can be broken without touching the other. */
async function openProxy(target: number) {
  const sockets = new Set<Socket>();
  const proxy = createServer((near) => {
    const far = createConnection(target, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
    }
    near.pipe(far).pipe(near);
  });
  const cut = () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as AddressInfo;
  return {
    port,
    cut,
    stop() {
      cut();
      return new Promise((resolve) => proxy.close(resolve));
    },
  };
}

describe('AMQP connector on RabbitMQ', () => {
  connectorContract(openRabbit, createAmqpConnector);

  it('retries every 2 s while its former connection still holds the queue', async () => {
    const dying = await connect(`amqp://${deviceId}:${encodeURIComponent(secret)}@127.0.0.1:${server.port}`);
    await (await dying.createChannel()).assertQueue(queue, { exclusive: true, autoDelete: true, durable: false });
    const logger = recordingLogger();
    const url = `amqp://127.0.0.1:${server.port}`;
    const connector = createAmqpConnector({ ...contractDevice, url, clock: systemClock, random: systemRandom, logger });
    const startedAt = Date.now();
    connector.start({ connected() {}, disconnected() {}, command() {} });
    await until(() => logger.lines.length === 2);
    expect(Date.now() - startedAt).toBeGreaterThan(1_900);
    expect(connector.isConnected).toBe(false);
    await dying.close();
    await until(() => connector.isConnected);
    await connector.stop();
  });
});
