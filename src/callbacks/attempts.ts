// The callbacks that this process has leased: each waits for a place, is sent and put on record, all by itself. Nothing thrown inside gets out.
// Dying anywhere here, the leases run out and another takes over, so an ERP may get one callback twice (same webhook-id), but none is lost by that.
// More are leased than can be sent at once, so that one statement leases many; what could not be sent well before its lease ends, because the ERP
// became slow or the process stood still, is given back unsent.
import type { Database } from '../database/database.ts';
import { growingPauseMs } from '../kernel/backoff.ts';
import { type Clock, sleep } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Outcome } from './attempt-records.ts';
import type { Hosts } from './hosts.ts';
import type { Addressee } from './outbox.ts';
import { createRecorder, type Recorder } from './recorder.ts';
import type { AttemptResult, Send } from './sender.ts';
import type { ClaimedCallback } from './store.ts';

interface Deps {
  database: Database;
  clock: Clock;
  logger: Logger;
  instanceId: string;
  delaysS: readonly number[];
  send: Send;
  hosts: Hosts;
  /** How long after its claim an attempt may still begin. */
  startWithinMs: number;
  /** A place is free; `forOthersToo`: hosts that have none may have waited for it. */
  onRoom(host: string, forOthersToo: boolean): void;
  /** The subject's next callback may go; a retry is due after the delay. */
  onRecorded(callback: Addressee, outcome: Outcome): void;
  /** These are still leased and will not be sent from here. */
  giveBack(ids: string[]): void;
}

interface Leased {
  callback: ClaimedCallback;
  startBy: number;
}

const databasePauses = { firstMs: 100, maxMs: 2_000 };
/** Leased by this process and not yet on record: while the database takes no records, no more are sent than this. */
const maxHeld = 1_024;
/** Of those, what is not leased ahead: a few hosts that hang with all that waits for them must not keep the others from free places. */
const keptForPlaces = 256;

export class Attempts {
  readonly counts = { delivered: 0, failedAttempts: 0, died: 0 };
  readonly #deps: Deps;
  readonly #recorder: Recorder;
  /** By id, all that are leased and not on record; undefined: it waits for a place. */
  readonly #held = new Map<string, { done: Promise<void>; abort: AbortController } | undefined>();
  /** Those that wait for a place, of each host in their order. */
  readonly #queues = new Map<string, Leased[]>();
  readonly #stopped = Promise.withResolvers<void>();
  #isStopping = false;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#recorder = createRecorder({ ...deps, pause: (failures) => this.pause(failures) });
  }

  /** How many more may be leased for this host now, when `sharedBy` hosts have work. */
  leasable(host: string, sharedBy: number): number {
    if (this.#isStopping) return 0;
    const { hosts } = this.#deps;
    const queued = this.#queuedFor(host);
    const room = hosts.room(host, sharedBy);
    const atOnce = Math.max(0, Math.min(room - queued, this.spare));
    // Not while all slots are taken, or else a host that always has more would keep its slots for ever; nor what others need for their slots.
    const ahead = hosts.left('quick') > 0 ? room + hosts.ahead(host) - queued - atOnce : 0;
    return atOnce + Math.max(0, Math.min(ahead, this.spare - atOnce - keptForPlaces));
  }

  /** How many more may be leased of all hosts together. */
  get spare(): number {
    return maxHeld - this.#held.size;
  }

  /** So few more are not worth a statement while others of the host still wait here. */
  worthLeasing(host: string): number {
    return this.#queuedFor(host) === 0 ? 1 : Math.max(1, Math.ceil(this.#deps.hosts.ahead(host) / 2));
  }

  /** Takes over what was leased. `leasedAt`: by the clock's elapsed time, before the lease began. */
  add(callbacks: readonly ClaimedCallback[], leasedAt: number): void {
    const startBy = leasedAt + this.#deps.startWithinMs;
    for (const callback of callbacks) {
      // Our own lease ran out while the database kept us from recording: that attempt is still ours.
      if (this.#held.has(callback.id)) continue;
      this.#held.set(callback.id, undefined);
      this.#deps.hosts.hold(callback.host, 1);
      const queue = this.#queues.get(callback.host);
      if (queue) queue.push({ callback, startBy });
      else this.#queues.set(callback.host, [{ callback, startBy }]);
    }
    for (const { host } of callbacks) this.#startNext(host);
  }

  /** Waits for what is in flight, breaks off what takes longer than `graceMs`, and returns the ids whose leases are left over. */
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

  /** The database gets time to come back; stopping ends the wait, and false says so. */
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
    this.#freePlace(callback.host, result);
    const outcome = outcomeOf(result, this.#deps.delaysS[callback.attempts]);
    // Broken off by stop(), which gives the lease back: not the ERP's fault, so it does not count.
    const isOver = !(signal.aborted && result.status === null);
    const isRecorded = isOver && (await this.#recorder.record({ callback, result, outcome }));
    const isCrowded = this.#held.size >= maxHeld;
    this.#letGo(callback);
    if (!isRecorded) return;
    this.#count(callback, outcome);
    this.#deps.onRecorded(callback, outcome);
    if (isCrowded) this.#deps.onRoom(callback.host, true);
  }

  #freePlace(host: string, result: AttemptResult): void {
    const { hosts } = this.#deps;
    const { wasFull } = hosts.free(host, { durationMs: result.durationMs, hasAnswered: result.status !== null });
    // An ERP that has become slow gets few places: what waits for it here could wait longer than its lease.
    if (hosts.ahead(host) === 0 && this.#queuedFor(host) > hosts.room(host, 1)) {
      this.#drop(this.#queues.get(host)?.splice(hosts.room(host, 1)) ?? []);
    }
    if (wasFull) this.#startOthersFirst(host);
    else this.#startNext(host);
    this.#deps.onRoom(host, wasFull);
  }

  /** Where all places were taken, others may have waited for this one: no more than are held. */
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
      this.#deps.logger.error({ err: error, callbackId: callback.id }, 'a callback attempt broke off by a mistake of this program');
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

/** `delayS`: what stands before the next retry, if there is one left [D25]. */
function outcomeOf(result: AttemptResult, delayS: number | undefined): Outcome {
  if (result.status !== null && result.status >= 200 && result.status <= 299) return { kind: 'delivered' };
  return delayS === undefined ? { kind: 'dead' } : { kind: 'retry', delayMs: Math.round(delayS * 1000) };
}
