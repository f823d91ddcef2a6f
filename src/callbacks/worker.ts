// Finds what is due, claims it under a lease and hands it to its attempt. If the process dies before a claim, nothing was touched; after it, the
// lease runs out, or the next gateway that starts sees that its holder is dead.
// Woken after a commit it claims for the hosts that were written to, and looks over all hosts only when it cannot know: at the start, when the next
// retry or a foreign lease falls due, when somebody else has written, and now and then. Other instances are called when there is too much to do.
import type { Database } from '../database/database.ts';
import type { Cancel, Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/logger.ts';
import type { Outcome } from './attempt-records.ts';
import { Attempts } from './attempts.ts';
import type { Addressee } from './outbox.ts';
import type { Send } from './sender.ts';
import { createSendingSlots, type SendingSlots, shares } from './sending-slots.ts';
import { claimDue, readHosts, releaseLeases, releaseLeasesOfDead } from './store.ts';
import { WaitingHosts } from './waiting-hosts.ts';

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

/** Wakes between instances are best effort, so everybody looks by itself too. */
const idleLookMs = 10_000;
/** There was work that could not be taken, perhaps because another instance has an older one of the same subject in flight. */
const blockedLookMs = 250;
/** Others are called to help this often at most. */
const callForHelpMs = 500;
const claimsAtOnce = 4;

interface Due {
  /** How many: those written here since the last claim, or any number. */
  count: number;
  /** Of whom, as far as it is known. */
  merchantIds: Set<string>;
  /** A place is free, and this host is next in its line. */
  isInTurn: boolean;
}

export class CallbackWorker {
  readonly #deps: WorkerDeps;
  readonly #slots: SendingSlots;
  readonly #attempts: Attempts;
  /** Hosts for which something may be due. */
  readonly #toClaim = new Map<string, Due>();
  /** Hosts of which the last claim could not take everything. Like the next, no more than have something pending: a look over all hosts tidies up. */
  readonly #full = new WaitingHosts();
  /** Hosts of which something may stand behind an attempt of ours: looked at again when that is on record. */
  readonly #standing = new Set<string>();
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
    this.#slots = createSendingSlots(deps.limits);
    this.#attempts = new Attempts({
      ...deps,
      slots: this.#slots,
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
    else for (const each of written) this.#claimSoonFor(each, 1);
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
    return { ...this.#attempts.counts, inFlight: this.#slots.taken };
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

  /** Claims and starts what there is room for. */
  async #look(): Promise<void> {
    if (this.#nextScanAt <= this.#deps.clock.elapsed()) await this.#scan();
    const due = [...this.#toClaim];
    this.#toClaim.clear();
    // First those whose turn it is, and what they leave is for whoever was written to or has left a place: claims that run together see the same room.
    const [inTurn, others] = [due.filter(([, { isInTurn }]) => isInTurn), due.filter(([, { isInTurn }]) => !isInTurn)];
    if (inTurn.length > 0) await this.#claimAll(inTurn, due.length);
    await this.#claimAll(others, others.length);
    if (this.#full.size > 0) this.#callForHelp();
    // Who was woken and found nothing to claim leaves its room to the next. Each time somebody takes a place or waits no longer, so this has an end.
    this.#wakeWaiting();
  }

  /** Hosts with the least in flight first. */
  async #claimAll(due: readonly [string, Due][], sharedBy: number): Promise<void> {
    const inOrder = due.toSorted(([one], [other]) => this.#slots.takenBy(one) - this.#slots.takenBy(other));
    const served: [string, string[]][] = [];
    for (let at = 0; at < inOrder.length; at += claimsAtOnce) {
      const claims = inOrder.slice(at, at + claimsAtOnce).map(async ([host, wanted]) => {
        served.push([host, await this.#claim(host, sharedBy - at, wanted)]);
      });
      await Promise.all(claims);
    }
    // Behind those that have got nothing.
    for (const [host, haveMore] of served) this.#waitForRoom(host, haveMore);
  }

  /** Which hosts have something due, and when to look again if nobody writes. */
  async #scan(): Promise<void> {
    this.#nextScanAt = this.#deps.clock.elapsed() + idleLookMs;
    const hosts = await readHosts(this.#deps.database.queries);
    // What another instance has sent ends without a record of ours. Whatever is due is asked about now, and stands there again if it must.
    this.#full.keepOnly(new Set(hosts.map(({ host }) => host)));
    this.#standing.clear();
    for (const each of hosts) {
      if (each.dueInMs > 0) this.#scanWithin(each.dueInMs);
      else this.#claimSoonFor(each, Number.POSITIVE_INFINITY);
    }
  }

  /** Returns the merchants who may have more there, if it was as much as could be claimed. */
  async #claim(host: string, sharedBy: number, due: Due): Promise<string[]> {
    const { clock, database, instanceId, limits } = this.#deps;
    const limit = this.#attempts.leasable(host, sharedBy);
    if (limit <= 0) {
      // The end of an attempt makes room.
      this.#waitForRoom(host, due.merchantIds);
      return [];
    }
    const share = this.#slots.shareOf(host);
    const waited = this.#full.delete(host);
    if (this.#attempts.holds(host)) this.#standing.add(host);
    const leasedAt = clock.elapsed();
    const claimed = await claimDue(database.queries, { engine: database.engine, host, instanceId, leaseMs: limits.leaseMs, limit });
    if (this.#isStopping) {
      await this.#giveBack(claimed.map((callback) => callback.id));
      return [];
    }
    const mayHaveMore = claimed.length === limit;
    if (!mayHaveMore && claimed.length < due.count) {
      this.#standing.add(host);
      this.#scanWithin(blockedLookMs);
    }
    this.#attempts.add(claimed, leasedAt);
    const ofWhom = claimed.map(({ merchantId }) => merchantId);
    this.#full.passTurn(share, ofWhom);
    return mayHaveMore ? [...waited, ...due.merchantIds, ...ofWhom] : [];
  }

  #waitForRoom(host: string, merchantIds: Iterable<string>): void {
    this.#full.add(host, this.#slots.shareOf(host), merchantIds);
  }

  #onRoom(host: string, forOthersToo: boolean): void {
    // If it waits: what has ended may have made another of it, slow or quick.
    this.#waitForRoom(host, []);
    if (forOthersToo) this.#wakeWaiting();
    // Behind those who have waited for its place; it may have one more for itself all the same.
    if (this.#full.has(host) && this.#isWorthClaiming(host)) this.#claimSoon(host);
  }

  /**
   * As many as there are places for. Whoever is passed over has something here already, so that this is a short walk however many wait.
   * (Or it was forgotten while it waited, and stands in the wrong line until the next look over all hosts.)
   */
  #wakeWaiting(): void {
    for (const share of shares) {
      let left = Math.min(this.#slots.left(share), this.#attempts.spare);
      for (const host of this.#full.of(share)) {
        if (left <= 0) break;
        if (!this.#isWorthClaiming(host)) continue;
        this.#claimSoon(host).isInTurn = true;
        left -= 1;
      }
    }
  }

  #isWorthClaiming(host: string): boolean {
    return this.#attempts.leasable(host, 1) >= this.#attempts.worthLeasing(host);
  }

  #onRecorded(callback: Addressee, outcome: Outcome): void {
    const { host } = callback;
    if (outcome.kind === 'retry') this.#scanWithin(outcome.delayMs);
    // While others of the host wait here, the next claim comes by itself.
    if (this.#full.has(host) && this.#attempts.worthLeasing(host) > 1) return;
    if (this.#standing.delete(host)) this.#claimSoonFor(callback, 0);
  }

  #claimSoon(host: string): Due {
    const due = this.#toClaim.get(host) ?? { count: 0, merchantIds: new Set(), isInTurn: false };
    this.#toClaim.set(host, due);
    this.#endNap?.();
    return due;
  }

  #claimSoonFor({ host, merchantId }: Addressee, count: number): void {
    const due = this.#claimSoon(host);
    due.count += count;
    due.merchantIds.add(merchantId);
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
    if (this.#isStopping || this.#toClaim.size > 0) return;
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
