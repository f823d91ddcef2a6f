// The ports of the embedded broker and the sockets that stand on them: who is let in, what ends one, and that a stop leaves none.
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

/** Resolves when the other side has it too. */
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

it('are those that were asked for, and none after the end', async () => {
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

it('send at once, notice who is gone, and outlive trouble at the port', async () => {
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

it('have no room when all they have is taken by devices, and room again when one leaves', async () => {
  await open({ limits: { ...defaultGateLimits, connections: 1 } });
  const device = await call();
  ports.loggedIn(handled[0] as Socket);
  const second = await call();
  await until(second.isClosed);
  expect(handled).toHaveLength(1);
  expect(logger.lines.map(({ level, fields }) => [level, fields])).toEqual([['warn', { connections: 1 }]]);
  device.socket.destroy();
  await until(() => handled[0]?.closed === true);
  await call();
  expect(handled).toHaveLength(2);
});

it('cut the oldest unauthenticated client for the next one, and none that has logged in', async () => {
  await open({ limits: { ...defaultGateLimits, withoutLoginPerAddress: 1 } });
  const device = await call();
  ports.loggedIn(handled[0] as Socket);
  const stranger = await call();
  await call();
  await until(stranger.isClosed);
  expect([device.isClosed(), handled.length]).toEqual([false, 3]);
  // Whatever aedes calls a connection: one that was never let in is none.
  ports.loggedIn({});
});

it('count unauthenticated clients by their address: one with many connections takes no room from others', async () => {
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

it('give an unauthenticated client ten seconds and a device all the time it wants', async () => {
  await open();
  const [device, stranger] = [await call(), await call()];
  ports.loggedIn(handled[0] as Socket);
  await clock.advance(9_999);
  expect([device.isClosed(), stranger.isClosed()]).toEqual([false, false]);
  await clock.advance(1);
  await until(stranger.isClosed);
  expect([device.isClosed(), clock.pending]).toEqual([false, 0]);
});

it('leave no deadline behind for one that went by itself', async () => {
  await open();
  const { socket } = await call();
  expect(clock.pending).toBe(1);
  socket.destroy();
  await until(() => clock.pending === 0);
});

it('pass on what is within its size, and end the connection at what is not, which is reported with its client', async () => {
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

it('end all connections when they are cut, and are closed only when no connection is left', async () => {
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

it('speak TLS with the certificate of the moment, and end a client that speaks none', async () => {
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
  ports.loggedIn(handled[0] as Socket);
  const plain = await call(ports.secure);
  plain.socket.write(Buffer.alloc(20, ping));
  await until(plain.isClosed);
  const slow = await call(ports.secure);
  expect(asked).toBe(3);
  await clock.advance(10_000);
  await until(slow.isClosed);
  expect([socket.destroyed, heard.length]).toEqual([false, 1]);
});
