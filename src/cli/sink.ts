// `tillgate sink`: a small HTTP server that answers 200 and prints every callback that it gets, for trying things out.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Sink {
  port: number;
  stop(): Promise<void>;
}

export async function startSink(options: { port: number; status: number; print(line: string): void }): Promise<Sink> {
  const server = createServer((request, response) => {
    const { 'webhook-id': id, 'tillgate-sequence': sequence } = request.headers;
    options.print(`${request.method} ${request.url}  webhook-id=${String(id)} sequence=${String(sequence)}`);
    request.resume();
    response.writeHead(options.status, { 'content-type': 'text/plain' }).end(options.status < 300 ? 'ok\n' : 'no\n');
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
