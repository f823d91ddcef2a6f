// The slots for requests under way, and whose they are [D62]: a merchant has a share of them, all its keys together; anonymous callers, who have
// slots of their own (anonymous-slots.ts), have it by address. Always holds: never more slots are taken than there are; an owner gets beyond its
// share only while a quarter is free and no other owner was refused lately, so that a later owner soon finds its share free.
import type { Clock } from '../kernel/clock.ts';

export interface Owner {
  name: string;
  /** Of all slots; undefined: the default. */
  sharePercent?: number | undefined;
}

export interface Slot {
  /** Twice is once. */
  leave(): void;
}

export interface RequestSlots {
  readonly taken: number;
  /** Undefined: there is none for this owner now. */
  take(owner: Owner): Slot | undefined;
  /** The owner has less than its share: where it gets none, all are taken. */
  isBelowShare(owner: Owner): boolean;
}

export interface RequestSlotsOptions {
  clock: Clock;
  count: number;
  defaultSharePercent: number;
}

/** Refused owners are expected to retry within this time: until then no owner borrows. */
const othersComeBackMs = 10_000;
/** Beyond the shares, slots are lent up to this part of all. */
const lentUpTo = 0.75;

export interface Wish {
  mine: number;
  taken: number;
  count: number;
  sharePercent: number;
  /** Another owner found no slot lately. */
  othersWait: boolean;
}

function isBelow({ mine, count, sharePercent }: Pick<Wish, 'mine' | 'count' | 'sharePercent'>): boolean {
  return mine < Math.max(1, Math.floor((count * sharePercent) / 100));
}

export function mayTake(wish: Wish): boolean {
  const { taken, count, othersWait } = wish;
  if (taken >= count) return false;
  return isBelow(wish) || (!othersWait && taken < count * lentUpTo);
}

export function createRequestSlots({ clock, count, defaultSharePercent }: RequestSlotsOptions): RequestSlots {
  const takenBy = new Map<string, number>();
  let taken = 0;
  /** The last two refused owners, by time: enough to know whether it was another one. */
  let turnedAway: { name: string; atMs: number }[] = [];

  function mayHave(owner: Owner): boolean {
    const sinceMs = clock.elapsed() - othersComeBackMs;
    const othersWait = turnedAway.some(({ name, atMs }) => name !== owner.name && atMs > sinceMs);
    const sharePercent = owner.sharePercent ?? defaultSharePercent;
    const isFree = mayTake({ mine: takenBy.get(owner.name) ?? 0, taken, count, sharePercent, othersWait });
    if (!isFree)
      turnedAway = [{ name: owner.name, atMs: clock.elapsed() }, ...turnedAway.filter(({ name }) => name !== owner.name)].slice(0, 2);
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
    isBelowShare({ name, sharePercent = defaultSharePercent }) {
      return isBelow({ mine: takenBy.get(name) ?? 0, count, sharePercent });
    },
    take(owner) {
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
