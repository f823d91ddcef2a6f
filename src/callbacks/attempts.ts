// The callbacks that this process has leased: each waits for a slot, is sent and recorded independently of the others. No error escapes.
// If the process dies at any point, the leases expire and another gateway takes over: an ERP may get a callback twice (same webhook-id),
// but none is lost. More are leased than can be sent at once, so that one statement leases many. A callback that cannot be sent well before
// its lease ends, because the ERP became slow or the process paused, is released unsent.

import type { Shared } from '../database/shared-deps.ts';
import { growingPauseMs } from '../kernel/backoff.ts';
import { sleep } from '../kernel/clock.ts';
import type { Outcome } from './attempt-records.ts';
import type { Hosts } from './hosts.ts';
import type { Addressee } from './outbox.ts';
import { createRecorder, type Recorder } from './recorder.ts';
import type { AttemptResult, Send } from './sender.ts';
import type { ClaimedCallback } from './store.ts';

export interface SendingDeps extends Pick<Shared, 'database' | 'clock' | 'logger' | 'instanceId'> {
  /** Delays before the retries; the first attempt is at once [D25]. */
  delaysS: readonly number[];
  send: Send;
}

interface Deps extends SendingDeps {
  hosts: Hosts;
  /** How long after its claim an attempt may begin. */
  startWithinMs: number;
  /** A slot is free; `forOthersToo`: other hosts may have been waiting for it. */
  onRoom(host: string, forOthersToo: boolean): void;
  /** The subject's next callback may be sent; a retry is due after the delay. */
  onRecorded(callback: Addressee, outcome: Outcome): void;
  /** Releases leases of callbacks that will not be sent from here. */
  giveBack(ids: string[]): void;
}

interface Leased {
  callback: ClaimedCallback;
  startBy: number;
}

const databasePauses = { firstMs: 100, maxMs: 2_000 };
/** Leased by this process and not yet recorded: the limit of sends while the database accepts no records. */
const maxHeld = 1_024;
/** Of those, not available for leases ahead: the queues of a few hanging hosts must not keep the others from free slots. */
const reservedForSlots = 256;

