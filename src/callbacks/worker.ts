// Finds what is due, claims it under a lease and hands it to its attempt. If the process dies before a claim, nothing was touched; after it, the
// lease runs out, or the next gateway that starts sees that its holder is dead.
// Woken after a commit it claims for the hosts that were written to, and looks over all hosts only when it cannot know: at the start, when the next
// retry or a foreign lease falls due, when another instance has written, and periodically. Other instances are called when there is too much to do.
import type { Database } from '../database/database.ts';
import type { Cancel, Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Outcome } from './attempt-records.ts';
import { Attempts } from './attempts.ts';
import { Hosts, shares } from './hosts.ts';
import type { Addressee } from './outbox.ts';
import type { Send } from './sender.ts';
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
  attemptTimeoutMs: number;
  /** How long stop() waits for attempts in flight before it breaks them off. */
  stopGraceMs: number;
}

export interface WorkerCounts {
  inFlight: number;
  delivered: number;
  failedAttempts: number;
  died: number;
}

/** Wakes between instances are best effort, so every instance polls too. */
const idleLookMs = 10_000;
/** There was work that could not be taken, perhaps because another instance has an older one of the same subject in flight. */
const blockedLookMs = 250;
/** Others are called to help this often at most. */
const callForHelpMs = 500;
const claimsAtOnce = 4;

export class CallbackWorker {
  readonly #deps: WorkerDeps;
  readonly #hosts: Hosts;
  readonly #attempts: Attempts;
  /** How many were written for a host since the last look; Infinity where only the database knows. */
  readonly #written = new Map<string, number>();
  #isAsked = false;
  /** When to look over all hosts, by elapsed time. */
  #nextScanAt = Number.NEGATIVE_INFINITY;
  #lastCallAt = Number.NEGATIVE_INFINITY;
  #isStarted = false;
  #isStopping = false;
  #endNap: (() => void) | undefined;
  #loop: Promise<void> | undefined;
  #unlisten: Cancel = () => {};

