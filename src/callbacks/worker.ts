// Sends what is due. One loop looks for work and claims it; each claimed callback then runs by itself: send, record, free its place.
// The loop looks when it is woken (after a commit, after an attempt), when the next retry or foreign lease falls due, and now and then.
// Nothing thrown inside gets out. What happens when the process dies: before the claim, nothing was touched; after it, the lease
// runs out and another takes over, so an ERP may hear one callback twice (same webhook-id) but never not at all.
import type { Database } from '../database/database.ts';
import { growingPauseMs } from '../kernel/backoff.ts';
import { type Cancel, type Clock, sleep } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { AttemptResult, Send } from './sender.ts';
import { createPlaces } from './sending-slots.ts';
import { type ClaimedCallback, claimDue, type Outcome, readHosts, recordAttempt, releaseLeases, releaseLeasesOfDead } from './store.ts';

export interface WorkerDeps {
  database: Database;
  clock: Clock;
  logger: Logger;
  instanceId: string;
  /** Delays before the retries; the first attempt is at once [D25]. */
  delaysS: readonly number[];
  send: Send;
  limits: WorkerLimits;
}

export interface WorkerLimits {
  /** Attempts at once, overall and per host. */
  total: number;
  perHost: number;
  /** Longer than an attempt can take. */
  leaseMs: number;
  /** How long stop() waits for attempts in flight before it breaks them off. */
  stopGraceMs: number;
}

export interface Worker {
  start(): void;
  stop(): Promise<void>;
  /** Since the start of this process. */
  readonly counts: { inFlight: number; delivered: number; failedAttempts: number; died: number };
}

/** Wakes between instances are best effort, so everybody looks by itself too. */
const idleLookMs = 10_000;
/** There was work that could not be taken, perhaps because another instance has an older one of the same subject in flight. */
const blockedLookMs = 250;
const databasePauses = { firstMs: 100, longestMs: 2_000 };
/** Timers cannot be set further than this; looking again does no harm. */
const longestNapMs = 3_600_000;

