// Connections without a valid credential so far, by address [D62]. Above the bound of an address, its oldest idle one is closed for the new
// one; the same for all addresses together near the bound of all connections. If none of them is left, the oldest idle connection of the
// caller that has the most of those that logged in makes room [D287]. A connection whose request is being handled is never closed here (an
// unauthenticated one with an unread answer is). Trusted proxies are not counted, because their connections carry many callers.
// Of connections whose TLS handshake has not ended there may be fewer, because they can end their handshakes all in one turn of the event loop;
// above their bounds the oldest of them is closed.
import { BlockList, isIPv6, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ByOwner } from '../kernel/by-owner.ts';
import { networkOf } from '../kernel/network-of.ts';

export interface UnauthenticatedConnectionsOptions {
  perAddress: number;
  /** Bound of all connections, authenticated or not. */
  inAll: number;
  trustedProxies: readonly string[];
  isTls?: boolean;
}

export type UnauthenticatedConnections = ReturnType<typeof createUnauthenticatedConnections>;

interface Unauthenticated {
  name: string;
  socket: Socket;
  isBusy: boolean;
}

/** A handshake costs up to a millisecond. */
export const maxHandshakesPerAddress = 100;
const maxHandshakes = 1_000;

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

export function createUnauthenticatedConnections(options: UnauthenticatedConnectionsOptions) {
  const { perAddress, inAll, trustedProxies, isTls = false } = options;
  const trusted = blockListOf(trustedProxies);
  const byName = new Map<string, Unauthenticated>();
  const byNetwork = new ByOwner<Unauthenticated>();
  const handshakes = new ByOwner<Unauthenticated>();
  const loggedIn = new ByOwner<Unauthenticated>();
  let open = 0;

  function forget(name: string): void {
    const connection = byName.get(name);
    if (connection === undefined) return;
    byName.delete(name);
    byNetwork.delete(connection);
    handshakes.delete(connection);
    loggedIn.delete(connection);
  }

  /** Busy connections are skipped; their number is bounded by the slots. False: all of them are busy. */
  function cutOldest(connections: Iterable<Unauthenticated>): boolean {
    for (const { name, socket, isBusy } of connections) {
      if (isBusy) continue;
      forget(name);
      socket.destroy();
      return true;
    }
    return false;
  }

  function makeRoom(): void {
    if (cutOldest(byNetwork.all())) return;
    // An answer that is on its way may be about a payment.
    cutOldest([...loggedIn.ofLargest()].filter(({ socket }) => !(socket.writableLength > 0)));
  }

  function arrive(socket: Socket): void {
    open += 1;
    socket.once('close', () => {
      open -= 1;
    });
    const address = socket.remoteAddress;
    if (open > inAll * nearlyAll) makeRoom();
    if (address === undefined || trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')) return;
    const name = nameOf(socket);
    const network = networkOf(address);
    // The same port of a client may be connected to two addresses of ours.
    forget(name);
    const connection = { name, socket, isBusy: false };
    if (byNetwork.of(network).size >= perAddress) cutOldest(byNetwork.of(network));
    byNetwork.add(network, connection);
    byName.set(name, connection);
    socket.once('close', () => forget(name));
    if (isTls) beginHandshake(network, connection);
  }

  function beginHandshake(network: string, connection: Unauthenticated): void {
    if (handshakes.of(network).size >= maxHandshakesPerAddress) cutOldest(handshakes.of(network));
    if (handshakes.size >= maxHandshakes) cutOldest(handshakes.all());
    handshakes.add(network, connection);
  }

  function endHandshake(socket: Duplex): void {
    const connection = byName.get(nameOf(socket));
    if (connection !== undefined) handshakes.delete(connection);
  }

  return {
    attach: (server: Server) => void server.on('connection', arrive).on('secureConnection', endHandshake),
    /** The server does not count these as connections of its own. */
    cutHandshakes(): void {
      for (const { socket } of handshakes.all()) socket.destroy();
    },
    /** A valid credential of this caller was sent on the connection. Undefined: its places are bounded elsewhere. */
    loggedIn(socket: Duplex, caller?: string): void {
      const connection = byName.get(nameOf(socket));
      if (connection === undefined) return;
      if (caller === undefined) return forget(connection.name);
      byNetwork.delete(connection);
      loggedIn.delete(connection);
      loggedIn.add(caller, connection);
    },
    /** Whose requests come on the connection; undefined: those of many, behind a trusted proxy. */
    ownerOf(socket: Duplex): { name: string; isLoggedIn: boolean } | undefined {
      const connection = byName.get(nameOf(socket));
      if (connection === undefined) return undefined;
      const caller = loggedIn.ownerOf(connection);
      return { name: caller ?? byNetwork.ownerOf(connection) ?? '', isLoggedIn: caller !== undefined };
    },
    /** The handling of a complete request has begun or ended. */
    busy(socket: Duplex, isBusy: boolean): void {
      const connection = byName.get(nameOf(socket));
      if (connection) connection.isBusy = isBusy;
    },
    get count() {
      return byNetwork.size;
    },
  };
}
