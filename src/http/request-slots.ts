// A semaphore for requests in flight with a share per owner [D62]. The owner is a merchant with all its keys or, in the separate pool for
// anonymous callers (anonymous-slots.ts), an address. Invariants: never more slots are taken than exist; an owner exceeds its share only while
// a quarter is free and no other owner was refused recently, so that another owner soon finds its share free.
import type { Clock } from '../kernel/clock.ts';

export interface Owner {
  name: string;
  /** Share of all slots; undefined: the default. */
  sharePercent?: number | undefined;
}

export interface Slot {
  /** Idempotent. */
  leave(): void;
}

export interface RequestSlotsOptions {
  clock: Clock;
  count: number;
  defaultSharePercent: number;
}

/** Refused owners are expected to retry within this time; until then no other owner exceeds its share. */
const othersComeBackMs = 10_000;
/** Owners may exceed their share up to this part of all slots. */
const lentUpTo = 0.75;

export interface SlotRequest {
  mine: number;
  taken: number;
  count: number;
  sharePercent: number;
  /** Another owner was refused recently. */
  othersWait: boolean;
}

function isBelow({ mine, count, sharePercent }: Pick<SlotRequest, 'mine' | 'count' | 'sharePercent'>): boolean {
  return mine < Math.max(1, Math.floor((count * sharePercent) / 100));
}

export function mayTake(request: SlotRequest): boolean {
  const { taken, count, othersWait } = request;
  if (taken >= count) return false;
  return isBelow(request) || (!othersWait && taken < count * lentUpTo);
}

export function createRequestSlots({ clock, count, defaultSharePercent }: RequestSlotsOptions) {
  const takenBy = new Map<string, number>();
  let taken = 0;
  /** The last refused owner, and the last one of another name: enough to decide whether another owner was refused. */
  let refused: { name: string; atMs: number } | undefined;
  let refusedBefore: typeof refused;

  function mayHave(owner: Owner): boolean {
    const sinceMs = clock.elapsed() - othersComeBackMs;
    const other = refused?.name === owner.name ? refusedBefore : refused;
    const othersWait = other !== undefined && other.atMs > sinceMs;
    const sharePercent = owner.sharePercent ?? defaultSharePercent;
    const isFree = mayTake({ mine: takenBy.get(owner.name) ?? 0, taken, count, sharePercent, othersWait });
    if (!isFree) {
      refusedBefore = other;
      refused = { name: owner.name, atMs: clock.elapsed() };
    }
    return isFree;
  }

  function change(name: string, by: number): void {
    const now = (takenBy.get(name) ?? 0) + by;
    if (now === 0) takenBy.delete(name);
    else takenBy.set(name, now);
    taken += by;
  }

  return {
    get taken() {
      return taken;
    },
    /** The owner holds less than its share. If such an owner gets no slot, all are taken. */
    isBelowShare({ name, sharePercent = defaultSharePercent }: Owner): boolean {
      return isBelow({ mine: takenBy.get(name) ?? 0, count, sharePercent });
    },
    /** Undefined: no slot for this owner now. */
    take(owner: Owner): Slot | undefined {
      if (!mayHave(owner)) return undefined;
      const { name } = owner;
      let isHeld = true;
      change(name, 1);
      return {
        leave() {
          if (isHeld) change(name, -1);
          isHeld = false;
        },
      };
    },
  };
}
