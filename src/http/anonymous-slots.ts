// The slots of requests whose caller has shown no credential [D62]: files, the API document, sign-in, pairing, the picture of a QR, an
// invoice without a key. They are slots of their own, a quarter as many as for authenticated callers, so that anonymous callers, however
// many and from however many addresses, never take a slot from a till; and an address has a share of them.
// A slot is held until its answer is read: that bounds what unread answers cost. A caller cannot block others by not reading, though: where
// a slot is needed, an answer that was made and is not read yet is cut, first of the same address, then of the one with the most of them.
// The worst caller, with 5,000 slots, holds 1,250 answers unread on as many connections. Files are shared between answers and sent in
// pieces of 64 KiB, so that is some 0.3 MB for each connection with TLS (measured; 1.8 MB if a file went out whole), 360 MB in all. It loses
// one for every new anonymous caller; those keep theirs while it renews its own, because it cuts its own. Only work that takes its time holds a
// slot for good: sign-in has its own bounds (tries.ts), and the rest are short questions to the database.
import type { Clock } from '../kernel/clock.ts';
import { createRequestSlots, type Owner, type Slot } from './request-slots.ts';

export interface AnonymousSlotsOptions {
  clock: Clock;
  /** Of requests of those who are known. */
  places: number;
  /** Of the anonymous slots, for one address. */
  sharePercent: number;
}

export interface AnonymousSlot extends Slot {
  /** Its answer is made, though perhaps not read. */
  answered(): void;
}

export interface AnonymousSlots {
  /** Undefined: there is none for this address now. `cut`: ends its connection, when its answer has to make room. */
  take(network: string, cut: () => void): AnonymousSlot | undefined;
}

interface Unread extends Slot {
  cut(): void;
}

/** In a small gateway, so many that the files of a page are not in each other's way. */
const fewest = 20;

function countOf(places: number): number {
  return Math.max(Math.ceil(places / 4), Math.min(places, fewest));
}

export function createAnonymousSlots({ clock, places, sharePercent }: AnonymousSlotsOptions): AnonymousSlots {
  const slots = createRequestSlots({ clock, count: countOf(places), defaultSharePercent: sharePercent });
  /** Answers that are made and not read, by address, in the order in which they were made. */
  const unread = new Map<string, Set<Unread>>();

  function largest(): Set<Unread> | undefined {
    let found: Set<Unread> | undefined;
    for (const answers of unread.values()) if (answers.size > (found?.size ?? 0)) found = answers;
    return found;
  }

  /** Others' answers are cut only for an address that has less than its share. */
  function makeRoom(owner: Owner): boolean {
    const [oldest] = unread.get(owner.name) ?? (slots.isBelowShare(owner) ? largest() : undefined) ?? [];
    if (oldest === undefined) return false;
    oldest.leave();
    oldest.cut();
    return true;
  }

  function hold(network: string, slot: Slot, cut: () => void): AnonymousSlot {
    let isOver = false;
    const answer: Unread = {
      cut,
      leave() {
        isOver = true;
        slot.leave();
        const answers = unread.get(network);
        answers?.delete(answer);
        if (answers?.size === 0) unread.delete(network);
      },
    };
    return {
      leave: answer.leave,
      answered() {
        if (isOver) return;
        const answers = unread.get(network) ?? new Set();
        unread.set(network, answers);
        answers.add(answer);
      },
    };
  }

  return {
    take(network, cut) {
      const owner = { name: network };
      let slot = slots.take(owner);
      while (slot === undefined && makeRoom(owner)) slot = slots.take(owner);
      return slot && hold(network, slot, cut);
    },
  };
}
