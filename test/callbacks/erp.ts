// An ERP for tests: a real HTTP server that keeps what it hears and answers as it is told.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

export interface Heard {
  url: string;
  headers: IncomingMessage['headers'];
  atMs: number;
}

export interface Erp {
  readonly base: string;
  readonly heard: Heard[];
  /** Resolves when `count` requests were heard in all. */
  hears(count: number): Promise<void>;
  answer: (request: IncomingMessage, response: ServerResponse) => void;
  close(): Promise<void>;
}

export async function startErp(options: { tls?: { key: string; cert: string }; host?: string } = {}): Promise<Erp> {
  const waiting: { count: number; resolve: () => void }[] = [];
  const heard: Heard[] = [];
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    heard.push({ url: request.url ?? '', headers: request.headers, atMs: performance.now() });
    for (const each of waiting) if (heard.length >= each.count) each.resolve();
    erp.answer(request, response);
  };
  const server = options.tls ? createTlsServer(options.tls, handle) : createServer(handle);
  const host = options.host ?? '127.0.0.1';
  await new Promise<void>((resolve) => {
    server.listen(0, host, resolve);
  });
  const erp: Erp = {
    base: `${options.tls ? 'https' : 'http'}://${host}:${(server.address() as AddressInfo).port}`,
    heard,
    hears: (count) =>
      new Promise((resolve) => {
        if (heard.length >= count) resolve();
        else waiting.push({ count, resolve });
      }),
    answer: (_request, response) => {
      response.end('ok');
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return erp;
}
