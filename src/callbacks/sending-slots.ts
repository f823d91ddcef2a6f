// How many attempts may run at once, overall and per host, so that a slow or dead ERP never takes the places of the others.
// A host is slow after an attempt that took long; slow hosts together get half of the places at most,
// and one that did not answer at all gets a single one until it answers again.

export interface SendingSlots {
  /** How many more attempts may start for this host now, when `sharedBy` hosts have work. */
  room(host: string, sharedBy: number): number;
  take(host: string): void;
  free(host: string, ended: { durationMs: number; hasAnswered: boolean }): void;
  readonly taken: number;
  takenBy(host: string): number;
}

const slowFromMs = 2_000;

export function createSendingSlots(limits: { total: number; perHost: number }): SendingSlots {
  const taken = new Map<string, number>();
  const slow = new Map<string, 'slow' | 'silent'>();
  const slowShare = Math.max(1, Math.floor(limits.total / 2));
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
    take(host) {
      total += 1;
      taken.set(host, takenBy(host) + 1);
    },
    free(host, ended) {
      total -= 1;
      const left = takenBy(host) - 1;
      if (left > 0) taken.set(host, left);
      else taken.delete(host);
      if (ended.durationMs < slowFromMs) slow.delete(host);
      else slow.set(host, ended.hasAnswered ? 'slow' : 'silent');
    },
  };
}
