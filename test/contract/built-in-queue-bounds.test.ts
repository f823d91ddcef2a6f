// What one wild device can do on the built-in queue: it is read slowly, asked to wait, or ended, and its neighbour notices nothing.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { BuiltInQueue } from '../../src/link/channels/queue/built-in-queue.ts';
import { quietLogger } from '../support/quiet-logger.ts';
import { createVirtualClock, type VirtualClock } from '../support/virtual-clock.ts';
import { answerTo, command, deviceA, deviceB, gatewayId } from './channel.ts';
import { startHttp } from './queue-server.ts';
import { createRecorder, type Recorder } from './recorder.ts';
import { connectSocketDevice } from './test-device.ts';

let http: Awaited<ReturnType<typeof startHttp>>;
let queue: BuiltInQueue;
let recorder: Recorder;
let clock: VirtualClock;

beforeEach(async () => {
  http = await startHttp();
  clock = createVirtualClock();
  recorder = createRecorder();
  await open();
});

async function open(more: { messagesPerS?: number } = {}): Promise<void> {
  queue = http.use(new BuiltInQueue({ clock, logger: quietLogger, ...more }));
  await queue.start(recorder);
}

async function restart(more: { messagesPerS: number }): Promise<void> {
  await queue.stop();
  await open(more);
}
afterEach(async () => {
  await queue.stop();
  await http.stop();
});

async function wild(): Promise<WebSocket> {
  const socket = new WebSocket(http.url, { auth: `${deviceA.deviceId}:${deviceA.secret}` });
  socket.on('error', () => {});
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  return socket;
}

async function worksForB(): Promise<void> {
  const device = await connectSocketDevice(http.url, deviceB);
  const sent = command();
  await queue.send(deviceB.deviceId, sent, 1_000);
  device.answer(gatewayId, answerTo(await device.nextCommand(), deviceB.deviceId));
  await recorder.until((told) => told.what === 'answer' && told.answer.id === sent.id, 'the answer');
  await device.close();
}

describe('one wild device', () => {
  it('that floods presence is read slowly, and its neighbour waits for nothing', async () => {
    const socket = await wild();
    const heard = () => recorder.told.filter(({ what }) => what === 'presence').length;
    const frame = JSON.stringify({ presence: { v: 1, device: deviceA.deviceId, online: true, clock: new Date().toISOString() } });
    for (let count = 0; count < 10_000; count += 1) socket.send(frame);
    await expect.poll(heard).toBeGreaterThan(500);
    await worksForB();
    const early = heard();
    expect(early).toBeLessThan(3_000);
    await worksForB();
    expect(heard()).toBe(early);
    for (let count = 0; heard() < 10_000 && count < 400; count += 1) {
      await clock.advance(250);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await expect.poll(heard).toBe(10_000);
    // Its own pings and ours went through: reading slowly has not ended it.
    expect(socket.readyState).toBe(WebSocket.OPEN);
    socket.terminate();
  });

  it('gets its pings answered, and is ended when it asks without end and does not read', async () => {
    await restart({ messagesPerS: 10_000 });
    const socket = await wild();
    const ponged = new Promise((resolve) => socket.once('pong', resolve));
    socket.ping();
    await ponged;
    const ended = new Promise((resolve) => socket.once('close', resolve));
    socket.pause();
    const most = 'x'.repeat(125);
    for (let count = 0; count < 400_000; count += 1) socket.ping(most);
    const isGone = () => recorder.told.some(({ what }) => what === 'gone');
    // To read all 52 MB of them would take 6,400 turns; the answers may heap up to 4 MiB, and somewhat more in the network.
    let turns = 0;
    for (; !isGone() && turns < 7_000; turns += 1) {
      await clock.advance(250);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(turns).toBeLessThan(1_500);
    socket.resume();
    await ended;
  }, 60_000);

  it('that sends a message in many empty fragments is ended, and one in a few is not', async () => {
    const socket = await wild();
    const presence = JSON.stringify({ presence: { v: 1, device: deviceA.deviceId, online: true, clock: new Date().toISOString() } });
    for (let fragment = 0; fragment < 14; fragment += 1) socket.send('', { fin: false });
    socket.send(presence.slice(0, 20), { fin: false });
    socket.send(presence.slice(20), { fin: true });
    await recorder.until((told) => told.what === 'presence', 'the presence');
    const ended = new Promise((resolve) => socket.once('close', resolve));
    for (let fragment = 0; fragment < 17; fragment += 1) socket.send('', { fin: false });
    expect(await ended).toBe(1008);
    await recorder.until((told) => told.what === 'dropped' && told.reason === 'too-large', 'the drop');
    await worksForB();
  });

  it('that connects without end is asked to wait, and let in again later', async () => {
    let refused = 0;
    for (let count = 0; count < 70; count += 1) {
      await wild().then(
        (socket) => socket.terminate(),
        (error: Error) => {
          expect(error.message).toContain('429');
          refused += 1;
        },
      );
    }
    expect(refused).toBe(10);
    expect(recorder.told.filter(({ what }) => what === 'dropped')).toHaveLength(10);
    await worksForB();
    await clock.advance(5_000);
    (await wild()).terminate();
  });
});
