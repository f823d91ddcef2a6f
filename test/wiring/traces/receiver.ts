// A collector that keeps the spans it is sent, or answers as a test wants.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from '../../support/until.ts';

export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Record<string, unknown>;
  events: string[];
  status: { code?: number };
}

export interface Receiver {
  url: string;
  readonly spans: ReceivedSpan[];
  /** Bodies as they came, also those that were refused. */
  readonly bodies: string[];
  readonly authorizations: (string | undefined)[];
  /** The answers from now on. */
  answer(status: number): void;
  /** Waits until so many bodies have come. */
  came(count: number): Promise<void>;
  stop(): Promise<void>;
}

type Written = { key: string; value: Record<string, unknown> }[];
const read = (attributes: Written) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, 'intValue' in value ? Number(value['intValue']) : Object.values(value)[0]]));

export async function startReceiver(): Promise<Receiver> {
  const spans: ReceivedSpan[] = [];
  const bodies: string[] = [];
  const authorizations: (string | undefined)[] = [];
  let status = 200;
  const server: Server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      bodies.push(body);
      authorizations.push(request.headers.authorization);
      if (status === 200 && request.url === '/v1/traces') {
        for (const { scopeSpans } of JSON.parse(body).resourceSpans)
          for (const span of scopeSpans[0].spans)
            spans.push({
              ...span,
              attributes: read(span.attributes),
              events: (span.events ?? []).map(({ name }: { name: string }) => name),
            });
      }
      response.writeHead(status, { connection: 'close' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    bodies,
    authorizations,
    answer(next) {
      status = next;
    },
    came: (count) => until(() => bodies.length >= count),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
