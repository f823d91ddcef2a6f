// The ports of the embedded broker and their sockets: which are accepted, what closes one, and that a stop leaves none open.
import { connect, Server, type Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import { connect as connectTls, createSecureContext } from 'node:tls';
import type { Client } from 'aedes';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { BrokerPorts, type BrokerPortsOptions } from '../../../../src/link/channels/mqtt/broker-ports.ts';
import { defaultGateLimits } from '../../../../src/link/channels/mqtt/connection-gate.ts';
import { selfSigned } from '../../../http/self-signed.ts';
import { type RecordingLogger, recordingLogger } from '../../../support/quiet-logger.ts';
import { until } from '../../../support/until.ts';
import { createVirtualClock, type VirtualClock } from '../../../support/virtual-clock.ts';

const ping = Buffer.from([0xc0, 0]);

let clock: VirtualClock;
let logger: RecordingLogger;
let ports: BrokerPorts;
let cuts: unknown[][];
let heard: Buffer[];
let handled: Socket[];
const callers: Socket[] = [];

beforeEach(() => {
  clock = createVirtualClock(undefined, { settle: 'microtasks' });
  logger = recordingLogger();
  cuts = [];
  heard = [];
  handled = [];
});
afterEach(async () => {
  for (const caller of callers.splice(0)) caller.destroy();
  const closed = ports.stopListening();
  ports.cutAll();
  await closed;
});

async function open(options: Partial<BrokerPortsOptions> = {}): Promise<void> {
  ports = new BrokerPorts({
    ...{ host: '127.0.0.1', port: 0, clock, logger, limits: defaultGateLimits },
    onCut: (client, why) => cuts.push([client, why]),
    ...options,
  });
  await ports.open(((socket: Socket) => {
    handled.push(socket);
    socket.on('readable', () => {
      const chunk = socket.read();
      if (chunk) heard.push(chunk);
    });
    return { id: `client ${handled.length}` } as Client;
  }) as never);
}

interface Caller {
  socket: Socket;
  isClosed(): boolean;
}

/** Resolves when the server has accepted or closed the connection. */
async function call(port = ports.plain): Promise<Caller> {
  const before = handled.length;
  const caller = dial(port);
  await until(() => handled.length > before || caller.isClosed());
  return caller;
}

function dial(port = ports.plain): Caller {
  let isClosed = false;
  const socket = connect(port ?? 0, '127.0.0.1');
  callers.push(socket);
  socket.on('error', () => {}).on('close', () => (isClosed = true));
  socket.resume();
  return { socket, isClosed: () => isClosed };
}

const device = { deviceId: 'till', merchantId: 'm' };

it('are opened as configured, and closed by stopListening', async () => {
  await open({ port: undefined });
  expect([ports.plain, ports.secure]).toEqual([undefined, undefined]);
  await open({ secure: { port: 0, context: () => createSecureContext(selfSigned) } });
  expect([ports.plain, ports.secure]).toEqual([expect.any(Number), expect.any(Number)]);
  const { plain } = ports;
  await ports.stopListening();
  expect([ports.plain, ports.secure]).toEqual([undefined, undefined]);
  const late = dial(plain);
  await until(late.isClosed);
  expect(handled).toEqual([]);
});

it('set noDelay and keepAlive, and keep accepting after an error of the server', async () => {
  const listen = vi.spyOn(Server.prototype, 'listen');
  await open();
  const server = listen.mock.contexts[0] as Server;
  listen.mockRestore();
  expect(server).toMatchObject({ noDelay: true, keepAlive: true });
  server.emit('error', new Error('EMFILE'));
  server.emit('error', new Error('EMFILE'));
  expect(logger.lines.map(({ level }) => level)).toEqual(['error', 'error']);
  await call();
  expect(handled).toHaveLength(1);
});

it('refuse no connection before its login: a device without a place is refused then, one that has a place takes it over', async () => {
  await open({ limits: { ...defaultGateLimits, connections: 1 } });
  await call();
  expect(ports.loggedIn(handled[0] as Socket, device)).toBe(true);
  await call();
  expect(ports.loggedIn(handled[1] as Socket, { ...device, deviceId: 'other' })).toBe(false);
  expect(ports.loggedIn(handled[1] as Socket, device)).toBe(true);
});

it('close the oldest unauthenticated client for the next one, and none that has logged in', async () => {
  await open({ limits: { ...defaultGateLimits, withoutLoginPerAddress: 1 } });
  const till = await call();
  ports.loggedIn(handled[0] as Socket, device);
  const stranger = await call();
  await call();
  await until(stranger.isClosed);
  expect([till.isClosed(), handled.length]).toEqual([false, 3]);
  // loggedIn ignores a connection that the port does not have.
  ports.loggedIn({}, device);
});

it('count unauthenticated clients by address: many connections from one address leave others alone', async () => {
  const listen = vi.spyOn(Server.prototype, 'listen');
  await open({ limits: { ...defaultGateLimits, withoutLoginPerAddress: 1 } });
  const server = listen.mock.contexts[0] as Server;
  listen.mockRestore();
  const from = (remoteAddress: string | undefined) => {
    const [socket] = duplexPair();
    server.emit('connection', Object.assign(socket, { remoteAddress }) as unknown as Socket);
    return socket;
  };
  const [one, other, gone] = [from('192.0.2.1'), from('192.0.2.2'), from(undefined)];
  expect([one.destroyed, other.destroyed, gone.destroyed]).toEqual([false, false, false]);
  const next = from('192.0.2.1');
  expect([one.destroyed, other.destroyed, next.destroyed]).toEqual([true, false, false]);
});

it('close an unauthenticated client after ten seconds, and never a device', async () => {
  await open();
  const [till, stranger] = [await call(), await call()];
  ports.loggedIn(handled[0] as Socket, device);
  await clock.advance(9_999);
  expect([till.isClosed(), stranger.isClosed()]).toEqual([false, false]);
  await clock.advance(1);
  await until(stranger.isClosed);
  expect([till.isClosed(), clock.pending]).toEqual([false, 0]);
});

it('clear the login timer of a client that disconnects', async () => {
  await open();
  const { socket } = await call();
  expect(clock.pending).toBe(1);
  socket.destroy();
  await until(() => clock.pending === 0);
});

it('pass on packets within the size limit, and close and report the connection at a larger one', async () => {
  await open();
  const caller = await call();
  caller.socket.write(ping);
  await until(() => heard.length === 1);
  expect(heard).toEqual([ping]);
  // A first packet of 64 KiB and one byte.
  const large = await call();
  large.socket.write(Buffer.from([0x10, 0x81, 0x80, 0x04]));
  await until(large.isClosed);
  expect(cuts).toEqual([[{ id: 'client 2' }, 'too-large']]);
  expect([heard.length, caller.isClosed()]).toEqual([1, false]);
});

it('end a connection that fails', async () => {
  await open();
  const caller = await call();
  handled[0]?.emit('error', new Error('ECONNRESET'));
  await until(caller.isClosed);
});

it('close all connections on cutAll, and resolve stopListening only then', async () => {
  await open();
  const callers = [await call(), await call()];
  let isOver = false;
  const over = ports.stopListening().then(() => (isOver = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect(isOver).toBe(false);
  ports.cutAll();
  await over;
  await until(() => callers.every(({ isClosed }) => isClosed()));
});

it('use the current TLS certificate for each connection, and close a client that does not speak TLS', async () => {
  let asked = 0;
  const context = () => {
    asked += 1;
    return createSecureContext(selfSigned);
  };
  await open({ port: undefined, secure: { port: 0, context } });
  const socket = connectTls({ port: ports.secure ?? 0, host: '127.0.0.1', ca: selfSigned.cert });
  callers.push(socket);
  socket.on('error', () => {});
  await new Promise((resolve) => socket.once('secureConnect', resolve));
  socket.write(ping);
  await until(() => heard.length === 1);
  ports.loggedIn(handled[0] as Socket, device);
  const plain = await call(ports.secure);
  plain.socket.write(Buffer.alloc(20, ping));
  await until(plain.isClosed);
  const slow = await call(ports.secure);
  expect(asked).toBe(3);
  await clock.advance(10_000);
  await until(slow.isClosed);
  expect([socket.destroyed, heard.length]).toEqual([false, 1]);
});