export function createWorker(deps: WorkerDeps): Worker {
  const { database, clock, logger, instanceId, delaysS, limits } = deps;
  const places = createPlaces(limits);
  const running = new Map<string, { done: Promise<void>; abort: AbortController }>();
  const counts = { delivered: 0, failedAttempts: 0, died: 0 };
  const stopped = Promise.withResolvers<void>();
  let isStopping = false;
  let isWoken = false;
  let endNap: (() => void) | undefined;
  let loop: Promise<void> | undefined;
  let unlisten: Cancel = () => {};

  function wake(): void {
    isWoken = true;
    endNap?.();
  }

  function nap(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = clock.after(Math.min(Math.max(delayMs, 1), longestNapMs), () => endNap?.());
      endNap = () => {
        endNap = undefined;
        cancel();
        resolve();
      };
    });
  }

  /** Wakes do not shorten it: the database gets time to come back. */
  async function pause(failures: number): Promise<void> {
    await Promise.race([sleep(clock, growingPauseMs(failures, databasePauses)), stopped.promise]);
  }

  async function run(): Promise<void> {
    let failures = 0;
    let isFirstLook = true;
    while (!isStopping) {
      isWoken = false;
      try {
        if (isFirstLook) await releaseLeasesOfDead(database.queries);
        isFirstLook = false;
        const restMs = await look();
        failures = 0;
        if (!isWoken && !isStopping) await nap(restMs);
      } catch (error) {
        logger.warn({ err: error }, 'due callbacks could not be claimed; trying again');
        failures += 1;
        await pause(failures);
      }
    }
  }

  /** Claims and starts what there is room for; returns after how long to look again. */
  async function look(): Promise<number> {
    const hosts = await readHosts(database.queries);
    const due = hosts.filter((each) => each.dueInMs <= 0);
    // Hosts with the least in flight first, then who waits longest.
    due.sort((one, other) => places.takenBy(one.host) - places.takenBy(other.host) || one.dueInMs - other.dueInMs);
    let restMs = Math.min(idleLookMs, ...hosts.filter((each) => each.dueInMs > 0).map((each) => each.dueInMs));
    for (const [index, { host }] of due.entries()) {
      const limit = places.room(host, due.length - index);
      // Without room, the end of an attempt wakes the loop.
      if (limit <= 0) continue;
      restMs = Math.min(restMs, blockedLookMs);
      const claimed = await claimDue(database.queries, { engine: database.engine, host, instanceId, leaseMs: limits.leaseMs, limit });
      if (isStopping) {
        await releaseLeases(database.queries, instanceId, ids(claimed));
        break;
      }
      for (const callback of claimed) begin(callback);
    }
    return restMs;
  }

  function begin(callback: ClaimedCallback): void {
    // Our own lease ran out while the database kept us from recording: that attempt is still ours.
    if (running.has(callback.id)) return;
    const abort = new AbortController();
    places.take(callback.host);
    running.set(callback.id, { abort, done: attempt(callback, abort.signal) });
  }

  async function attempt(callback: ClaimedCallback, signal: AbortSignal): Promise<void> {
    const result = await trySend(callback, signal);
    // Broken off by stop(), which gives the lease back: not the ERP's fault, so it does not count.
    if (!(signal.aborted && result.status === null)) await record(callback, result);
    running.delete(callback.id);
    places.free(callback.host, { durationMs: result.durationMs, hasAnswered: result.status !== null });
    wake();
  }

  async function trySend(callback: ClaimedCallback, signal: AbortSignal): Promise<AttemptResult> {
    try {
      return await deps.send({ id: callback.id, sequence: callback.sequence, url: callback.url, secret: callback.secret }, signal);
    } catch (error) {
      logger.error({ err: error, callbackId: callback.id }, 'a callback attempt broke off by a mistake of this program');
      return { status: null, error: 'The attempt failed inside the gateway.', durationMs: 0, responseHead: null };
    }
  }

  async function record(callback: ClaimedCallback, result: AttemptResult): Promise<void> {
    const outcome = outcomeOf(result, callback.attempts);
    for (let failures = 0; ; ) {
      try {
        const isRepeat = failures > 0;
        await database.transaction((queries) => recordAttempt(queries, callback, { instanceId, result, outcome, isRepeat }));
        break;
      } catch (error) {
        logger.warn({ err: error, callbackId: callback.id }, 'a callback attempt could not be recorded; trying again');
        // When stopping, the lease runs out and the callback is sent again: twice rather than never.
        if (isStopping) return;
        failures += 1;
        await pause(failures);
      }
    }
    if (outcome.kind === 'delivered') counts.delivered += 1;
    else counts.failedAttempts += 1;
    if (outcome.kind === 'dead') {
      counts.died += 1;
      logger.warn({ callbackId: callback.id, merchantId: callback.merchantId, host: callback.host }, 'the last retry of a callback failed');
    }
  }

  function outcomeOf(result: AttemptResult, attemptsBefore: number): Outcome {
    if (result.status !== null && result.status >= 200 && result.status <= 299) return { kind: 'delivered' };
    const delayS = delaysS[attemptsBefore];
    return delayS === undefined ? { kind: 'dead' } : { kind: 'retry', delayMs: Math.round(delayS * 1000) };
  }

  return {
    start() {
      unlisten = database.onWake('callbacks', wake);
      loop = run();
    },
    async stop() {
      if (isStopping) return;
      isStopping = true;
      unlisten();
      stopped.resolve();
      wake();
      await loop;
      const all = Promise.all([...running.values()].map((each) => each.done));
      const grace = Promise.withResolvers<void>();
      const cancel = clock.after(limits.stopGraceMs, grace.resolve);
      await Promise.race([all, grace.promise]);
      cancel();
      const left = [...running.keys()];
      for (const { abort } of running.values()) abort.abort(new Error('The gateway is stopping.'));
      await all;
      try {
        await releaseLeases(database.queries, instanceId, left);
      } catch (error) {
        logger.warn({ err: error }, 'leases of callbacks could not be given back; they run out by themselves');
      }
    },
    get counts() {
      return { ...counts, inFlight: places.taken };
    },
  };
}

function ids(callbacks: readonly ClaimedCallback[]): string[] {
  return callbacks.map((callback) => callback.id);
}
