// How many attempts may run at once, overall and per host, so that a slow or dead ERP never takes the places of the others.
// A host is slow after an attempt that took long; slow hosts together get half of the places at most,
// and one that did not answer at all gets a single one until it answers again. For a quick host more may be leased than there are places, so
// many that the last of them waits for about a second.

export interface SendingSlots {
  /** How many more attempts may start for this host now, when `sharedBy` hosts have work. */
  room(host: string, sharedBy: number): number;
  /** How many may wait in memory for a place of this host; none while it is slow or not known. */
  ahead(host: string): number;
  take(host: string): void;
  /** Tells whether it was the last place of all, or of all slow hosts, so that others may have waited for it. */
  free(host: string, ended: { durationMs: number; hasAnswered: boolean }): { wasFull: boolean };
  readonly taken: number;
  takenBy(host: string): number;
}

const slowFromMs = 2_000;
const aheadForMs = 1_000;
const maxAhead = 96;
/** Hosts whose pace is remembered. */
const maxPaces = 1_000;

export function createSendingSlots(limits: { total: number; perHost: number }): SendingSlots {
  const taken = new Map<string, number>();
  const slow = new Map<string, 'slow' | 'silent'>();
  const slowShare = Math.max(1, Math.floor(limits.total / 2));
  /** What the last attempt took, of hosts that are not slow. */
  const paces = new Map<string, number>();
  let total = 0;

  const takenBy = (host: string) => taken.get(host) ?? 0;
  const takenBySlow = () => [...slow.keys()].reduce((sum, host) => sum + takenBy(host), 0);

  return {
    takenBy,
    get taken() {
      return total;
    },
    room(host, sharedBy) {
      const kind = slow.get(host);
      const overall = Math.min(limits.total - total, kind === undefined ? Number.POSITIVE_INFINITY : slowShare - takenBySlow());
      if (overall <= 0) return 0;
      const fairShare = Math.max(1, Math.ceil(overall / Math.max(1, sharedBy)));
      const perHost = kind === 'silent' ? 1 : limits.perHost;
      return Math.max(0, Math.min(perHost - takenBy(host), fairShare));
    },
    ahead(host) {
      const paceMs = slow.has(host) ? undefined : paces.get(host);
      return paceMs === undefined ? 0 : Math.min(maxAhead, Math.floor((limits.perHost * aheadForMs) / Math.max(paceMs, 1)));
    },
    take(host) {
      total += 1;
      taken.set(host, takenBy(host) + 1);
    },
    free(host, ended) {
      const wasFull = total >= limits.total || (slow.has(host) && takenBySlow() >= slowShare);
      total -= 1;
      const left = takenBy(host) - 1;
      if (left > 0) taken.set(host, left);
      else taken.delete(host);
      if (ended.durationMs < slowFromMs) slow.delete(host);
      else slow.set(host, ended.hasAnswered ? 'slow' : 'silent');
      paces.delete(host);
      paces.set(host, ended.durationMs);
      if (paces.size > maxPaces) paces.delete(paces.keys().next().value as string);
      return { wasFull };
    },
  };
}
