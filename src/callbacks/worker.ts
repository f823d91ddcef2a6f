// Finds due callbacks, claims them under a lease and starts their attempts. If the process dies before a claim, nothing has changed; after
// it, the lease expires, or the next gateway that starts sees that the holder is dead.
// A wake-up after a commit names the hosts to claim for. The worker scans all hosts only if it cannot know them: at the start, when the
// next retry or another instance's lease falls due, when another instance has written, and periodically. If there is too much work, it
// wakes the other instances.
import type { Cancel } from '../kernel/clock.ts';
import type { Outcome } from './attempt-records.ts';
import { Attempts, type SendingDeps } from './attempts.ts';
import { Hosts, shares } from './hosts.ts';
import type { Addressee } from './outbox.ts';
import { claimDue, readHosts, releaseLeases, releaseLeasesOfDead } from './store.ts';

export interface WorkerDeps extends SendingDeps {
  limits: WorkerLimits;
}

export interface WorkerLimits {
  /** Concurrent attempts, overall and per host. */
  total: number;
  perHost: number;
  /** Longer than an attempt can take. */
  leaseMs: number;
  attemptTimeoutMs: number;
  /** How long stop() waits for attempts in flight before it aborts them. */
  stopGraceMs: number;
}

export interface WorkerCounts {
  inFlight: number;
  delivered: number;
  failedAttempts: number;
  died: number;
}

/** Wake-ups between instances are best effort, so every instance also polls. */
const idleLookMs = 10_000;
/** A due callback could not be claimed, perhaps because another instance has an older one of the same subject in flight. */
const blockedLookMs = 250;
/** Minimum time between two wake-ups of the other instances. */
const wakeOthersEveryMs = 500;
const claimsAtOnce = 4;

export class CallbackWorker {
  readonly #deps: WorkerDeps;
  readonly #hosts: Hosts;
  readonly #attempts: Attempts;
  /** Number of callbacks written for a host since the last claim; Infinity if only the database knows. */
  readonly #written = new Map<string, number>();
  #isAsked = false;
  /** Time of the next scan of all hosts, in elapsed time. */
  #nextScanAt = Number.NEGATIVE_INFINITY;
  #lastWakeAt = Number.NEGATIVE_INFINITY;
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

  /** `written`: the committed callbacks; undefined: any. False: this worker does not run. */
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
    // Later callbacks of the same subjects can be sent now.
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
        this.#deps.logger.warn({ err: error }, 'due callbacks could not be claimed; the claim will be retried');
        this.#scanWithin(0);
        failures += 1;
        await this.#attempts.pause(failures);
      }
    }
  }

  /** One round: claims and starts as many callbacks as there are free slots; every host that may have a slot gets a turn. */
  async #look(): Promise<void> {
    this.#isAsked = false;
    if (this.#nextScanAt <= this.#deps.clock.elapsed()) await this.#scan();
    const round = this.#nextRound();
    if (await this.#claimAll(round)) return this.#ask();
    // A waiting host is claimed for later, and the number to expect is not known any more by then.
    this.#written.clear();
    if (this.#hosts.waiting > 0) this.#wakeOthers();
  }

  /**
   * As many hosts of each share as it has free slots. All shares are collected before the first claim, or else quick hosts would get every
   * slot. A skipped host has callbacks here already, so few are skipped, however many hosts wait.
   */
  #nextRound(): string[] {
    const round: string[] = [];
    for (const share of shares) {
      let left = Math.min(this.#hosts.left(share), this.#attempts.spare);
      for (const host of this.#hosts.inTurn(share)) {
        if (left <= 0) break;
        if (!this.#isWorthClaiming(host)) continue;
        round.push(host);
        left -= 1;
      }
    }
    return round.toSorted((one, other) => this.#hosts.takenBy(one) - this.#hosts.takenBy(other));
  }

  /** False: there was no slot for any of them after all. */
  async #claimAll(round: readonly string[]): Promise<boolean> {
    const served: [string, string[]][] = [];
    for (let at = 0; at < round.length; at += claimsAtOnce) {
      const claims = round.slice(at, at + claimsAtOnce).map(async (host) => {
        const limit = this.#attempts.leasable(host, round.length - at);
        if (limit > 0) served.push([host, await this.#claim(host, limit)]);
      });
      await Promise.all(claims);
    }
    // Queued after the hosts that got nothing.
    for (const [host, haveMore] of served) this.#hosts.wait(host, haveMore);
    return served.length > 0;
  }

  /** Reads which hosts have due callbacks, and when the next scan is needed without a wake-up. */
  async #scan(): Promise<void> {
    this.#nextScanAt = this.#deps.clock.elapsed() + idleLookMs;
    const hosts = await readHosts(this.#deps.database.queries);
    // Callbacks that another instance has sent end without a record here.
    this.#hosts.keepOnly(new Set(hosts.map(({ host }) => host)));
    for (const each of hosts) {
      if (each.dueInMs > 0) this.#scanWithin(each.dueInMs);
      else this.#isDue(each, Number.POSITIVE_INFINITY);
    }
  }

  /** Returns the merchants that may have more callbacks for the host: none if fewer than `limit` were due. */
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
    const merchantIds = claimed.map(({ merchantId }) => merchantId);
    this.#hosts.passTurn(share, merchantIds);
    return mayHaveMore ? [...waited, ...merchantIds] : [];
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
    // While other callbacks of the host are queued here, the next claim follows anyway.
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

  #wakeOthers(): void {
    const { clock, database } = this.#deps;
    if (clock.elapsed() - this.#lastWakeAt < wakeOthersEveryMs) return;
    this.#lastWakeAt = clock.elapsed();
    const nextScanAt = this.#nextScanAt;
    database.wake('callbacks');
    // The wake-up is for the other instances, so it must not trigger a scan here.
    this.#nextScanAt = nextScanAt;
  }

  async #giveBack(ids: string[]): Promise<void> {
    try {
      await releaseLeases(this.#deps.database.queries, this.#deps.instanceId, ids);
    } catch (error) {
      this.#deps.logger.warn({ err: error }, 'leases of callbacks could not be released; they will expire');
    }
  }

  /** Waits until there is something to claim, or the next scan is due. */
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
