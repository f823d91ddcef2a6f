// All that this process knows of the hosts that callbacks go to: one row for each host, and one line of hosts that have something due [D230].
// - A row says what kind of host it is, by its last attempt: quick, slow, silent (slow, and did not even answer), or unknown before the first has ended.
// - Places: all hosts together have `total` attempts at once and each host `perHost`, a silent one 1. Slow and silent hosts together get half of all
//   places at most, unknown ones a quarter, so that a quarter is always left to hosts that have answered quickly.
// - Turns: every free place goes to the merchant whose turn it is, so that thousands of dead hosts of one merchant delay that merchant alone.
// The line is kept apart for each share of the places: nothing here takes longer because more hosts wait that may have no place now.

/** Silent hosts belong to the slow ones. */
export const shares = ['quick', 'slow', 'unknown'] as const;
export type Share = (typeof shares)[number];

interface Host {
  kind: Share | 'silent';
  /** What its last attempt took. */
  paceMs: number;
  /** Attempts under way. */
  sending: number;
  /** Leased by this process and not on record yet: those under way, those that wait for a place, and those that have just ended. */
  held: number;
  /** Merchants with due callbacks here. The host waits in the queue while there are any. */
  merchantIds: Set<string>;
  /** Something may be due that stands behind an attempt of ours or of another gateway. */
  isBlocked: boolean;
}

/** Hosts with due callbacks, of each merchant in the order of arrival; the merchants in the order of their turns. */
type Line = Map<string, Set<string>>;

const slowFromMs = 2_000;
const aheadForMs = 1_000;
const maxAhead = 96;
/** Dead hosts come back for hours, and each that was forgotten takes a slot of the unknown hosts; a host is some hundred bytes. */
const maxKnownHosts = 10_000;
/** Of a host; or else one with thousands of merchants would be stepped over thousands of times. */
const maxMerchants = 16;

const nothing: Readonly<Host> = { kind: 'unknown', paceMs: 0, sending: 0, held: 0, merchantIds: new Set(), isBlocked: false };
const shareOfKind = (kind: Host['kind']): Share => (kind === 'silent' ? 'slow' : kind);

export class Hosts {
  readonly #limits: { total: number; perHost: number };
  readonly #maxKnown: number;
  readonly #rows = new Map<string, Host>();
  /** Of which the kind is known, in the order in which their last attempts ended. */
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

  /** Which part of the places it may take from. */
  shareOf(host: string): Share {
    return shareOfKind(this.#read(host).kind);
  }

  /** Places that all hosts of a share may still take together; below zero where a host came into it with the places that it had. */
  left(share: Share): number {
    const { total } = this.#limits;
    const overall = total - this.taken;
    if (share === 'quick') return overall;
    const slowPlaces = Math.max(1, Math.floor(total / 2));
    const unknownPlaces = Math.max(1, Math.floor(total / 4));
    const ofShare = share === 'slow' ? slowPlaces - this.#taken.slow : unknownPlaces - this.#taken.unknown;
    // Hosts that turn slow with places in hand make room among those that are not known, but not at the cost of the quick ones.
    const besideQuick = slowPlaces + unknownPlaces - this.#taken.slow - this.#taken.unknown;
    return Math.min(overall, ofShare, besideQuick);
  }

  /** How many more attempts may start for this host now, when `sharedBy` hosts have work. */
  room(host: string, sharedBy: number): number {
    const { kind, sending } = this.#read(host);
    const overall = this.left(shareOfKind(kind));
    if (overall <= 0) return 0;
    // One that is not known may have as many as a quick one: who comes with a backlog after a restart comes with all the others and gets the fair
    // share, and where a first attempt hangs the ones beside it show that the host is alive.
    const fairShare = Math.max(1, Math.ceil(overall / Math.max(1, sharedBy)));
    const perHost = kind === 'silent' ? 1 : this.#limits.perHost;
    return Math.max(0, Math.min(perHost - sending, fairShare));
  }

  /** How many may be leased beyond the room: of a quick host as many as it answers in about a second, of others none. */
  ahead(host: string): number {
    const { kind, paceMs } = this.#read(host);
    return kind === 'quick' ? Math.min(maxAhead, Math.floor((this.#limits.perHost * aheadForMs) / Math.max(paceMs, 1))) : 0;
  }

  take(host: string): void {
    this.#taken[this.shareOf(host)] += 1;
    this.#change(host, (row) => (row.sending += 1));
  }

  /** Tells whether hosts of some share, for which there was no place at all, may have one now. */
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

  /** So many more, or fewer, are leased and not on record. */
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

  /** Hosts in line. */
  get waiting(): number {
    return this.#waiting;
  }

  waits(host: string): boolean {
    return this.#read(host).merchantIds.size > 0;
  }

  /** Behind the others of these merchants; one that stands in line already keeps its turn. */
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

  /** Out of the line. Returns whose it was. */
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

  /** These have had their turn: with what they have left they come behind the others. */
  passTurn(share: Share, merchantIds: Iterable<string>): void {
    const line = this.#lines[share];
    for (const merchantId of merchantIds) {
      const hosts = line.get(merchantId);
      if (hosts === undefined) continue;
      line.delete(merchantId);
      line.set(merchantId, hosts);
    }
  }

  /** In the order of their turns: one of each merchant, then the next of each. The walk costs what is taken of it, and what is named once of several. */
  *inTurn(share: Share): Generator<string> {
    const line = this.#lines[share];
    /** It grows during the walk: a merchant that has more comes again. */
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

  /** After a look over all hosts: one with nothing pending waits for nothing, and what was blocked is asked about anew. */
  keepOnly(pending: ReadonlySet<string>): void {
    for (const [host, { isBlocked }] of this.#rows) {
      if (!pending.has(host)) this.leave(host);
      if (isBlocked) this.setBlocked(host, false);
    }
  }

  #read(host: string): Readonly<Host> {
    return this.#rows.get(host) ?? nothing;
  }

  /** A row is there while there is something to say. */
  #change(host: string, change: (row: Host) => unknown): void {
    const row = this.#rows.get(host) ?? { ...nothing, merchantIds: new Set() };
    change(row);
    const { kind, sending, held, merchantIds, isBlocked } = row;
    if (kind !== 'unknown' || sending > 0 || held > 0 || merchantIds.size > 0 || isBlocked) this.#rows.set(host, row);
    else this.#rows.delete(host);
  }

  /** Its places and its turn belong to the share of what it is from now on. */
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
