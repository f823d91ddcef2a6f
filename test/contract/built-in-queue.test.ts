// The built-in WebSocket queue keeps the channel's contract.
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { systemClock } from '../../src/kernel/system.ts';
import { type BuiltInQueue, createBuiltInQueue } from '../../src/link/channels/built-in-queue.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { answerTo, channelContract, checkDevice, command, deviceA, deviceB, gatewayId } from './channel.ts';
import { createRecorder } from './recorder.ts';
import { connectSocketDevice } from './test-device.ts';

async function startHttp() {
  let queue: BuiltInQueue | undefined;
  const server = createServer();
  server.on('upgrade', (incoming, socket, head) => queue?.handleUpgrade(incoming, socket, head));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `ws://127.0.0.1:${port}/tillgate/queue`,
    use(given: BuiltInQueue) {
      queue = given;
      return given;
    },
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

channelContract(
  'built-in queue',
  async () => {
    const http = await startHttp();
    return {
      createChannel: () => http.use(createBuiltInQueue({ clock: systemClock, logger: quietLogger, checkDevice })),
      connectDevice: (login) => connectSocketDevice(http.url, login),
      async intrude() {
        const socket = await connectSocketDevice(http.url, deviceA);
        socket.answer(gatewayId, answerTo(command(), deviceB.deviceId));
        socket.presence({ v: 1, device: deviceB.deviceId, online: true, clock: new Date().toISOString() });
        return {
          overheard: () => socket.commands,
          async end() {
            socket.die();
          },
        };
      },
      secondConnection: 'replaces',
      hearsOfDeath: true,
      stop: http.stop,
    };
  },
  'embedded',
);

describe('built-in queue, beyond the contract', () => {
  it('refuses with the envelope', async () => {
    const http = await startHttp();
    const queue = http.use(createBuiltInQueue({ clock: systemClock, logger: quietLogger, checkDevice }));
    await queue.start(createRecorder());
    const { status, body } = await new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
      const asked = request({
        port: http.port,
        host: '127.0.0.1',
        path: '/tillgate/queue',
        headers: {
          connection: 'Upgrade',
          upgrade: 'websocket',
          'sec-websocket-version': '13',
          'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
        },
      });
      asked.on('error', reject);
      asked.on('response', (response) => {
        let text = '';
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode, body: text }));
      });
      asked.end();
    });
    expect(status).toBe(401);
    expect(JSON.parse(body)).toMatchObject({ errorCode: 40, errorMessage: expect.stringContaining('HTTP Basic') });
    await queue.stop();
    await http.stop();
  });

  it('closes a socket that does not answer pings', async () => {
    const http = await startHttp();
    const clock = createVirtualClock();
    const queue = http.use(createBuiltInQueue({ clock, logger: quietLogger, checkDevice }));
    const recorder = createRecorder();
    await queue.start(recorder);
    const dead = new WebSocket(http.url, { auth: `${deviceA.deviceId}:${deviceA.secret}`, autoPong: false });
    await new Promise((resolve) => dead.once('open', resolve));
    const alive = await connectSocketDevice(http.url, deviceB);
    const closed = new Promise((resolve) => dead.once('close', resolve));
    await clock.advance(15_000);
    await clock.settle();
    await clock.advance(15_000);
    await closed;
    expect(await recorder.until(({ what }) => what === 'gone', 'gone')).toMatchObject({ deviceId: deviceA.deviceId });
    await queue.send(deviceB.deviceId, command(), 1_000);
    await alive.nextCommand();
    alive.die();
    await queue.stop();
    expect(clock.pending).toBe(0);
    await http.stop();
  });

  it('cuts off a device that was disabled', async () => {
    const http = await startHttp();
    const queue = http.use(createBuiltInQueue({ clock: systemClock, logger: quietLogger, checkDevice }));
    await queue.start(createRecorder());
    const device = await connectSocketDevice(http.url, deviceA);
    queue.disconnectDevice(deviceA.deviceId);
    await device.ended;
    await expect(queue.send(deviceA.deviceId, command(), 1_000)).rejects.toMatchObject({ name: 'DeviceNotOnChannel' });
    await queue.stop();
    await http.stop();
  });
});