export class Attempts {
  readonly counts = { delivered: 0, failedAttempts: 0, died: 0 };
  readonly #deps: Deps;
  readonly #recorder: Recorder;
  /** By id, all that are leased and not recorded; undefined: it waits for a slot. */
  readonly #held = new Map<string, { done: Promise<void>; abort: AbortController } | undefined>();
  /** Callbacks that wait for a slot, by host, in order. */
  readonly #queues = new Map<string, Leased[]>();
  readonly #stopped = Promise.withResolvers<void>();
  #isStopping = false;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#recorder = createRecorder({ ...deps, pause: (failures) => this.pause(failures) });
  }

  /** How many more may be leased for this host now, if `sharedBy` hosts have work. */
  leasable(host: string, sharedBy: number): number {
    if (this.#isStopping) return 0;
    const { hosts } = this.#deps;
    const queued = this.#queuedFor(host);
    const room = hosts.room(host, sharedBy);
    const atOnce = Math.max(0, Math.min(room - queued, this.spare));
    // Nothing ahead while all slots are taken, or else a host with a constant backlog would keep its slots for ever.
    // `reservedForSlots` is the reserve of the other hosts.
    const ahead = hosts.left('quick') > 0 ? room + hosts.ahead(host) - queued - atOnce : 0;
    return atOnce + Math.max(0, Math.min(ahead, this.spare - atOnce - reservedForSlots));
  }

  /** How many more may be leased for all hosts together. */
  get spare(): number {
    return maxHeld - this.#held.size;
  }

  /** The minimum that is worth a statement while other callbacks of the host are queued here. */
  worthLeasing(host: string): number {
    return this.#queuedFor(host) === 0 ? 1 : Math.max(1, Math.ceil(this.#deps.hosts.ahead(host) / 2));
  }

  /** Takes over leased callbacks. `leasedAt`: in the clock's elapsed time, before the lease began. */
  add(callbacks: readonly ClaimedCallback[], leasedAt: number): void {
    const startBy = leasedAt + this.#deps.startWithinMs;
    for (const callback of callbacks) {
      // This process's own lease expired while the database accepted no records: that attempt is still in flight here.
      if (this.#held.has(callback.id)) continue;
      this.#held.set(callback.id, undefined);
      this.#deps.hosts.hold(callback.host, 1);
      const queue = this.#queues.get(callback.host);
      if (queue) queue.push({ callback, startBy });
      else this.#queues.set(callback.host, [{ callback, startBy }]);
    }
    for (const { host } of callbacks) this.#startNext(host);
  }

  /** Waits for attempts in flight, aborts those that take longer than `graceMs`, and returns the ids that are still leased. */
  async stop(graceMs: number): Promise<string[]> {
    this.#isStopping = true;
    this.#stopped.resolve();
    const unsent = [...this.#queues.values()].flat().map(({ callback }) => callback.id);
    this.#queues.clear();
    for (const id of unsent) this.#held.delete(id);
    const all = Promise.all([...this.#held.values()].map((each) => each?.done ?? Promise.resolve()));
    const grace = Promise.withResolvers<void>();
    const cancel = this.#deps.clock.after(graceMs, grace.resolve);
    await Promise.race([all, grace.promise]);
    cancel();
    const left = [...this.#held.keys()];
    for (const each of this.#held.values()) each?.abort.abort(new Error('The gateway is stopping.'));
    await all;
    return [...unsent, ...left];
  }

  /** Back-off for the database; stopping ends the wait and returns false. */
  async pause(failures: number): Promise<boolean> {
    await Promise.race([sleep(this.#deps.clock, growingPauseMs(failures, databasePauses)), this.#stopped.promise]);
    return !this.#isStopping;
  }

  #letGo({ id, host }: ClaimedCallback): void {
    this.#held.delete(id);
    this.#deps.hosts.hold(host, -1);
  }

  #queuedFor(host: string): number {
    return this.#queues.get(host)?.length ?? 0;
  }

  #startNext(host: string): void {
    const { clock, hosts } = this.#deps;
    const queue = this.#queues.get(host);
    while (queue && queue.length > 0 && hosts.room(host, 1) > 0) {
      const next = queue.shift() as Leased;
      if (clock.elapsed() > next.startBy) this.#drop([next]);
      else this.#begin(next.callback);
    }
    if (queue?.length === 0) this.#queues.delete(host);
  }

  #begin(callback: ClaimedCallback): void {
    const abort = new AbortController();
    this.#deps.hosts.take(callback.host);
    this.#held.set(callback.id, { abort, done: this.#attempt(callback, abort.signal) });
  }

  async #attempt(callback: ClaimedCallback, signal: AbortSignal): Promise<void> {
    const result = await this.#send(callback, signal);
    this.#freeSlot(callback.host, result);
    const outcome = outcomeOf(result, this.#deps.delaysS[callback.attempts]);
    // Aborted by stop(), which releases the lease: not the ERP's fault, so it does not count.
    const isOver = !(signal.aborted && result.status === null);
    const isRecorded = isOver && (await this.#recorder.record({ callback, result, outcome }));
    const isCrowded = this.#held.size >= maxHeld;
    this.#letGo(callback);
    if (!isRecorded) return;
    this.#count(callback, outcome);
    this.#deps.onRecorded(callback, outcome);
    if (isCrowded) this.#deps.onRoom(callback.host, true);
  }

  #freeSlot(host: string, result: AttemptResult): void {
    const { hosts } = this.#deps;
    const { wasFull } = hosts.free(host, { durationMs: result.durationMs, hasAnswered: result.status !== null });
    // A host that became slow gets few slots: its queued callbacks could wait longer than their leases.
    if (hosts.ahead(host) === 0 && this.#queuedFor(host) > hosts.room(host, 1)) {
      this.#drop(this.#queues.get(host)?.splice(hosts.room(host, 1)) ?? []);
    }
    if (wasFull) this.#startOthersFirst(host);
    else this.#startNext(host);
    this.#deps.onRoom(host, wasFull);
  }

  /** If all slots were taken, other hosts may have been waiting for this one. */
  #startOthersFirst(host: string): void {
    const queue = this.#queues.get(host);
    this.#queues.delete(host);
    if (queue) this.#queues.set(host, queue);
    for (const waiting of this.#queues.keys()) this.#startNext(waiting);
  }

  #drop(leased: readonly Leased[]): void {
    const ids = leased.map(({ callback }) => callback.id);
    for (const { callback } of leased) this.#letGo(callback);
    this.#deps.giveBack(ids);
  }

  async #send(callback: ClaimedCallback, signal: AbortSignal): Promise<AttemptResult> {
    try {
      const { id, sequence, url, secrets, traceparent } = callback;
      return await this.#deps.send({ id, sequence, url, secrets, traceparent: traceparent ?? undefined }, signal);
    } catch (error) {
      this.#deps.logger.error({ err: error, callbackId: callback.id }, 'a callback attempt failed by a bug of the gateway');
      return { status: null, error: 'The attempt failed inside the gateway.', durationMs: 0, responseHead: null };
    }
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

/** `delayS`: the pause before the next retry; undefined if none is left [D25]. */
function outcomeOf(result: AttemptResult, delayS: number | undefined): Outcome {
  if (result.status !== null && result.status >= 200 && result.status <= 299) return { kind: 'delivered' };
  return delayS === undefined ? { kind: 'dead' } : { kind: 'retry', delayMs: Math.round(delayS * 1000) };
}
