// A TCP proxy on a port of its own, in front of servers that may die: a new connection goes to the first of them that takes it, each
// connection beginning with another one. Where it leads can be moved while it runs, as an address does in a fail-over.
import { connect, createServer, type Server, type Socket } from 'node:net';

/** Stands on a connection between the client and its server, and passes on what it likes. */
export type Between = (client: Socket, server: Socket) => void;

export interface TcpProxy {
  readonly port: number;
  /** Leads there from now on; connections to anything else are cut. */
  moveTo(ports: number[]): void;
  /** Ends the connections that there are. */
  cut(): void;
  close(): Promise<void>;
}

const passThrough: Between = (client, server) => {
  client.pipe(server);
  server.pipe(client);
};

function dial(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket));
    socket.once('error', reject);
  });
}

export async function startTcpProxy(first: number[], between: Between = passThrough): Promise<TcpProxy> {
  let ports = first;
  let turn = 0;
  const open = new Set<{ client: Socket; server?: Socket; port?: number }>();

  async function reach(): Promise<{ server: Socket; port: number }> {
    const from = turn;
    turn += 1;
    for (let at = 0; at < ports.length; at += 1) {
      const port = ports[(from + at) % ports.length] ?? 0;
      const server = await dial(port).catch(() => undefined);
      if (server) return { server, port };
    }
    throw new Error('Nobody is there.');
  }

  const listener: Server = createServer({ noDelay: true }, async (client) => {
    const pair: { client: Socket; server?: Socket; port?: number } = { client };
    open.add(pair);
    const end = () => {
      open.delete(pair);
      client.destroy();
      pair.server?.destroy();
    };
    client.on('error', end);
    client.on('close', end);
    try {
      const { server, port } = await reach();
      Object.assign(pair, { server, port });
      server.on('error', end);
      server.on('close', end);
      if (client.destroyed || !ports.includes(port)) end();
      else between(client, server);
    } catch {
      end();
    }
  });
  const port = await new Promise<number>((resolve) => {
    listener.listen(0, '127.0.0.1', () => resolve((listener.address() as { port: number }).port));
  });
  return {
    port,
    moveTo(next) {
      ports = next;
      for (const pair of open) {
        if (pair.port === undefined || next.includes(pair.port)) continue;
        pair.client.destroy();
        pair.server?.destroy();
      }
    },
    cut() {
      for (const { client } of open) client.destroy();
    },
    close() {
      for (const { client } of open) client.destroy();
      return new Promise((resolve) => listener.close(() => resolve()));
    },
  };
}
