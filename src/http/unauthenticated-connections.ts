// Connections without a valid credential so far, by address [D62]. Above the bound of an address, its oldest idle one is closed for the new
// one; the same for all addresses together near the bound of all connections. A connection whose request is being handled is never closed
// here (one with an unread answer is), and a connection that has logged in no longer counts. Trusted proxies are not counted, because
// their connections carry many callers.
import { BlockList, isIPv6, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { networkOf } from '../kernel/network-of.ts';

export interface UnauthenticatedConnectionsOptions {
  perAddress: number;
  /** Bound of all connections, authenticated or not. */
  inAll: number;
  trustedProxies: readonly string[];
}

export interface UnauthenticatedConnections {
  attach(server: Server): void;
  /** A valid credential was sent on the connection. */
  loggedIn(socket: Duplex): void;
  /** The handling of a complete request has begun or ended. */
  busy(socket: Duplex, isBusy: boolean): void;
  readonly count: number;
}

interface Unauthenticated {
  socket: Socket;
  network: string;
  busyWith: number;
}

/** The rest is for connections that arrive while others are being closed. */
const nearlyAll = 0.95;

function blockListOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    list.addSubnet(address, Number(bits), isIPv6(address) ? 'ipv6' : 'ipv4');
  }
  return list;
}

/** HTTPS has two socket objects per connection; both have the remote address and port. */
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

  /** A map iterates in insertion order. Busy connections are skipped; their number is bounded by the slots. */
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
