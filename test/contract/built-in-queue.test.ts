// The built-in WebSocket queue keeps the channel's contract.
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { systemClock } from '../../src/kernel/system.ts';
import { BuiltInQueue } from '../../src/link/channels/queue/built-in-queue.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { answerTo, channelContract, command, deviceA, deviceB, gatewayId } from './channel.ts';
import { startHttp } from './queue-server.ts';
import { createRecorder } from './recorder.ts';
import { connectSocketDevice } from './test-device.ts';

const handshakeHeaders = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
};

/** What the server answers to a handshake that it does not take. */
function handshake(port: number, headers: Record<string, string>): Promise<{ status: number | undefined; body: unknown; login: unknown }> {
  return new Promise((resolve, reject) => {
    const asked = request({
      port,
      host: '127.0.0.1',
      path: '/tillgate/queue',
      headers: { ...handshakeHeaders, ...headers },
    });
    asked.on('error', reject);
    asked.on('upgrade', () => reject(new Error('The handshake was taken.')));
    asked.on('response', (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode, body: JSON.parse(text), login: response.headers['www-authenticate'] }),
      );
    });
    asked.end();
  });
}

const basic = (deviceId: string, secret: string) => ({ authorization: `Basic ${Buffer.from(`${deviceId}:${secret}`).toString('base64')}` });

channelContract(
  'built-in queue',
  async () => {
    const http = await startHttp();
    return {
      createChannel: () => http.use(new BuiltInQueue({ clock: systemClock, logger: quietLogger })),
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
  it('refuses a login that is missing or wrong with 10, HTTP 401 and the envelope', async () => {
    const http = await startHttp();
    const queue = http.use(new BuiltInQueue({ clock: systemClock, logger: quietLogger }));
    await queue.start(createRecorder());
    const wrong: Record<string, string>[] = [
      {},
      { authorization: 'Basic' },
      { authorization: 'Basic !!!' },
      { authorization: 'Bearer x' },
      basic('no-uuid', deviceA.secret),
      basic(deviceA.deviceId, 'wrong'),
      basic(deviceA.deviceId, ''),
    ];
    for (const headers of wrong) {
      expect(await handshake(http.port, headers)).toEqual({
        status: 401,
        body: { errorCode: 10, errorMessage: expect.stringMatching(/^Invalid_API_Key: .*Authorization.*\.$/) },
        login: 'Basic realm="tillgate"',
      });
    }
    await queue.stop();
    await http.stop();
  });

  it('refuses a handshake that is none, and any while it is not open, with the envelope', async () => {
    const http = await startHttp();
    const queue = http.use(new BuiltInQueue({ clock: systemClock, logger: quietLogger }));
    const good = basic(deviceA.deviceId, deviceA.secret);
    expect(await handshake(http.port, good)).toMatchObject({ status: 503, body: { errorCode: 1 } });
    await queue.start(createRecorder());
    expect(await handshake(http.port, { ...good, 'sec-websocket-version': '7' })).toMatchObject({ status: 426, body: { errorCode: 40 } });
    expect(await handshake(http.port, { ...good, 'sec-websocket-key': 'short' })).toMatchObject({ status: 400, body: { errorCode: 40 } });
    expect(await handshake(http.port, { ...good, 'sec-websocket-protocol': 'a,,b' })).toMatchObject({
      status: 400,
      body: { errorCode: 40, errorMessage: expect.stringContaining('handshake') },
    });
    await queue.stop();
    await http.stop();
  });

  it('closes a socket that does not answer pings', async () => {
    const http = await startHttp();
    const clock = createVirtualClock();
    const queue = http.use(new BuiltInQueue({ clock, logger: quietLogger }));
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
    const queue = http.use(new BuiltInQueue({ clock: systemClock, logger: quietLogger }));
    await queue.start(createRecorder());
    const device = await connectSocketDevice(http.url, deviceA);
    queue.disconnectDevice(deviceA.deviceId);
    await device.ended;
    await expect(queue.send(deviceA.deviceId, command(), 1_000)).rejects.toMatchObject({ name: 'DeviceNotOnChannel' });
    await queue.stop();
    await http.stop();
  });

  it('reads nothing more of a device that was cut off, and ends its socket after a second if the device does not', async () => {
    const http = await startHttp();
    const queue = http.use(new BuiltInQueue({ clock: systemClock, logger: quietLogger }));
    const recorder = createRecorder();
    await queue.start(recorder);
    const stubborn = await openStubbornSocket(http.port);
    const { deviceId } = deviceA;
    const say = () => {
      stubborn.send({ answer: answerTo(command(), deviceId) });
      stubborn.send({ presence: { v: 1, device: deviceId, online: true, clock: new Date().toISOString() } });
    };
    say();
    await recorder.until(({ what }) => what === 'presence', 'what it says before');
    const since = recorder.told.length;
    const cutAt = performance.now();
    queue.disconnectDevice(deviceId);
    const talking = setInterval(say, 20);
    await stubborn.ended;
    clearInterval(talking);
    expect(performance.now() - cutAt).toBeGreaterThan(900);
    expect(performance.now() - cutAt).toBeLessThan(5_000);
    expect(recorder.told.slice(since)).toEqual([{ what: 'gone', deviceId }]);
    await queue.stop();
    await http.stop();
  });
});

/** The WebSocket of device A with a client that knows of no closing handshake. */
async function openStubbornSocket(port: number) {
  const asked = request({
    ...{ port, host: '127.0.0.1', path: '/tillgate/queue' },
    headers: { ...handshakeHeaders, ...basic(deviceA.deviceId, deviceA.secret) },
  });
  asked.end();
  const socket = await new Promise<Socket>((resolve, reject) => {
    asked.once('upgrade', (_response, upgraded: Socket) => resolve(upgraded));
    asked.once('error', reject);
  });
  socket.on('error', () => {}).resume();
  return {
    ended: new Promise<void>((resolve) => socket.once('close', () => resolve())),
    send(frame: object): void {
      const payload = Buffer.from(JSON.stringify(frame));
      // A whole frame of text, its length in two bytes, masked with zeros.
      socket.write(Buffer.concat([Buffer.from([0x81, 0xfe, payload.length >> 8, payload.length & 0xff, 0, 0, 0, 0]), payload]));
    },
  };
}
