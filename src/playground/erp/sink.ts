// The callback receiver of the playground's ERP: a server on loopback that checks each signature, answers at once, and keeps the last few
// callbacks. A callback without a valid signature is answered 401 and ignored. While the ERP is switched off, it answers 503.

import { createServer, type IncomingMessage } from 'node:http';
import type { CallbackView } from '../../cabinet/playground/view-schema.ts';
import { judgeSignature } from '../../callbacks/signature.ts';
import type { World } from '../../kernel/world.ts';
import { serveOnLoopback } from './loopback.ts';

export interface ReceivedCallback {
  state: string;
  oid: string;
  receiptId: string;
  deviceId: string;
}

export type ErpSink = Awaited<ReturnType<typeof startErpSink>>;

export interface SinkDeps extends Pick<World, 'clock' | 'logger'> {
  /** All current signing secrets, so that a rotation needs no restart. */
  secrets(): Promise<readonly string[]>;
  /** Called for a verified callback while the ERP is switched on. */
  received(callback: ReceivedCallback): void;
  onChange(): void;
}

const kept = 30;
/** Attempts are counted for so many of the last callbacks. */
const keptCounts = 200;
const maxUrlLength = 500;

export async function startErpSink({ clock, logger, secrets, received, onChange }: SinkDeps) {
  let callbacks: CallbackView[] = [];
  let count = 0;
  const tries = new Map<string, number>();
  const sink = { isDown: false };

  async function answer(request: IncomingMessage): Promise<number> {
    const startedAtMs = clock.elapsed();
    const url = URL.parse(request.url ?? '', 'http://erp.example');
    const one = (name: string) => url?.searchParams.get(name) ?? '';
    const isVerified = await isSigned(request);
    const callback = { state: one('state').slice(0, 40), oid: one('oid').slice(0, 64), receiptId: one('receipt'), deviceId: one('device') };
    const subject = url?.pathname === '/invoice' ? 'invoice' : url?.pathname === '/operation' ? 'operation' : 'other';
    const status = sink.isDown ? 503 : isVerified ? take(callback) : 401;
    count += 1;
    callbacks = [
      {
        id: count,
        at: new Date(clock.now()).toISOString(),
        state: callback.state,
        ...(callback.oid === '' ? {} : { oid: callback.oid }),
        subject,
        url: (request.url ?? '').slice(0, maxUrlLength),
        isVerified,
        answered: status,
        attempt: tryOf(String(request.headers['webhook-id'])),
        tookMs: Math.round(clock.elapsed() - startedAtMs),
      } satisfies CallbackView,
      ...callbacks,
    ].slice(0, kept);
    onChange();
    return status;
  }

  /** Returns the HTTP status; after an error status the gateway retries. */
  function take(callback: ReceivedCallback): number {
    try {
      received(callback);
      return 200;
    } catch (error) {
      logger.warn({ err: error }, 'the ERP of the playground could not process a callback; the gateway will retry');
      return 503;
    }
  }

  async function isSigned({ headers, url = '' }: IncomingMessage): Promise<boolean> {
    const signed = { headers, url: `http://${headers.host ?? ''}${url}` };
    return (await secrets()).some((secret) => judgeSignature(secret, signed, clock.now() / 1000) === 'ok');
  }

  function tryOf(id: string): number {
    const number = (tries.get(id) ?? 0) + 1;
    tries.delete(id);
    tries.set(id, number);
    const [oldest] = tries.keys();
    if (tries.size > keptCounts && oldest !== undefined) tries.delete(oldest);
    return number;
  }

  const server = createServer((request, response) => {
    request.resume();
    answer(request).then(
      (status) => response.writeHead(status, { 'content-type': 'text/plain' }).end(status === 200 ? 'ok\n' : 'no\n'),
      (error: unknown) => {
        logger.warn({ err: error }, 'the ERP of the playground could not receive a callback');
        response.writeHead(500).end();
      },
    );
  });
  server.maxConnections = 100;
  server.requestTimeout = 10_000;
  const { port, stop } = await serveOnLoopback(server, 0);

  return Object.assign(sink, {
    /** A CallbackURI with placeholders. */
    callbackUri: (subject: string) => `http://127.0.0.1:${port}/${subject}?oid=#OID#&state=#State#&receipt=#ReceiptID#&device=#DeviceID#`,
    /** Newest first. */
    views: () => callbacks,
    stop,
  });
}
