// How many attempts may run at once, overall and per host, so that slow or dead ERPs, however many, never take the places of the others [D51, D128].
// A host is slow after an attempt that took long, silent if it did not even answer then, quick otherwise, and not known before its first attempt has
// ended. Slow and silent hosts together get half of the places at most, those that are not known a quarter, and a silent one a single place until it
// answers again. For a quick host more may be leased than there are places, so many that the last of them waits for about a second.
// Nothing here takes longer because there are more hosts.

/** Silent hosts belong to the slow ones. */
export const shares = ['quick', 'slow', 'unknown'] as const;
export type Share = (typeof shares)[number];

export interface SendingSlots {
  /** How many more attempts may start for this host now, when `sharedBy` hosts have work. */
  room(host: string, sharedBy: number): number;
  /** How many may wait in memory for a place of this host; none while it is slow or not known. */
  ahead(host: string): number;
  take(host: string): void;
  /** Tells whether hosts of some share, for which there was no place at all, may have one now. */
  free(host: string, ended: { durationMs: number; hasAnswered: boolean }): { wasFull: boolean };
  /** Which part of the places it may take from. */
  shareOf(host: string): Share;
  /** Places that all hosts of a share may still take together; below zero where a host came into it with the places that it had. */
  left(share: Share): number;
  readonly taken: number;
  takenBy(host: string): number;
}

interface Known {
  kind: 'quick' | 'slow' | 'silent';
  /** What its last attempt took. */
  paceMs: number;
}

const slowFromMs = 2_000;
const aheadForMs = 1_000;
const maxAhead = 96;
/** Dead hosts come back for hours, and each that was forgotten takes a place of the newcomers; a host is some hundred bytes. */
const maxKnownHosts = 10_000;

export function createSendingSlots(limits: { total: number; perHost: number }, maxKnown = maxKnownHosts): SendingSlots {
  const taken = new Map<string, number>();
  const takenByShare: Record<Share, number> = { quick: 0, slow: 0, unknown: 0 };
  /** In the order in which their last attempts ended. */
  const known = new Map<string, Known>();
  const slowPlaces = Math.max(1, Math.floor(limits.total / 2));
  const unknownPlaces = Math.max(1, Math.floor(limits.total / 4));

  const takenBy = (host: string) => taken.get(host) ?? 0;
  const takenInAll = () => takenByShare.quick + takenByShare.slow + takenByShare.unknown;

  function shareOf(host: string): Share {
    const kind = known.get(host)?.kind ?? 'unknown';
    return kind === 'silent' ? 'slow' : kind;
  }

  function left(share: Share): number {
    const overall = limits.total - takenInAll();
    if (share === 'quick') return overall;
    const ofShare = share === 'slow' ? slowPlaces - takenByShare.slow : unknownPlaces - takenByShare.unknown;
    // Hosts that turn slow with places in hand make room among those that are not known, but not at the cost of the quick ones.
    const besideQuick = slowPlaces + unknownPlaces - takenByShare.slow - takenByShare.unknown;
    return Math.min(overall, ofShare, besideQuick);
  }

  /** The places that a host has count for the share that it belongs to from now on. */
  function remember(host: string, now: Known | undefined): void {
    takenByShare[shareOf(host)] -= takenBy(host);
    known.delete(host);
    if (now) known.set(host, now);
    takenByShare[shareOf(host)] += takenBy(host);
  }

  function giveUp(host: string): void {
    takenByShare[shareOf(host)] -= 1;
    const still = takenBy(host) - 1;
    if (still > 0) taken.set(host, still);
    else taken.delete(host);
  }

  return {
    takenBy,
    shareOf,
    left,
    get taken() {
      return takenInAll();
    },
    room(host, sharedBy) {
      const overall = left(shareOf(host));
      if (overall <= 0) return 0;
      // One that is not known may have as many as a quick one: who comes with a backlog after a restart comes with all the others and gets the fair
      // share, and where a first attempt hangs the ones beside it show that the host is alive.
      const fairShare = Math.max(1, Math.ceil(overall / Math.max(1, sharedBy)));
      const perHost = known.get(host)?.kind === 'silent' ? 1 : limits.perHost;
      return Math.max(0, Math.min(perHost - takenBy(host), fairShare));
    },
    ahead(host) {
      const is = known.get(host);
      return is?.kind === 'quick' ? Math.min(maxAhead, Math.floor((limits.perHost * aheadForMs) / Math.max(is.paceMs, 1))) : 0;
    },
    take(host) {
      takenByShare[shareOf(host)] += 1;
      taken.set(host, takenBy(host) + 1);
    },
    free(host, ended) {
      const full = shares.filter((share) => left(share) <= 0);
      giveUp(host);
      const kind = ended.durationMs < slowFromMs ? 'quick' : ended.hasAnswered ? 'slow' : 'silent';
      remember(host, { kind, paceMs: ended.durationMs });
      if (known.size > maxKnown) remember(known.keys().next().value as string, undefined);
      return { wasFull: full.some((share) => left(share) > 0) };
    },
  };
}
