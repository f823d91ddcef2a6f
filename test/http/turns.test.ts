// What one connection can do to the others, and what it cannot: its requests are handled one at a time and in their order, its data a piece
// at a time, and what it sends too early waits in the network. On real sockets, plain and TLS.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { openRaw, parseAnswers, type RawConnection } from './raw-socket.ts';
import { base, createSample, deviceId, deviceSecret, type Sample } from './sample-server.ts';
import { selfSigned } from './self-signed.ts';

let sample: Sample;
let port: number;
let sockets: Socket[];
let arrived: IncomingMessage[];
const opened: RawConnection[] = [];

async function start(tls?: typeof selfSigned): Promise<void> {
  sample = createSample({ tls });
  ({ port } = await sample.server.listen());
  sockets = [];
  arrived = [];
  const { server } = sample.server.app;
  server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => sockets.push(socket));
  server.on('request', (request: IncomingMessage) => arrived.push(request));
}

async function open(tls = false): Promise<RawConnection> {
  const dial = () => connectTls({ port, host: '127.0.0.1', ca: selfSigned.cert }) as Socket;
  const connection = tls ? await openRaw(port, dial) : await openRaw(port);
  opened.push(connection);
  await until(() => sockets.length === opened.length);
  return connection;
}

afterEach(async () => {
  for (const { socket } of opened.splice(0)) socket.destroy();
  sample.release();
  await sample.server.stop(0);
});

const head = (path: string, more: string) => `POST ${base}${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${more}\r\n`;
const post = (path: string, body: string) => head(path, `Content-Length: ${body.length}\r\n`) + body;
const slow = post('/test/slow', '{}');
const echo = (n: number) => post('/test/echo', JSON.stringify({ n }));
const chunked = (n: number) => {
  const body = JSON.stringify({ n }).replaceAll(/./g, '1\r\n$&\r\n');
  return `${head('/test/echo', 'Transfer-Encoding: chunked\r\n')}${body}0\r\n\r\n`;
};
const live = `GET ${base}/health/live HTTP/1.1\r\nHost: x\r\n\r\n`;
const padded = live.replace('Host: x', `Host: x\r\nX: ${'x'.repeat(1_000)}`);
const answersIn = (text: string) => text.split('HTTP/1.1 ').length - 1;
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe.each([
  ['HTTP', undefined],
  ['HTTPS', selfSigned],
])('pipelined requests over %s', (_name, tls) => {
  beforeEach(() => start(tls));

  it('are all answered, in their order, whatever their sizes', async () => {
    const connection = await open(tls !== undefined);
    const large = (n: number) => post('/test/echo', JSON.stringify({ n, text: 'x'.repeat(3_000) }));
    const requests = Array.from({ length: 400 }, (_, n) => [echo, chunked, () => live, large][n % 4]?.(n) ?? '');
    // In pieces that do not end where the requests do.
    const text = requests.join('');
    for (let at = 0; at < text.length; at += 7_001) connection.socket.write(text.slice(at, at + 7_001));
    const answers = parseAnswers(await connection.until((received) => answersIn(received) === 400 && received.endsWith('}')));
    const numbers = answers.map(({ body }) => JSON.parse(body).body?.n);
    expect(numbers).toEqual(Array.from({ length: 400 }, (_, n) => (n % 4 === 2 ? undefined : n)));
  });

  it('are handled one at a time, and the rest waits in the network', async () => {
    const connection = await open(tls !== undefined);
    connection.socket.write(slow + slow + live.repeat(500) + padded.repeat(500));
    await until(() => sample.runs['slow'] === 1 && arrived.length > 1);
    for (let turns = 0; turns < 100; turns += 1) await turn();
    expect(sample.runs['slow']).toBe(1);
    expect(arrived.length).toBeLessThan(60);
    expect(sockets[0]?.bytesRead).toBeLessThan(200_000);
    sample.release();
    await connection.until((text) => answersIn(text) === 1_002);
    expect(sample.runs['slow']).toBe(2);
  });

  it('give way to other connections', async () => {
    const [many, one] = [await open(tls !== undefined), await open(tls !== undefined)];
    many.socket.write(echo(1).repeat(400));
    one.socket.write(live);
    await one.until((text) => answersIn(text) === 1);
    expect(sample.runs['echo'] ?? 0).toBeLessThan(40);
    await many.until((text) => answersIn(text) === 400);
  });
});

describe('a waiting request', () => {
  beforeEach(() => start());

  it('is never handled if the connection ends', async () => {
    const { socket } = await open();
    socket.write(slow + echo(1));
    await until(() => arrived.length === 2);
    socket.destroy();
    await until(() => sockets[0]?.closed === true);
    sample.release();
    for (let turns = 0; turns < 10; turns += 1) await turn();
    expect(sample.runs).toEqual({ slow: 1 });
  });

  it('whose body does not arrive is dropped after the answer before it, which no other answer precedes', async () => {
    await sample.server.stop(0);
    sample = createSample({ limits: { requestTimeoutMs: 100, headersTimeoutMs: 100, checkIntervalMs: 20 } });
    ({ port } = await sample.server.listen());
    const answers: ServerResponse[] = [];
    sample.server.app.server.on('connection', (socket) => sockets.push(socket)).on('request', (_request, answer) => answers.push(answer));
    const connection = await open();
    connection.socket.write(slow + head('/test/echo', 'Content-Length: 100\r\n'));
    await until(() => answers[0]?.shouldKeepAlive === false);
    sample.release();
    const received = parseAnswers(await connection.untilClosed());
    expect(received.map(({ body, headers }) => [JSON.parse(body).done, headers['connection']])).toEqual([[true, 'close']]);
    expect(sample.runs).toEqual({ slow: 1 });
  });
});

