// The slots of requests without a credential [D62]: files, the API document, sign-in, pairing, QR pictures, invoices without a key.
// They are a separate pool, a quarter of the size of that for authenticated callers, so that anonymous callers, however many and from
// however many addresses, never take a slot from a till. Each address has a share of the pool.
// A slot is held until the client has read its answer, which bounds the memory of unread answers. A client that does not read cannot block
// others: if a slot is needed, the oldest unread answer is cut, first of the same address, then of the address with the most of them.
// Worst case with 5,000 slots: one caller holds 1,250 unread answers on as many connections. Answers share the file buffers and are sent in
// chunks of 64 KiB: some 0.3 MB per connection with TLS (measured; 1.8 MB with whole files), 360 MB in all. That caller loses one connection
// to each new anonymous caller, and opening more cuts its own. Only a running handler cannot be cut: sign-in has its own bounds (tries.ts), and
// the other handlers are short database queries.
import { ByOwner } from '../kernel/by-owner.ts';
import type { Clock } from '../kernel/clock.ts';
import { createRequestSlots, type Owner, type Slot } from './request-slots.ts';

export interface AnonymousSlotsOptions {
  clock: Clock;
  /** Slots for authenticated requests. */
  places: number;
  /** The share of one address in the anonymous slots. */
  sharePercent: number;
}

export interface AnonymousSlot extends Slot {
  /** The answer is ready, but perhaps not read yet. */
  answered(): void;
}

interface Unread extends Slot {
  cut(): void;
}

/** Enough in a small gateway to load the files of a page in parallel. */
const fewest = 20;

function countOf(places: number): number {
  return Math.max(Math.ceil(places / 4), Math.min(places, fewest));
}

export function createAnonymousSlots({ clock, places, sharePercent }: AnonymousSlotsOptions) {
  const slots = createRequestSlots({ clock, count: countOf(places), defaultSharePercent: sharePercent });
  const unread = new ByOwner<Unread>();

  /** Answers of other addresses are cut only for an address below its share. */
  function makeRoom(owner: Owner): boolean {
    const own = unread.of(owner.name);
    const [oldest] = own.size === 0 && slots.isBelowShare(owner) ? unread.ofLargest() : own;
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
        unread.delete(answer);
      },
    };
    return {
      leave: answer.leave,
      answered() {
        if (!isOver) unread.add(network, answer);
      },
    };
  }

  return {
    /** Undefined: no slot for this address now. `cut` closes the connection if its unread answer has to make room. */
    take(network: string, cut: () => void): AnonymousSlot | undefined {
      const owner = { name: network };
      let slot = slots.take(owner);
      while (slot === undefined && makeRoom(owner)) slot = slots.take(owner);
      return slot && hold(network, slot, cut);
    },
  };
}
