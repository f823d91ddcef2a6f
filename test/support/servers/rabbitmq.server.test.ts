import { connect } from 'amqplib';
import mqtt from 'mqtt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RabbitmqServer, startRabbitmq } from './rabbitmq.ts';

describe('RabbitMQ in tests', () => {
  let server: RabbitmqServer;
  beforeAll(async () => {
    server = await startRabbitmq({
      plugins: ['rabbitmq_mqtt', 'rabbitmq_auth_backend_http'],
      users: [
        { name: 'gateway', password: 'secret/1', tags: ['administrator'] },
        { name: 'device', password: 'x', permissions: { configure: '^$', write: '^$', read: '^$' } },
      ],
      config: 'heartbeat = 10',
    });
  }, 120_000);
  afterAll(() => server.stop());

  async function echo(): Promise<string> {
    const connection = await connect(server.url);
    try {
      const channel = await connection.createConfirmChannel();
      const { queue } = await channel.assertQueue('', { exclusive: true });
      const arrived = new Promise<string>((resolve, reject) => {
        channel.consume(queue, (message) => resolve(message?.content.toString() ?? ''), { noAck: true }).catch(reject);
      });
      channel.sendToQueue(queue, Buffer.from('hello'));
      return await arrived;
    } finally {
      await connection.close();
    }
  }

  it('carries a message, also after kill -9 and a restart', { timeout: 120_000 }, async () => {
    expect(await echo()).toBe('hello');
    await server.kill9();
    await expect(echo()).rejects.toThrow('ECONNREFUSED');
    await server.restart();
    expect(await echo()).toBe('hello');
  });

  it('speaks MQTT on its own port', async () => {
    const client = await mqtt.connectAsync(server.mqttUrl, { reconnectPeriod: 0 });
    expect(client.connected).toBe(true);
    await client.endAsync();
    await expect(mqtt.connectAsync(`mqtt://127.0.0.1:${server.mqttPort}`, { reconnectPeriod: 0 })).rejects.toThrow();
  });

  it('holds users to their permissions', async () => {
    const connection = await connect(`amqp://device:x@127.0.0.1:${server.port}`);
    const channel = await connection.createChannel();
    channel.on('error', () => {});
    await expect(channel.assertQueue('mine')).rejects.toThrow('ACCESS_REFUSED');
    await connection.close();
  });
});
