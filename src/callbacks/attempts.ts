// The attempts in flight: each claimed callback is sent, its result recorded, its place freed, all by itself. Nothing thrown inside gets out.
// If the process dies here, the lease runs out and another takes over, so an ERP may get one callback twice (same webhook-id), but none is lost by that.
import type { Database } from '../database/database.ts';
import { growingPauseMs } from '../kernel/backoff.ts';
import { type Clock, sleep } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { AttemptResult, Send } from './sender.ts';
import type { SendingSlots } from './sending-slots.ts';
import { type ClaimedCallback, type Outcome, recordAttempt } from './store.ts';

interface Deps {
  database: Database;
  clock: Clock;
  logger: Logger;
  instanceId: string;
  delaysS: readonly number[];
  send: Send;
  slots: SendingSlots;
  /** A place is free, and the subject's next callback may go. */
  onEnded(): void;
}

const databasePauses = { firstMs: 100, maxMs: 2_000 };

export class Attempts {
  readonly counts = { delivered: 0, failedAttempts: 0, died: 0 };
  readonly #deps: Deps;
  readonly #running = new Map<string, { done: Promise<void>; abort: AbortController }>();
  readonly #stopped = Promise.withResolvers<void>();
  #isStopping = false;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  begin(callback: ClaimedCallback): void {
    // Our own lease ran out while the database kept us from recording: that attempt is still ours.
    if (this.#running.has(callback.id)) return;
    const abort = new AbortController();
    this.#deps.slots.take(callback.host);
    this.#running.set(callback.id, { abort, done: this.#attempt(callback, abort.signal) });
  }

  /** Waits for what is in flight, breaks off what takes longer than `graceMs`, and returns the ids that were broken off. */
  async stop(graceMs: number): Promise<string[]> {
    this.#isStopping = true;
    this.#stopped.resolve();
    const all = Promise.all([...this.#running.values()].map((each) => each.done));
    const grace = Promise.withResolvers<void>();
    const cancel = this.#deps.clock.after(graceMs, grace.resolve);
    await Promise.race([all, grace.promise]);
    cancel();
    const left = [...this.#running.keys()];
    for (const { abort } of this.#running.values()) abort.abort(new Error('The gateway is stopping.'));
    await all;
    return left;
  }

  /** The database gets time to come back; stopping ends the wait. */
  async pause(failures: number): Promise<void> {
    await Promise.race([sleep(this.#deps.clock, growingPauseMs(failures, databasePauses)), this.#stopped.promise]);
  }

  async #attempt(callback: ClaimedCallback, signal: AbortSignal): Promise<void> {
    const result = await this.#send(callback, signal);
    // Broken off by stop(), which gives the lease back: not the ERP's fault, so it does not count.
    if (!(signal.aborted && result.status === null)) await this.#record(callback, result);
    this.#running.delete(callback.id);
    this.#deps.slots.free(callback.host, { durationMs: result.durationMs, hasAnswered: result.status !== null });
    this.#deps.onEnded();
  }

  async #send(callback: ClaimedCallback, signal: AbortSignal): Promise<AttemptResult> {
    try {
      const { id, sequence, url, secrets, traceparent } = callback;
      return await this.#deps.send({ id, sequence, url, secrets, traceparent: traceparent ?? undefined }, signal);
    } catch (error) {
      this.#deps.logger.error({ err: error, callbackId: callback.id }, 'a callback attempt broke off by a mistake of this program');
      return { status: null, error: 'The attempt failed inside the gateway.', durationMs: 0, responseHead: null };
    }
  }

  async #record(callback: ClaimedCallback, result: AttemptResult): Promise<void> {
    const { database, logger, instanceId, delaysS } = this.#deps;
    const outcome = outcomeOf(result, delaysS[callback.attempts]);
    for (let failures = 0; ; ) {
      try {
        const isRepeat = failures > 0;
        await database.transaction((queries) => recordAttempt(queries, callback, { instanceId, result, outcome, isRepeat }));
        break;
      } catch (error) {
        logger.warn({ err: error, callbackId: callback.id }, 'a callback attempt could not be recorded; trying again');
        // When stopping, the lease runs out and the callback is sent again: twice rather than never.
        if (this.#isStopping) return;
        failures += 1;
        await this.pause(failures);
      }
    }
    this.#count(callback, outcome);
  }

  #count(callback: ClaimedCallback, outcome: Outcome): void {
    if (outcome.kind === 'delivered') this.counts.delivered += 1;
    else this.counts.failedAttempts += 1;
    if (outcome.kind !== 'dead') return;
    this.counts.died += 1;
    const { id: callbackId, merchantId, host } = callback;
    this.#deps.logger.warn({ callbackId, merchantId, host }, 'the last retry of a callback failed');
  }
}

/** `delayS`: what stands before the next retry, if there is one left [D25]. */
function outcomeOf(result: AttemptResult, delayS: number | undefined): Outcome {
  if (result.status !== null && result.status >= 200 && result.status <= 299) return { kind: 'delivered' };
  return delayS === undefined ? { kind: 'dead' } : { kind: 'retry', delayMs: Math.round(delayS * 1000) };
}
