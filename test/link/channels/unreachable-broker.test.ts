// A broker that is down, silent or refusing when the gateway starts: the channel keeps trying and can be stopped at any moment.
import { createServer, type Server, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { systemClock, systemRandom } from '../../../src/kernel/system.ts';
import type { Channel } from '../../../src/link/channel.ts';
import { MqttChannel } from '../../../src/link/channels/mqtt/mqtt.ts';
import { RabbitmqChannel } from '../../../src/link/channels/queue/rabbitmq.ts';
import { createLink } from '../../../src/link/link.ts';
import { command } from '../../contract/channel.ts';
import { createRecorder } from '../../contract/recorder.ts';
import { freePort } from '../../support/free-port.ts';
import { quietLogger } from '../../support/quiet-logger.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { createFakeChannel } from '../fake-channel.ts';
import { deviceId } from '../link-bench.ts';

const shared = { gatewayId: 'gateway-1', clock: systemClock, random: systemRandom, logger: quietLogger };
const outside: [string, (port: number) => Channel][] = [
  ['MQTT', (port) => new MqttChannel({ url: `mqtt://127.0.0.1:${port}`, ...shared })],
  ['RabbitMQ', (port) => new RabbitmqChannel({ url: `amqp://127.0.0.1:${port}`, ...shared })],
];

describe.each(outside)('%s', (_name, create) => {
  it('starts without its broker, keeps trying, sends nothing, and stops', async () => {
    const port = await freePort();
    const channel = create(port);
    const recorder = createRecorder();
    await channel.start(recorder);
    expect(channel.isConnected).toBe(false);
    await expect(channel.send(deviceId, command(), 1_000)).rejects.toMatchObject({ name: 'ChannelDown' });
    const knocked = new Promise<Server>((resolve) => {
      const server = createServer((socket) => {
        socket.destroy();
        resolve(server);
      }).listen(port, '127.0.0.1');
    });
    const server = await knocked;
    await channel.stop();
    await new Promise<void>((resolve) => server.close(() => resolve()));
    expect(recorder.told).toEqual([]);
  });
});

it('MQTT times out on a broker that accepts the connection and sends nothing, and retries', async () => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const clock = createVirtualClock();
  const { port } = server.address() as { port: number };
  const channel = new MqttChannel({ url: `mqtt://127.0.0.1:${port}`, ...shared, clock });
  const started = channel.start(createRecorder());
  await clock.runUntil(() => sockets.length === 2, 60_000).catch(() => {});
  await started;
  expect(sockets.length).toBeGreaterThanOrEqual(2);
  await channel.stop();
  expect(clock.pending).toBe(0);
  for (const socket of sockets) socket.destroy();
  await new Promise<void>((resolve) => server.close(() => resolve()));
});

it('a channel that cannot start stops the others', async () => {
  const queue = createFakeChannel('queue');
  const broken: Channel = { ...createFakeChannel('mqtt'), start: () => Promise.reject(new Error('The port is taken.')) };
  const link = createLink({ ...shared, channels: [broken, queue] });
  await expect(link.start()).rejects.toThrow('The port is taken.');
  expect(queue.isConnected).toBe(false);
});
