// A small proxy in front of gateways: counts open event streams, can switch to another gateway, and can cut connections. It does not
// change requests, including the Host header.
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export interface Front {
  origin: string;
  /** Event streams that are currently open. */
  streams(): number;
  /** All event streams so far. */
  streamsInAll(): number;
  leadTo(port: number): void;
  /** Cuts all connections, including open streams, which otherwise stay with their gateway after leadTo. */
  cutAll(): void;
  stop(): Promise<void>;
}

export async function startFront(port: number): Promise<Front> {
  let target = port;
  let inAll = 0;
  const streams = new Set<ServerResponse>();
  const sockets = new Set<Socket>();

  function pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const isStream = incoming.url?.includes('/cabinet/api/events') === true;
    if (isStream) {
      inAll += 1;
      streams.add(outgoing);
      outgoing.on('close', () => streams.delete(outgoing));
    }
    const { method, url, headers } = incoming;
    const onward = request({ host: '127.0.0.1', port: target, method, path: url, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
      answer.on('error', () => outgoing.destroy());
      answer.on('close', () => answer.complete || outgoing.destroy());
    });
    onward.on('error', () => outgoing.destroy());
    outgoing.on('close', () => onward.destroy());
    incoming.pipe(onward);
  }
  const server = createServer(pass);
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cutAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    streams: () => streams.size,
    streamsInAll: () => inAll,
    leadTo(next) {
      target = next;
    },
    cutAll,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cutAll();
      }),
  };
}
