// Finds what is due, claims it under a lease and hands it to its attempt. If the process dies before a claim, nothing was touched.
// It looks when it is woken (after a commit, after an attempt), when the next retry or foreign lease falls due, and now and then.
import type { Database } from '../database/database.ts';
import type { Cancel, Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import { Attempts } from './attempts.ts';
import type { Send } from './sender.ts';
import { createSendingSlots, type SendingSlots } from './sending-slots.ts';
import { claimDue, readHosts, releaseLeases, releaseLeasesOfDead } from './store.ts';

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

export interface WorkerCounts {
  inFlight: number;
  delivered: number;
  failedAttempts: number;
  died: number;
}

/** Wakes between instances are best effort, so everybody looks by itself too. */
const idleLookMs = 10_000;
/** There was work that could not be taken, perhaps because another instance has an older one of the same subject in flight. */
const blockedLookMs = 250;
/** Timers cannot be set further than this; looking again does no harm. */
const maxNapMs = 3_600_000;

export class CallbackWorker {
  readonly #deps: WorkerDeps;
  readonly #slots: SendingSlots;
  readonly #attempts: Attempts;
  #isStopping = false;
  #isWoken = false;
  #endNap: (() => void) | undefined;
  #loop: Promise<void> | undefined;
  #unlisten: Cancel = () => {};

  constructor(deps: WorkerDeps) {
    this.#deps = deps;
    this.#slots = createSendingSlots(deps.limits);
    this.#attempts = new Attempts({ ...deps, slots: this.#slots, onEnded: () => this.#wake() });
  }

  start(): void {
    this.#unlisten = this.#deps.database.onWake('callbacks', () => this.#wake());
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#unlisten();
    this.#wake();
    const brokenOff = this.#attempts.stop(this.#deps.limits.stopGraceMs);
    await this.#loop;
    await this.#giveBack(await brokenOff);
  }

  /** Since the start of this process. */
  get counts(): WorkerCounts {
    return { ...this.#attempts.counts, inFlight: this.#slots.taken };
  }

  async #run(): Promise<void> {
    let failures = 0;
    let isFirstLook = true;
    while (!this.#isStopping) {
      this.#isWoken = false;
      try {
        if (isFirstLook) await releaseLeasesOfDead(this.#deps.database.queries);
        isFirstLook = false;
        const restMs = await this.#look();
        failures = 0;
        if (!this.#isWoken && !this.#isStopping) await this.#nap(restMs);
      } catch (error) {
        this.#deps.logger.warn({ err: error }, 'due callbacks could not be claimed; trying again');
        failures += 1;
        await this.#attempts.pause(failures);
      }
    }
  }

  /** Claims and starts what there is room for; returns after how long to look again. */
  async #look(): Promise<number> {
    const { database, instanceId, limits } = this.#deps;
    const hosts = await readHosts(database.queries);
    const due = hosts.filter((each) => each.dueInMs <= 0);
    // Hosts with the least in flight first, then who waits longest.
    due.sort((one, other) => this.#slots.takenBy(one.host) - this.#slots.takenBy(other.host) || one.dueInMs - other.dueInMs);
    let restMs = Math.min(idleLookMs, ...hosts.filter((each) => each.dueInMs > 0).map((each) => each.dueInMs));
    for (const [index, { host }] of due.entries()) {
      const limit = this.#slots.room(host, due.length - index);
      // Without room, the end of an attempt wakes the loop.
      if (limit <= 0) continue;
      restMs = Math.min(restMs, blockedLookMs);
      const claimed = await claimDue(database.queries, { engine: database.engine, host, instanceId, leaseMs: limits.leaseMs, limit });
      if (this.#isStopping) {
        await this.#giveBack(claimed.map((callback) => callback.id));
        break;
      }
      for (const callback of claimed) this.#attempts.begin(callback);
    }
    return restMs;
  }

  async #giveBack(ids: string[]): Promise<void> {
    try {
      await releaseLeases(this.#deps.database.queries, this.#deps.instanceId, ids);
    } catch (error) {
      this.#deps.logger.warn({ err: error }, 'leases of callbacks could not be given back; they run out by themselves');
    }
  }

  #wake(): void {
    this.#isWoken = true;
    this.#endNap?.();
  }

  #nap(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#deps.clock.after(Math.min(Math.max(delayMs, 1), maxNapMs), () => this.#endNap?.());
      this.#endNap = () => {
        this.#endNap = undefined;
        cancel();
        resolve();
      };
    });
  }
}
