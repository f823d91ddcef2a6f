// The state of the hosts that callbacks go to, in this process: one row for each host, and a fair queue of hosts with due callbacks [D230].
// - A row has the kind of the host, by its last attempt: quick, slow, silent (slow and without an answer), or unknown before the first has
// ended. - Slots: all hosts together have `total` concurrent attempts and each host `perHost`, a silent one 1. Slow and silent hosts
//   together get at most half of all slots, unknown ones a quarter, so that a quarter always remains for hosts that answer quickly.
// - Round-robin over merchants: every free slot goes to the next merchant, so that thousands of dead hosts of one merchant delay only that
// one. Each share of the slots has its own queue: no step takes longer because hosts wait for which there is no slot now.

/** Silent hosts belong to the slow ones. */
export const shares = ['quick', 'slow', 'unknown'] as const;
export type Share = (typeof shares)[number];

interface Host {
  kind: Share | 'silent';
  /** Duration of its last attempt. */
  paceMs: number;
  /** Attempts in flight. */
  sending: number;
  /** Leased by this process and not recorded yet: attempts in flight, queued ones, and those that have just ended. */
  held: number;
  /** Merchants with due callbacks here. The host waits in the queue while there are any. */
  merchantIds: Set<string>;
  /** A due callback may be waiting for an earlier one of its subject, in flight here or at another gateway. */
  isBlocked: boolean;
}

/** Merchants in round-robin order, each with its hosts that have due callbacks in the order of arrival. */
type Line = Map<string, Set<string>>;

const slowFromMs = 2_000;
const aheadForMs = 1_000;
const maxAhead = 96;
/** Dead hosts are retried for hours, and each that was forgotten takes a slot of the unknown hosts; a host is some hundred bytes. */
const maxKnownHosts = 10_000;
/** Per host; otherwise a host with thousands of merchants would be skipped thousands of times. */
const maxMerchants = 16;

const nothing: Readonly<Host> = { kind: 'unknown', paceMs: 0, sending: 0, held: 0, merchantIds: new Set(), isBlocked: false };
const shareOfKind = (kind: Host['kind']): Share => (kind === 'silent' ? 'slow' : kind);

export class Hosts {
  readonly #limits: { total: number; perHost: number };
  readonly #maxKnown: number;
  readonly #rows = new Map<string, Host>();
  /** Hosts of known kind, in the order in which their last attempts ended. */
  readonly #known = new Set<string>();
  readonly #taken: Record<Share, number> = { quick: 0, slow: 0, unknown: 0 };
  readonly #lines: Record<Share, Line> = { quick: new Map(), slow: new Map(), unknown: new Map() };
  #waiting = 0;

  constructor(limits: { total: number; perHost: number }, maxKnown = maxKnownHosts) {
    this.#limits = limits;
    this.#maxKnown = maxKnown;
  }

  get taken(): number {
    return this.#taken.quick + this.#taken.slow + this.#taken.unknown;
  }

  takenBy(host: string): number {
    return this.#read(host).sending;
  }

