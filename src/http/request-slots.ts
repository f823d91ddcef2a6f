// The slots for requests under way, and whose they are [D62]: a merchant has a share of them, all its keys together; whoever has not
// shown a key yet is counted by the address. Always holds: never more slots are taken than there are; an owner gets beyond its share
// only while a quarter is free and nobody else was turned away lately, so that an owner who comes later soon finds its share free.
import type { Clock } from '../kernel/clock.ts';

export interface Owner {
  name: string;
  /** Of all slots; undefined: the default. */
  sharePercent?: number | undefined;
}

export interface Slot {
  /** The request turned out to be this owner's. False, and nothing changes, if that one has no slot left. */
  moveTo(owner: Owner): boolean;
  leave(): void;
}

export interface RequestSlots {
  readonly taken: number;
  /** Undefined: there is none for this owner now. */
  take(owner: Owner): Slot | undefined;
}

export interface RequestSlotsOptions {
  clock: Clock;
  count: number;
  defaultSharePercent: number;
}

/** Others who were turned away are expected back within this time: until then nobody borrows. */
const othersComeBackMs = 10_000;
/** Beyond the shares, slots are lent up to this part of all. */
const lentUpTo = 0.75;

export interface Wish {
  mine: number;
  taken: number;
  count: number;
  sharePercent: number;
  /** Somebody else found no slot lately. */
  othersWait: boolean;
}

export function mayTake({ mine, taken, count, sharePercent, othersWait }: Wish): boolean {
  if (taken >= count) return false;
  if (mine < Math.max(1, Math.floor((count * sharePercent) / 100))) return true;
  return !othersWait && taken < count * lentUpTo;
}

export function createRequestSlots({ clock, count, defaultSharePercent }: RequestSlotsOptions): RequestSlots {
  const takenBy = new Map<string, number>();
  let taken = 0;
  /** The last two owners that were turned away, by time: enough to tell whether it was somebody else. */
  let turnedAway: { name: string; atMs: number }[] = [];

  function mayHave(owner: Owner, takenNow: number): boolean {
    const sinceMs = clock.elapsed() - othersComeBackMs;
    const othersWait = turnedAway.some(({ name, atMs }) => name !== owner.name && atMs > sinceMs);
    const sharePercent = owner.sharePercent ?? defaultSharePercent;
    const isFree = mayTake({ mine: takenBy.get(owner.name) ?? 0, taken: takenNow, count, sharePercent, othersWait });
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
    take(first) {
      if (!mayHave(first, taken)) return undefined;
      let holder: string | undefined = first.name;
      change(first.name, 1);
      return {
        moveTo(owner) {
          if (holder === undefined || holder === owner.name) return true;
          // The slot that it has is given up for the new one, and so does not count.
          if (!mayHave(owner, taken - 1)) return false;
          change(holder, -1);
          change(owner.name, 1);
          holder = owner.name;
          return true;
        },
        leave() {
          if (holder !== undefined) change(holder, -1);
          holder = undefined;
        },
      };
    },
  };
}
