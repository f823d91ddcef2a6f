// Connections that have shown no credential yet, by address [D62]. Over the bound of an address its oldest unfinished one is cut and
// the new one let in; the same for all together when there are nearly as many connections as there may be. A connection whose request
// is being worked on is never cut here (one whose answer is made and not read is), and one that logged in no longer counts. Proxies that
// are trusted are not counted: they bring many callers, who are counted one by one behind them.
import { BlockList, isIPv6, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { networkOf } from '../kernel/network-of.ts';

export interface UnauthenticatedConnectionsOptions {
  perAddress: number;
  /** Of all connections, known or not. */
  inAll: number;
  trustedProxies: readonly string[];
}

export interface UnauthenticatedConnections {
  attach(server: Server): void;
  /** A credential was shown on it and was good. */
  loggedIn(socket: Duplex): void;
  /** Its request is whole and worked on, or no longer. */
  busy(socket: Duplex, isBusy: boolean): void;
  readonly count: number;
}

interface Unauthenticated {
  socket: Socket;
  network: string;
  busyWith: number;
}

/** Nearly all: what is left is for those who come while others are being cut. */
const nearlyAll = 0.95;

function blockListOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    list.addSubnet(address, Number(bits), isIPv6(address) ? 'ipv6' : 'ipv4');
  }
  return list;
}

/** HTTPS has two sockets for one connection; both know the other end. */
function nameOf(socket: Duplex): string {
  const { remoteAddress = '', remotePort = 0 } = socket as Socket;
  return `${remoteAddress} ${remotePort}`;
}

export function createUnauthenticatedConnections({
  perAddress,
  inAll,
  trustedProxies,
}: UnauthenticatedConnectionsOptions): UnauthenticatedConnections {
  const trusted = blockListOf(trustedProxies);
  const all = new Map<string, Unauthenticated>();
  const byNetwork = new Map<string, Map<string, Unauthenticated>>();
  let open = 0;

  function forget(name: string): void {
    const connection = all.get(name);
    if (connection === undefined) return;
    all.delete(name);
    const neighbours = byNetwork.get(connection.network);
    neighbours?.delete(name);
    if (neighbours?.size === 0) byNetwork.delete(connection.network);
  }

  /** Maps keep the order of arrival. Those that are worked on are passed over; there are never more of them than slots. */
  function cutOldest(unauthenticated: Map<string, Unauthenticated>): void {
    for (const [name, { socket, busyWith }] of unauthenticated) {
      if (busyWith > 0) continue;
      forget(name);
      socket.destroy();
      return;
    }
  }

  function arrive(socket: Socket): void {
    open += 1;
    socket.once('close', () => {
      open -= 1;
    });
    const address = socket.remoteAddress;
    if (open > inAll * nearlyAll) cutOldest(all);
    if (address === undefined || trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')) return;
    const name = nameOf(socket);
    const connection = { socket, network: networkOf(address), busyWith: 0 };
    const neighbours = byNetwork.get(connection.network) ?? new Map<string, Unauthenticated>();
    if (neighbours.size >= perAddress) cutOldest(neighbours);
    byNetwork.set(connection.network, neighbours);
    neighbours.set(name, connection);
    all.set(name, connection);
    socket.once('close', () => forget(name));
  }

  return {
    attach: (server) => void server.on('connection', arrive),
    loggedIn: (socket) => forget(nameOf(socket)),
    busy(socket, isBusy) {
      const connection = all.get(nameOf(socket));
      if (connection) connection.busyWith = Math.max(0, connection.busyWith + (isBusy ? 1 : -1));
    },
    get count() {
      return all.size;
    },
  };
}
