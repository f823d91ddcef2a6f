// Anonymous callers that request the largest public file and do not read it [D62]: callers with a key and other anonymous callers are
// still served, even at the same address.
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type RecordingLogger, recordingLogger } from '../support/quiet-logger.ts';
import { base, createSample, posKey, type Sample } from './sample-server.ts';

const places = 20;
const addresses = ['127.0.0.2', '127.0.0.3'];
let sample: Sample;
let logger: RecordingLogger;
let port: number;
const sockets: Socket[] = [];
beforeEach(async () => {
  logger = recordingLogger();
  sample = createSample({ logger, limits: { requestsInFlight: places } });
  ({ port } = await sample.server.listen());
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await sample.server.stop(0);
});

const askForMuch = `GET ${base}/docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: localhost\r\n\r\n`;

function ask(localAddress: string, text: string, isRead: boolean): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    sockets.push(socket);
    socket.on('error', () => {});
    if (!isRead) socket.pause();
    socket.once('connect', () => socket.write(text, () => resolve(socket)));
  });
}

async function statusOf(localAddress: string, path: string): Promise<string> {
  const socket = await ask(localAddress, `GET ${base}${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`, true);
  let text = '';
  socket.setEncoding('latin1').on('data', (part: string) => (text += part));
  await new Promise((resolve) => socket.once('close', resolve));
  return text.slice(0, 12);
}

/** Each connection sends requests until an answer is stuck: the first two or three fit into the socket buffers. */
async function press(): Promise<void> {
  let moved = 0;
  sample.server.app.server.on('request', (_request, response) => {
    moved += 1;
    response.once('close', () => (moved += 1));
  });
  const pressing: Socket[] = [];
  for (let n = 0; n < places * 0.6; n += 1) for (const address of addresses) pressing.push(await ask(address, askForMuch, false));
  for (let round = 0; round < 6; round += 1) {
    let before = -1;
    // Wait until nothing moves any more.
    await expect.poll(() => before === (before = moved), { interval: 200, timeout: 20_000 }).toBe(true);
    for (const socket of pressing) socket.write(askForMuch);
  }
}

it('unread answers prevent neither a payment of a till nor a page for another anonymous caller', async () => {
  const till = `/Device/sample/Status?APIKey=${posKey}&DeviceID=a`;
  await press();
  for (let time = 0; time < 3; time += 1)
    for (const address of [...addresses, '127.0.0.4']) {
      expect([address, await statusOf(address, till)]).toEqual([address, 'HTTP/1.1 200']);
      expect([address, await statusOf(address, '/docs')]).toEqual([address, 'HTTP/1.1 200']);
    }
  // A closed connection is not logged as an error.
  expect(logger.lines.filter(({ level }) => level === 'error')).toEqual([]);
}, 60_000);
