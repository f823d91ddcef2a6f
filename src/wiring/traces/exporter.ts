// Sends ended spans to the receiver in batches, one request at a time. If the receiver is slow or unavailable, a bounded number of spans is
// kept, further ones are dropped and counted, and the log says so once. Callers never wait for it, and its errors do not affect the gateway.

import { growingPauseMs } from '../../kernel/backoff.ts';
import { type Cancel, sleep } from '../../kernel/clock.ts';
import type { World } from '../../kernel/world.ts';
import { writeSpans } from './otlp.ts';
import type { Attributes, EndedSpan } from './tracer.ts';

export type Exporter = ReturnType<typeof createExporter>;

export interface ExporterOptions extends Pick<World, 'clock' | 'logger'> {
  /** Of the receiver; without a path the default path of OTLP is used. */
  url: string;
  token: string | undefined;
  /** The OTLP resource: this instance. */
  resource: Attributes;
  /** Instead of HTTP: for tests. */
  post?: Post;
}

/** The status of the answer; rejects if there is none, or on the signal. */
type Post = (body: string, signal: AbortSignal) => Promise<number>;

const maxKept = 8_192;
const perRequest = 512;
const everyMs = 2_000;
const answerWithinMs = 10_000;
const stopWithinMs = 3_000;
const pauses = { firstMs: 1_000, maxMs: 60_000 };
/** Statuses after which a retry may succeed. */
const busyStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504]);

export function createExporter(options: ExporterOptions) {
  const { clock, logger, resource } = options;
  const post = options.post ?? postTo(options);
  let kept: EndedSpan[] = [];
  let dropped = 0;
  let failures = 0;
  let isStopping = false;
  let cancelTimer: Cancel | undefined;
  let sending: Promise<void> | undefined;
  const stopped = Promise.withResolvers<void>();

  /** The reason of a failure; undefined on success. */
  async function trySending(body: string): Promise<{ why: string; mayWorkLater: boolean } | undefined> {
    const limit = new AbortController();
    const cancel = clock.after(isStopping ? stopWithinMs : answerWithinMs, () => limit.abort());
    try {
      const status = await post(body, limit.signal);
      return status >= 200 && status <= 299 ? undefined : { why: `HTTP ${status}`, mayWorkLater: busyStatuses.has(status) };
    } catch (error) {
      const { cause, message } = error as Error;
      return { why: cause instanceof Error ? cause.message : message, mayWorkLater: true };
    } finally {
      cancel();
    }
  }

  async function sendOnce(): Promise<void> {
    const batch = kept.slice(0, perRequest);
    const problem = await trySending(writeSpans(batch, resource));
    // Newer spans were appended in the meantime.
    if (problem === undefined || !problem.mayWorkLater) kept = kept.slice(batch.length);
    if (problem === undefined) {
      if (failures > 0) logger.info({ dropped }, 'spans reach their receiver again');
      failures = 0;
      dropped = 0;
      return;
    }
    if (!problem.mayWorkLater) dropped += batch.length;
    failures += 1;
    if (failures === 1) logger.warn({ why: problem.why }, 'spans do not reach their receiver; the gateway will retry');
  }

  /** Until all are sent, with a back-off after failures; stopping ends the pause. */
  async function sendAll(): Promise<void> {
    do {
      await sendOnce();
      if (failures > 0 && !isStopping) await Promise.race([sleep(clock, growingPauseMs(failures, pauses)), stopped.promise]);
    } while (kept.length >= perRequest && !isStopping);
    sending = undefined;
    if (kept.length > 0 && !isStopping) arm();
  }

  function start(): void {
    cancelTimer?.();
    cancelTimer = undefined;
    sending ??= sendAll();
  }

  function arm(): void {
    cancelTimer ??= clock.after(everyMs, start);
  }

  return {
    add(span: EndedSpan): void {
      if (isStopping || kept.length >= maxKept) {
        dropped += 1;
        return;
      }
      kept.push(span);
      if (sending) return;
      if (kept.length >= perRequest) start();
      else arm();
    },
    /** Sends the remaining spans, for as long as a stopping gateway can wait. */
    async stop(): Promise<void> {
      isStopping = true;
      cancelTimer?.();
      stopped.resolve();
      const sendTheRest = async () => {
        await sending;
        failures = 0;
        while (kept.length > 0 && failures === 0) await sendOnce();
      };
      const limit = Promise.withResolvers<void>();
      const cancel = clock.after(stopWithinMs, limit.resolve);
      await Promise.race([sendTheRest(), limit.promise]);
      cancel();
    },
  };
}

function postTo({ url, token }: ExporterOptions): Post {
  const address = new URL(url);
  if (address.pathname === '/') address.pathname = '/v1/traces';
  const headers = { 'content-type': 'application/json', ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
  return async (body, signal) => {
    const answer = await fetch(address, { method: 'POST', headers, body, redirect: 'error', signal });
    await answer.body?.cancel();
    return answer.status;
  };
}
