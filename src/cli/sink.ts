// `tillgate sink`: a small HTTP server for tests that answers 200 and prints every callback.
// It prints whether the signature is valid, and accepts invalid ones as well.
import { createServer, type IncomingMessage } from 'node:http';
import { judgeSignature } from '../callbacks/signature.ts';
import type { Clock } from '../kernel/clock.ts';
import { serveOnLoopback } from '../playground/erp/loopback.ts';

export type Sink = Awaited<ReturnType<typeof startSink>>;

export interface SinkOptions {
  port: number;
  status: number;
  clock: Clock;
  /** Called at each callback, because the sandbox may start after the sink. Undefined: there is no secret. */
  secret(): string | undefined;
  print(line: string): void;
}

export async function startSink({ port, status, clock, secret, print }: SinkOptions) {
  const server = createServer((request, response) => {
    const { 'webhook-id': id, 'tillgate-sequence': sequence } = request.headers;
    const signature = signatureOf(request, secret(), clock);
    print(`${request.method} ${request.url}  webhook-id=${String(id)} sequence=${String(sequence)} signature=${signature}`);
    request.resume();
    response.writeHead(status, { 'content-type': 'text/plain' }).end(status < 300 ? 'ok\n' : 'no\n');
  });
  return await serveOnLoopback(server, port);
}

function signatureOf({ headers, url = '' }: IncomingMessage, secret: string | undefined, clock: Clock): string {
  if (secret === undefined) return 'not checked (--secret)';
  return judgeSignature(secret, { headers, url: `http://${headers.host ?? ''}${url}` }, clock.now() / 1000);
}