  constructor(deps: WorkerDeps) {
    this.#deps = deps;
    this.#hosts = new Hosts(deps.limits);
    this.#attempts = new Attempts({
      ...deps,
      hosts: this.#hosts,
      startWithinMs: deps.limits.leaseMs - deps.limits.attemptTimeoutMs,
      onRoom: (host, forOthersToo) => this.#onRoom(host, forOthersToo),
      onRecorded: (callback, outcome) => this.#onRecorded(callback, outcome),
      giveBack: (ids) => void this.#giveBack(ids).then(() => this.#scanWithin(0)),
    });
  }

  start(): void {
    this.#isStarted = true;
    this.#unlisten = this.#deps.database.onWake('callbacks', () => this.#scanWithin(0));
    this.#loop = this.#run();
  }

  /** These were committed; undefined: any. False if this worker does not run. */
  wake(written?: readonly Addressee[]): boolean {
    if (!this.#isStarted || this.#isStopping) return false;
    if (written === undefined) this.#scanWithin(0);
    else for (const each of written) this.#isDue(each, 1);
    return true;
  }

  async stop(): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#unlisten();
    this.#endNap?.();
    const leftOver = this.#attempts.stop(this.#deps.limits.stopGraceMs);
    await this.#loop;
    await this.#giveBack(await leftOver);
    // What stood behind our attempts can go now.
    this.#deps.database.wake('callbacks');
  }

  /** Since the start of this process. */
  get counts(): WorkerCounts {
    return { ...this.#attempts.counts, inFlight: this.#hosts.taken };
  }

  async #run(): Promise<void> {
    let failures = 0;
    let isFirstLook = true;
    while (!this.#isStopping) {
      try {
        if (isFirstLook) await releaseLeasesOfDead(this.#deps.database.queries);
        isFirstLook = false;
        await this.#look();
        failures = 0;
        await this.#nap();
      } catch (error) {
        this.#deps.logger.warn({ err: error }, 'due callbacks could not be claimed; trying again');
        this.#scanWithin(0);
        failures += 1;
        await this.#attempts.pause(failures);
      }
    }
  }

  /** Claims and starts what there is room for: a round in which every host that may have a place gets its turn; the next look is the next round. */
  async #look(): Promise<void> {
    this.#isAsked = false;
    if (this.#nextScanAt <= this.#deps.clock.elapsed()) await this.#scan();
    const round = this.#nextRound();
    if (round.length > 0 && (await this.#claimAll(round))) return this.#ask();
    // A host that has to wait is claimed for later, when it is not known any more how many to expect.
    this.#written.clear();
    if (this.#hosts.waiting > 0) this.#callForHelp();
  }

  /**
   * Of each share as many hosts as there are places for; all shares before the first claim, or else quick hosts would get every place.
   * A host that is passed over has something here already, so that this is a short walk however many wait.
   */
  #nextRound(): string[] {
    const round: string[] = [];
    for (const share of shares) {
      let left = Math.min(this.#hosts.left(share), this.#attempts.spare);
      if (left <= 0) continue;
      for (const host of this.#hosts.inTurn(share)) {
        if (!this.#isWorthClaiming(host)) continue;
        round.push(host);
        left -= 1;
        if (left === 0) break;
      }
    }
    return round.toSorted((one, other) => this.#hosts.takenBy(one) - this.#hosts.takenBy(other));
  }

  /** False if there was no place for any of them after all. */
  async #claimAll(round: readonly string[]): Promise<boolean> {
    const served: [string, string[]][] = [];
    for (let at = 0; at < round.length; at += claimsAtOnce) {
      const claims = round.slice(at, at + claimsAtOnce).map(async (host) => {
        const limit = this.#attempts.leasable(host, round.length - at);
        if (limit > 0) served.push([host, await this.#claim(host, limit)]);
      });
      await Promise.all(claims);
    }
    // Behind those that have got nothing.
    for (const [host, haveMore] of served) this.#hosts.wait(host, haveMore);
    return served.length > 0;
  }

  /** Which hosts have something due, and when to look again without a wake-up. */
  async #scan(): Promise<void> {
    this.#nextScanAt = this.#deps.clock.elapsed() + idleLookMs;
    const hosts = await readHosts(this.#deps.database.queries);
    // What another instance has sent ends without a record of ours.
    this.#hosts.keepOnly(new Set(hosts.map(({ host }) => host)));
    for (const each of hosts) {
      if (each.dueInMs > 0) this.#scanWithin(each.dueInMs);
      else this.#isDue(each, Number.POSITIVE_INFINITY);
    }
  }

  /** Returns the merchants who may have more there, if it was as much as could be claimed. */
  async #claim(host: string, limit: number): Promise<string[]> {
    const { clock, database, instanceId, limits } = this.#deps;
    const share = this.#hosts.shareOf(host);
    const waited = this.#hosts.leave(host);
    const written = this.#written.get(host) ?? 0;
    this.#written.delete(host);
    if (this.#hosts.holds(host)) this.#hosts.setBlocked(host, true);
    const leasedAt = clock.elapsed();
    const claimed = await claimDue(database.queries, { engine: database.engine, host, instanceId, leaseMs: limits.leaseMs, limit });
    if (this.#isStopping) {
      await this.#giveBack(claimed.map((callback) => callback.id));
      return [];
    }
    const mayHaveMore = claimed.length === limit;
    if (!mayHaveMore && claimed.length < written) {
      this.#hosts.setBlocked(host, true);
      this.#scanWithin(blockedLookMs);
    }
    this.#attempts.add(claimed, leasedAt);
    const ofWhom = claimed.map(({ merchantId }) => merchantId);
    this.#hosts.passTurn(share, ofWhom);
    return mayHaveMore ? [...waited, ...ofWhom] : [];
  }

  #onRoom(host: string, forOthersToo: boolean): void {
    if (forOthersToo ? this.#hosts.waiting > 0 : this.#hosts.waits(host) && this.#isWorthClaiming(host)) this.#ask();
  }

  #isWorthClaiming(host: string): boolean {
    return this.#attempts.leasable(host, 1) >= this.#attempts.worthLeasing(host);
  }

  #onRecorded(callback: Addressee, outcome: Outcome): void {
    const { host } = callback;
    if (outcome.kind === 'retry') this.#scanWithin(outcome.delayMs);
    // While others of the host wait here, the next claim comes by itself.
    if (!this.#hosts.isBlocked(host) || (this.#hosts.waits(host) && this.#attempts.worthLeasing(host) > 1)) return;
    this.#hosts.setBlocked(host, false);
    this.#isDue(callback, 0);
  }

  #isDue({ host, merchantId }: Addressee, count: number): void {
    this.#written.set(host, (this.#written.get(host) ?? 0) + count);
    this.#hosts.wait(host, [merchantId]);
    this.#ask();
  }

  #ask(): void {
    this.#isAsked = true;
    this.#endNap?.();
  }

  #scanWithin(delayMs: number): void {
    const at = this.#deps.clock.elapsed() + delayMs;
    if (at >= this.#nextScanAt) return;
    this.#nextScanAt = at;
    this.#endNap?.();
  }

  #callForHelp(): void {
    const { clock, database } = this.#deps;
    if (clock.elapsed() - this.#lastCallAt < callForHelpMs) return;
    this.#lastCallAt = clock.elapsed();
    const nextScanAt = this.#nextScanAt;
    database.wake('callbacks');
    // It was for the others.
    this.#nextScanAt = nextScanAt;
  }

  async #giveBack(ids: string[]): Promise<void> {
    try {
      await releaseLeases(this.#deps.database.queries, this.#deps.instanceId, ids);
    } catch (error) {
      this.#deps.logger.warn({ err: error }, 'leases of callbacks could not be given back; they run out by themselves');
    }
  }

  /** Until there is something to claim, or it is time to look over all hosts. */
  async #nap(): Promise<void> {
    if (this.#isStopping || this.#isAsked) return;
    const delayMs = Math.max(0, this.#nextScanAt - this.#deps.clock.elapsed());
    if (delayMs === 0) return;
    await new Promise<void>((resolve) => {
      const endNap = () => {
        this.#endNap = undefined;
        cancel();
        resolve();
      };
      const cancel = this.#deps.clock.after(Math.max(delayMs, 1), endNap);
      this.#endNap = endNap;
    });
  }
}
