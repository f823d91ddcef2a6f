// A gateway that follows a script: each request takes the next step of it. `closed` steps refuse connections until the client has waited once.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { freePort } from '../support/free-port.ts';

export type Step =
  | 'closed'
  /** Reads the request and ends the connection. */
  | 'drop'
  /** Ends the connection in the middle of an answer. */
  | 'cut'
  | 'silence'
  | { answer: object; status?: number; headers?: Record<string, string>; forEver?: true }
  /** A page of somebody else. */
  | { foreign: number; headers?: Record<string, string>; forEver?: true }
  | { closed: true; forEver?: true };

export interface Seen {
  method: string;
  path: string;
  query: Record<string, string>;
  headers: IncomingMessage['headers'];
  body: string;
}

export interface ScriptedServer {
  baseUrl: string;
  seen: Seen[];
  /** Steps that nobody asked for. */
  left(): Step[];
  /** To be called when the client waits. */
  clientWaits(): Promise<void>;
  stop(): Promise<void>;
}

export async function startScriptedServer(script: readonly Step[]): Promise<ScriptedServer> {
  const steps = [...script];
  const seen: Seen[] = [];
  const port = await freePort();
  const isClosed = () => {
    const next = steps[0];
    return next === 'closed' || (typeof next === 'object' && 'closed' in next);
  };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const url = new URL(request.url ?? '', 'http://x');
    const path = url.pathname.replace(/^\/tillgate/, '');
    const query = Object.fromEntries(url.searchParams);
    seen.push({ method: request.method ?? '', path, query, headers: request.headers, body: Buffer.concat(chunks).toString() });
    const step = steps[0];
    if (!isForEver(step)) steps.shift();
    if (isClosed()) server.close();
    reply(step, response);
  });
  const listen = () =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => resolve());
    });
  if (!isClosed()) await listen();
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo | null)?.port ?? port}/tillgate`,
    seen,
    left: () => steps.filter((step) => !isForEver(step)),
    async clientWaits() {
      if (!isClosed() || isForEver(steps[0])) return;
      steps.shift();
      if (!isClosed()) await listen();
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function isForEver(step: Step | undefined): boolean {
  return typeof step === 'object' && step.forEver === true;
}

function reply(step: Step | undefined, response: ServerResponse): void {
  const json = { 'content-type': 'application/json' };
  if (step === 'silence') return;
  if (step === 'cut') {
    response.writeHead(200, { ...json, 'content-length': '500' });
    response.write('{"errorCode":0,"errorMessage":""', () => response.socket?.destroy());
  } else if (typeof step === 'object' && 'answer' in step) {
    response.writeHead(step.status ?? 200, { ...json, ...step.headers }).end(JSON.stringify(step.answer));
  } else if (typeof step === 'object' && 'foreign' in step) {
    response.writeHead(step.foreign, { 'content-type': 'text/html', ...step.headers }).end('<h1>Somebody else</h1>');
  } else {
    response.socket?.destroy();
  }
}
