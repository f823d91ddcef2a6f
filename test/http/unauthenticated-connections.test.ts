// Which connection is closed when there are too many unauthenticated ones, on fake sockets.
import { EventEmitter } from 'node:events';
import type { Server, Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import {
  createUnauthenticatedConnections,
  maxHandshakesPerAddress,
  type UnauthenticatedConnections,
  type UnauthenticatedConnectionsOptions,
} from '../../src/http/unauthenticated-connections.ts';

class FakeSocket extends EventEmitter {
  readonly remoteAddress: string | undefined;
  readonly remotePort: number;
  cuts = 0;

  constructor(remoteAddress: string | undefined, remotePort: number) {
    super();
    this.remoteAddress = remoteAddress;
    this.remotePort = remotePort;
  }

  /** The socket closes later. */
  destroy(): void {
    this.cuts += 1;
  }

  asSocket = () => this as unknown as Socket;
}

let nextPort = 1;

function doorOf(options: Partial<UnauthenticatedConnectionsOptions> = {}) {
  const server = new EventEmitter();
  const unauthenticated: UnauthenticatedConnections = createUnauthenticatedConnections({
    perAddress: 2,
    inAll: 100,
    trustedProxies: [],
    ...options,
  });
  unauthenticated.attach(server as Server);
  const come = (address: string | null = '192.0.2.1') => {
    const socket = new FakeSocket(address ?? undefined, (nextPort += 1));
    server.emit('connection', socket);
    return socket;
  };
  const endHandshake = (socket: FakeSocket) => server.emit('secureConnection', new FakeSocket(socket.remoteAddress, socket.remotePort));
  return { unauthenticated, come, endHandshake };
}

describe('connections of one address', () => {
  it('above the limit: the oldest is closed, and other addresses are not affected', () => {
    const { unauthenticated, come } = doorOf();
    const neighbour = come('192.0.2.9');
    const [first, second] = [come(), come()];
    expect([first.cuts, unauthenticated.count]).toEqual([0, 3]);
    const third = come();
    expect([neighbour, first, second, third].map(({ cuts }) => cuts)).toEqual([0, 1, 0, 0]);
    come();
    expect([second.cuts, third.cuts, unauthenticated.count]).toEqual([1, 0, 3]);
  });

  it('are counted by network for IPv6, and by the IPv4 address if it is mapped', () => {
    const { come } = doorOf({ perAddress: 1 });
    const six = come('2001:db8::1');
    come('2001:db8::2');
    const four = come('::ffff:192.0.2.1');
    come('192.0.2.1');
    expect([six.cuts, four.cuts]).toEqual([1, 1]);
  });

  it('no longer count once authenticated, and are never closed then', () => {
    const { unauthenticated, come } = doorOf({ perAddress: 1 });
    const device = come();
    unauthenticated.loggedIn(device.asSocket());
    expect(unauthenticated.count).toBe(0);
    const stranger = come();
    come();
    expect([device.cuts, stranger.cuts]).toEqual([0, 1]);
    // A second credential or its close changes nothing.
    unauthenticated.loggedIn(device.asSocket());
    device.emit('close');
    expect(unauthenticated.count).toBe(1);
  });

  it('no longer count once closed', () => {
    const { unauthenticated, come } = doorOf();
    const [first, second] = [come(), come()];
    first.emit('close');
    expect(unauthenticated.count).toBe(1);
    const third = come();
    expect([second.cuts, unauthenticated.count]).toEqual([0, 2]);
    come();
    expect([second.cuts, third.cuts, unauthenticated.count]).toEqual([1, 0, 2]);
  });

  it('are not closed while an answer is due', () => {
    const { unauthenticated, come } = doorOf();
    const [busy, idle] = [come(), come()];
    unauthenticated.busy(busy.asSocket(), true);
    const third = come();
    expect([busy.cuts, idle.cuts]).toEqual([0, 1]);
    unauthenticated.busy(busy.asSocket(), false);
    come();
    expect([busy.cuts, third.cuts]).toEqual([1, 0]);
  });

  it('ignore an end of an answer without a start', () => {
    const { unauthenticated, come } = doorOf({ perAddress: 1 });
    const socket = come();
    unauthenticated.busy(socket.asSocket(), false);
    unauthenticated.busy(socket.asSocket(), true);
    come();
    expect(socket.cuts).toBe(0);
    // An answer on an uncounted connection is ignored.
    unauthenticated.busy(new FakeSocket('192.0.2.7', 7).asSocket(), true);
  });

  it('are kept if an answer is due on all of them, however many there are', () => {
    const { unauthenticated, come } = doorOf({ perAddress: 1 });
    const busy = come();
    unauthenticated.busy(busy.asSocket(), true);
    const next = come();
    expect([busy.cuts, next.cuts, unauthenticated.count]).toEqual([0, 0, 2]);
  });
});

describe('connections of all addresses', () => {
  it('near the limit: the oldest unauthenticated one is closed', () => {
    const { unauthenticated, come } = doorOf({ perAddress: 100, inAll: 20 });
    const device = come('192.0.2.2');
    unauthenticated.loggedIn(device.asSocket());
    const first = come('192.0.2.3');
    const others = Array.from({ length: 17 }, (_, number) => come(`192.0.2.${number + 10}`));
    expect([first.cuts, unauthenticated.count]).toEqual([0, 18]);
    // Nineteen of twenty are open, which is 95 percent: the next one exceeds the limit.
    come('192.0.2.4');
    expect([device.cuts, first.cuts]).toEqual([0, 1]);
    expect(others.map(({ cuts }) => cuts)).not.toContain(1);
  });

  it('release their slot when closed', () => {
    const { come } = doorOf({ perAddress: 100, inAll: 4 });
    for (let count = 0; count < 5; count += 1) come().emit('close');
    const sockets = [come(), come(), come()];
    expect(sockets.map(({ cuts }) => cuts)).toEqual([0, 0, 0]);
    come();
    expect(sockets.map(({ cuts }) => cuts)).toEqual([1, 0, 0]);
  });
});

describe('a trusted proxy', () => {
  it.each([
    ['10.0.0.5', '10.0.0.0/24', true],
    ['10.0.1.5', '10.0.0.0/24', false],
    ['::ffff:10.0.0.5', '10.0.0.0/24', true],
    ['fd00::5', 'fd00::/8', true],
    ['2001:db8::5', 'fd00::/8', false],
  ])('%s in %s is not counted: %s', (address, range, isTrusted) => {
    const { unauthenticated, come } = doorOf({ perAddress: 1, trustedProxies: [range] });
    const [first] = [come(address), come(address)];
    expect([first.cuts, unauthenticated.count]).toEqual(isTrusted ? [0, 0] : [1, 1]);
  });

  it('and a connection without a remote address are not counted', () => {
    const { unauthenticated, come } = doorOf({ perAddress: 1 });
    const [first] = [come(null), come(null)];
    expect([first.cuts, unauthenticated.count]).toEqual([0, 0]);
  });
});

it('leaves nothing behind if a client connects to two of our addresses from one port', () => {
  const server = new EventEmitter();
  const unauthenticated = createUnauthenticatedConnections({ perAddress: 2, inAll: 100, trustedProxies: [] });
  unauthenticated.attach(server as Server);
  const [first, second] = [new FakeSocket('192.0.2.1', 40_000), new FakeSocket('192.0.2.1', 40_000)];
  for (const socket of [first, second]) server.emit('connection', socket);
  for (const socket of [first, second]) socket.emit('close');
  expect([unauthenticated.count, first.cuts, second.cuts]).toEqual([0, 0, 0]);
});

describe('connections that have logged in', () => {
  it('make room near the bound of all: the oldest idle one of the caller with the most', () => {
    const { unauthenticated, come } = doorOf({ inAll: 10 });
    const one = come('192.0.2.1');
    unauthenticated.loggedIn(one.asSocket(), 'merchant small');
    const many = Array.from({ length: 8 }, (_, at) => come(`192.0.2.${at + 10}`));
    for (const socket of many) unauthenticated.loggedIn(socket.asSocket(), 'merchant large');
    unauthenticated.busy(many[0]?.asSocket() as Socket, true);
    Object.assign(many[1] as FakeSocket, { writableLength: 100 });
    const queue = come('192.0.2.40');
    unauthenticated.loggedIn(queue.asSocket());
    expect(many.map(({ cuts }) => cuts)).toEqual([0, 0, 1, 0, 0, 0, 0, 0]);
    const stranger = come('192.0.2.50');
    expect(many.map(({ cuts }) => cuts)).toEqual([0, 0, 1, 1, 0, 0, 0, 0]);
    come('192.0.2.51');
    expect([one.cuts, queue.cuts, stranger.cuts]).toEqual([0, 0, 1]);
    expect(many.filter(({ cuts }) => cuts > 0)).toHaveLength(2);
  });

  it('count for the last caller only', () => {
    const { unauthenticated, come } = doorOf({ inAll: 4 });
    const [one, other, third] = [come('192.0.2.1'), come('192.0.2.2'), come('192.0.2.3')];
    for (const name of ['a', 'b']) unauthenticated.loggedIn(one.asSocket(), name);
    for (const { asSocket } of [other, third]) unauthenticated.loggedIn(asSocket(), 'b');
    one.emit('close');
    come('192.0.2.4');
    come('192.0.2.5');
    expect([one.cuts, other.cuts, third.cuts]).toEqual([0, 0, 0]);
  });
});

describe('TLS handshakes that have not ended', () => {
  const many = { perAddress: 10_000, inAll: 100_000 };
  const cut = (sockets: FakeSocket[]) => sockets.flatMap(({ cuts }, n) => (cuts > 0 ? [n] : []));

  it('are bounded for an address: above that the oldest is closed, and those that have ended are not', () => {
    const { come, endHandshake } = doorOf({ ...many, isTls: true });
    const ended = come();
    endHandshake(ended);
    const other = come('192.0.2.9');
    const sockets = Array.from({ length: maxHandshakesPerAddress }, () => come());
    expect(cut([ended, other, ...sockets])).toEqual([]);
    endHandshake(sockets[0] as FakeSocket);
    come();
    expect(cut(sockets)).toEqual([]);
    come();
    expect(cut([...sockets, ended, other])).toEqual([1]);
    sockets[2]?.emit('close');
    come();
    expect(cut(sockets)).toEqual([1]);
  });

  it('are bounded in all', () => {
    const { come } = doorOf({ ...many, isTls: true });
    const sockets = Array.from({ length: 1_000 }, (_, n) => come(`192.0.2.${n % 20}`));
    expect(cut(sockets)).toEqual([]);
    come('192.0.3.1');
    expect(cut(sockets)).toEqual([0]);
  });

  it('are none without TLS', () => {
    const { come } = doorOf(many);
    const sockets = Array.from({ length: 2 * maxHandshakesPerAddress }, () => come());
    expect(cut(sockets)).toEqual([]);
  });
});