describe('an upgrade or CONNECT behind a request whose answer is due', () => {
  beforeEach(() => start());

  const login = Buffer.from(`${deviceId}:${deviceSecret}`).toString('base64');
  const upgrade = (version: number) =>
    `GET ${base}/queue HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nAuthorization: Basic ${login}\r\n` +
    `Sec-WebSocket-Version: ${version}\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`;

  it.each([
    ['an upgrade that would be refused', upgrade(12)],
    ['an upgrade', upgrade(13)],
  ])('is an ordinary request (%s), answered after it', async (_name, second) => {
    let upgraded = 0;
    sample.server.onUpgrade('/queue', () => (upgraded += 1));
    const connection = await open();
    connection.socket.write(slow + second);
    await until(() => arrived.length === 2);
    sample.release();
    const received = parseAnswers(await connection.until((text) => answersIn(text) === 2 && text.endsWith('}')));
    expect(received.map(({ status }) => status)).toEqual([200, 404]);
    expect(upgraded).toBe(0);
  });

  const tunnel = 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n';
  const tunnelled = () => new Promise((resolve) => sample.server.app.server.on('connect', resolve));

  it('is dropped (CONNECT): that answer is sent, and closes the connection', async () => {
    const [connection, seen] = [await open(), tunnelled()];
    connection.socket.write(slow + tunnel);
    await seen;
    sample.release();
    const received = parseAnswers(await connection.untilClosed());
    expect(received.map(({ status, body }) => [status, JSON.parse(body).done])).toEqual([[200, true]]);
  });

  it('keeps no place of a caller who has gone (CONNECT)', async () => {
    let closed = 0;
    sample.server.app.server.on('request', (_request, response: ServerResponse) => response.once('close', () => (closed += 1)));
    const [{ socket }, seen] = [await open(), tunnelled()];
    socket.write(slow + tunnel);
    await seen;
    socket.destroy();
    await until(() => closed === 1);
  });
});

describe('many connections of one address', () => {
  beforeEach(() => start());

  it('read a few pieces of their bodies in a turn, together, and all of them in the end', async () => {
    const count = 60;
    const connections = await Promise.all(Array.from({ length: count }, () => open()));
    let [pieces, turns, piecesOfTurn, isWatching] = [0, 0, 0, true];
    const watch = () => {
      if (piecesOfTurn > 0) turns += 1;
      pieces += piecesOfTurn;
      piecesOfTurn = 0;
      if (isWatching) setImmediate(watch);
    };
    for (const socket of sockets) socket.on('data', () => (piecesOfTurn += 1));
    watch();
    const body = JSON.stringify({ text: 'x'.repeat(200_000) });
    for (const { socket } of connections) socket.write(post('/test/echo', body));
    await Promise.all(connections.map((connection) => connection.until((text) => answersIn(text) === 1)));
    await until(() => pieces > (count * body.length) / 1_024);
    isWatching = false;
    // Of the pieces of sixty connections, the first turns have those of all, because each has read nothing before.
    expect(pieces / turns).toBeLessThan(100);
  });
});

describe('a connection', () => {
  beforeEach(() => start());

  it('that sends a body in one-byte chunks gives way, and keeps nothing of it for a call without a body', async () => {
    const [dripping, one] = [await open(), await open()];
    let chunks = 0;
    sample.server.app.server.prependOnceListener('request', (request: IncomingMessage) => request.on('data', () => (chunks += 1)));
    dripping.socket.write(head('/test/echo', 'Transfer-Encoding: chunked\r\n') + '1\r\n1\r\n'.repeat(10_000));
    one.socket.write(live);
    await one.until((text) => answersIn(text) === 1);
    expect(chunks).toBeLessThan(5_000);

    const unread = await open();
    unread.socket.pause();
    unread.socket.write(`GET ${base}/docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n`);
    const body = '1\r\n1\r\n'.repeat(10_000);
    unread.socket.write(body);
    await until(() => (sockets[2]?.bytesRead ?? 0) > body.length && sockets[2]?.readableLength === 0);
    expect(arrived.find(({ method, url }) => method === 'GET' && url?.includes('docs'))?.readableLength).toBe(0);
  });

  it('that is upgraded loses no data that follows at once', async () => {
    const received: Buffer[] = [];
    await sample.server.stop(0);
    sample = createSample({
      findDevice: async () => {
        await turn();
        return { deviceId, merchantId: 'm' };
      },
    });
    sample.server.onUpgrade('/queue', ({ socket, head: first }) => {
      received.push(first);
      socket.on('data', (chunk: Buffer) => received.push(chunk));
    });
    ({ port } = await sample.server.listen());
    sample.server.app.server.on('connection', (socket) => sockets.push(socket));
    const { socket } = await open();
    const login = Buffer.from(`${deviceId}:${deviceSecret}`).toString('base64');
    const upgrade = `GET ${base}/queue HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nAuthorization: Basic ${login}\r\n`;
    const frames = Buffer.from(Array.from({ length: 100_000 }, (_, n) => n % 251));
    socket.write(`${upgrade}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`);
    socket.write(frames);
    await until(() => Buffer.concat(received).length === frames.length);
    expect(Buffer.concat(received).equals(frames)).toBe(true);
  });
});