  /** The share of the slots that the host may use. */
  shareOf(host: string): Share {
    return shareOfKind(this.#read(host).kind);
  }

  /** Free slots of a share; negative if a host joined the share together with its slots in use. */
  left(share: Share): number {
    const { total } = this.#limits;
    const overall = total - this.taken;
    if (share === 'quick') return overall;
    const slowSlots = Math.max(1, Math.floor(total / 2));
    const unknownSlots = Math.max(1, Math.floor(total / 4));
    const ofShare = share === 'slow' ? slowSlots - this.#taken.slow : unknownSlots - this.#taken.unknown;
    // Slots of hosts that became slow reduce those of unknown hosts, not those of quick ones.
    const besideQuick = slowSlots + unknownSlots - this.#taken.slow - this.#taken.unknown;
    return Math.min(overall, ofShare, besideQuick);
  }

  /** How many more attempts may start for this host now, if `sharedBy` hosts have work. */
  room(host: string, sharedBy: number): number {
    const { kind, sending } = this.#read(host);
    const overall = this.left(shareOfKind(kind));
    if (overall <= 0) return 0;
    // An unknown host may have as many slots as a quick one: after a restart, a host with a backlog competes with all others and gets its
    // fair share; and if a first attempt hangs, the attempts beside it show that the host is alive.
    const fairShare = Math.max(1, Math.ceil(overall / Math.max(1, sharedBy)));
    const perHost = kind === 'silent' ? 1 : this.#limits.perHost;
    return Math.max(0, Math.min(perHost - sending, fairShare));
  }

  /** How many may be leased beyond the free slots: for a quick host as many as it answers in about a second, for others none. */
  ahead(host: string): number {
    const { kind, paceMs } = this.#read(host);
    return kind === 'quick' ? Math.min(maxAhead, Math.floor((this.#limits.perHost * aheadForMs) / Math.max(paceMs, 1))) : 0;
  }

  take(host: string): void {
    this.#taken[this.shareOf(host)] += 1;
    this.#change(host, (row) => (row.sending += 1));
  }

  /** `wasFull`: a share that had no free slot has one now. */
  free(host: string, { durationMs, hasAnswered }: { durationMs: number; hasAnswered: boolean }): { wasFull: boolean } {
    const full = shares.filter((share) => this.left(share) <= 0);
    this.#taken[this.shareOf(host)] -= 1;
    this.#change(host, (row) => (row.sending -= 1));
    this.#become(host, durationMs < slowFromMs ? 'quick' : hasAnswered ? 'slow' : 'silent', durationMs);
    this.#known.delete(host);
    this.#known.add(host);
    if (this.#known.size > this.#maxKnown) this.#forget(this.#known.values().next().value as string);
    return { wasFull: full.some((share) => this.left(share) > 0) };
  }

  /** Counts a callback that is leased and not recorded yet. */
  hold(host: string, more: 1 | -1): void {
    this.#change(host, (row) => (row.held += more));
  }

  holds(host: string): boolean {
    return this.#read(host).held > 0;
  }

  setBlocked(host: string, isBlocked: boolean): void {
    this.#change(host, (row) => (row.isBlocked = isBlocked));
  }

  isBlocked(host: string): boolean {
    return this.#read(host).isBlocked;
  }

  /** Number of queued hosts. */
  get waiting(): number {
    return this.#waiting;
  }

  waits(host: string): boolean {
    return this.#read(host).merchantIds.size > 0;
  }

  /** Queues the host after the others of these merchants; a queued host keeps its position. */
  wait(host: string, merchantIds: Iterable<string>): void {
    const line = this.#lines[this.shareOf(host)];
    this.#change(host, (row) => {
      const before = row.merchantIds.size;
      for (const merchantId of merchantIds) {
        if (row.merchantIds.size === maxMerchants) break;
        row.merchantIds.add(merchantId);
        const hosts = line.get(merchantId);
        if (hosts) hosts.add(host);
        else line.set(merchantId, new Set([host]));
      }
      if (before === 0 && row.merchantIds.size > 0) this.#waiting += 1;
    });
  }

  /** Removes the host from the queue; returns its merchants. */
  leave(host: string): ReadonlySet<string> {
    const { merchantIds } = this.#read(host);
    if (merchantIds.size === 0) return merchantIds;
    const line = this.#lines[this.shareOf(host)];
    for (const merchantId of merchantIds) {
      const hosts = line.get(merchantId);
      hosts?.delete(host);
      if (hosts?.size === 0) line.delete(merchantId);
    }
    this.#waiting -= 1;
    this.#change(host, (row) => (row.merchantIds = new Set()));
    return merchantIds;
  }

  /** Moves these merchants to the end of the round-robin. */
  passTurn(share: Share, merchantIds: Iterable<string>): void {
    const line = this.#lines[share];
    for (const merchantId of merchantIds) {
      const hosts = line.get(merchantId);
      if (hosts === undefined) continue;
      line.delete(merchantId);
      line.set(merchantId, hosts);
    }
  }

  /** Round-robin: one host of each merchant, then the next of each; each host once. The cost is linear in the number of hosts taken. */
  *inTurn(share: Share): Generator<string> {
    const line = this.#lines[share];
    /** Grows during the iteration: a merchant with more hosts comes again. */
    const again: Iterator<string>[] = [];
    function* turns() {
      for (const hosts of line.values()) yield hosts.values();
      yield* again;
    }
    const named = new Set<string>();
    for (const hosts of turns()) {
      const { value: host, done } = hosts.next();
      if (done) continue;
      again.push(hosts);
      if (!named.has(host)) yield host;
      named.add(host);
    }
  }

  /** After a scan of all hosts: hosts without pending callbacks leave the queue, and all are unblocked. */
  keepOnly(pending: ReadonlySet<string>): void {
    for (const host of this.#rows.keys()) {
      if (!pending.has(host)) this.leave(host);
      this.setBlocked(host, false);
    }
  }

  #read(host: string): Readonly<Host> {
    return this.#rows.get(host) ?? nothing;
  }

  /** Rows with default values are deleted. */
  #change(host: string, change: (row: Host) => unknown): void {
    const row = this.#rows.get(host) ?? { ...nothing, merchantIds: new Set() };
    change(row);
    const { kind, sending, held, merchantIds, isBlocked } = row;
    if (kind !== 'unknown' || sending > 0 || held > 0 || merchantIds.size > 0 || isBlocked) this.#rows.set(host, row);
    else this.#rows.delete(host);
  }

  /** Moves its slots and its place in the queue to the share of the new kind. */
  #become(host: string, kind: Host['kind'], paceMs: number): void {
    const [before, after] = [this.shareOf(host), shareOfKind(kind)];
    const merchantIds = before === after ? [] : this.leave(host);
    this.#taken[before] -= this.takenBy(host);
    this.#taken[after] += this.takenBy(host);
    this.#change(host, (row) => Object.assign(row, { kind, paceMs }));
    this.wait(host, merchantIds);
  }

  #forget(host: string): void {
    this.#known.delete(host);
    this.#become(host, 'unknown', 0);
  }
}
