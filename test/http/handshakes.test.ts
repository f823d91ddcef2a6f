// TLS handshakes that stall: their number and their time are bounded, and others connect meanwhile. On real sockets.
import { get as httpsGet } from 'node:https';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, expect, it } from 'vitest';
import { maxHandshakesPerAddress } from '../../src/http/unauthenticated-connections.ts';
import { until } from '../support/until.ts';
import { openRaw, type RawConnection } from './raw-socket.ts';
import { base, createSample, type Sample } from './sample-server.ts';
import { selfSigned } from './self-signed.ts';

/** The begin of a ClientHello. */
const part = Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]);
let sample: Sample;
const opened: Socket[] = [];

afterEach(async () => {
  for (const socket of opened.splice(0)) socket.destroy();
  await sample.server.stop(0);
});

async function start(limits: { headersTimeoutMs?: number } = {}): Promise<number> {
  sample = createSample({ tls: selfSigned, limits });
  return (await sample.server.listen()).port;
}

async function stall(port: number): Promise<RawConnection> {
  const connection = await openRaw(port);
  opened.push(connection.socket);
  connection.socket.write(part);
  return connection;
}

it('above the bound of their address end the oldest, and no connection whose handshake has ended', async () => {
  const port = await start();
  const ended: Socket[] = [];
  for (let n = 0; n < maxHandshakesPerAddress + 10; n += 1) {
    const socket = connectTls({ port, host: '127.0.0.1', ca: selfSigned.cert });
    opened.push(socket);
    ended.push(socket);
    await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
  }
  const stalled: RawConnection[] = [];
  for (let n = 0; n < maxHandshakesPerAddress + 10; n += 1) stalled.push(await stall(port));
  await until(() => stalled.filter(({ socket }) => socket.closed).length === 10);
  expect(stalled.slice(0, 10).every(({ socket }) => socket.closed)).toBe(true);
  expect(ended.some((socket) => socket.closed)).toBe(false);
  const status = await new Promise((resolve, reject) => {
    const options = { ca: selfSigned.cert, agent: false };
    httpsGet(`https://127.0.0.1:${port}${base}/health/live`, options, ({ statusCode }) => resolve(statusCode)).on('error', reject);
  });
  expect(status).toBe(200);
});

it('end after the time for headers, and when the gateway stops', async () => {
  const port = await start({ headersTimeoutMs: 100 });
  const { untilClosed } = await stall(port);
  expect(await untilClosed()).toBe('');
  await sample.server.stop(0);
  const later = await stall(await start());
  await sample.server.stop(0);
  expect(await later.untilClosed()).toBe('');
});
