// Caches look-ups for a few seconds, so that a busy till does not query the database at every call.
// Invariants:
// - at most `capacity` entries;
// - a result whose look-up began before `forget` is not returned after it, except after `maxLooks` look-ups, so that no caller waits for ever;
// - at most `maxLookUps` look-ups run at once. Names that were found at their last look-up go first, so a flood of unknown names (keys, devices)
//   never refuses them. At most `capacity` unknown names wait; one more is refused.
import { BoundedMap } from '../kernel/bounded-map.ts';
import type { Clock } from '../kernel/clock.ts';
import { createGate } from '../kernel/gate.ts';

export interface Found<Value> {
  value: Value | undefined;
  /** How long it may be cached, from the start of the look-up. */
  validForMs: number;
}

interface Entry<Value> {
  answer: Promise<Value | undefined>;
  /** The result, once the look-up has ended. */
  value?: Value | undefined;
  /** How often `forget` was called before the look-up began. */
  era: number;
  /** Start of the look-up and end of validity, by clock.elapsed(); undefined while it runs. */
  known: { fromMs: number; untilMs: number } | undefined;
}

/** Look-ups per call of `get`: the first, and again if `forget` was called in the meantime. */
const maxLooks = 3;
/** Concurrent look-ups; one or two database connections stay free for authenticated callers. */
const maxLookUps = 6;

export function createShortLivedCache<Value>(clock: Clock, capacity: number, lookUp: (name: string) => Promise<Found<Value>>) {
  const entries = new BoundedMap<string, Entry<Value>>(capacity);
  let forgets = 0;
  const gate = createGate(maxLookUps, { maxBehind: capacity });
  /** Names that were found at their last look-up, oldest first. They survive `forget`, because they only decide the order. */
  const wereGood = new BoundedMap<string, true>(capacity);

  function noteGood(name: string, isGood: boolean): void {
    wereGood.delete(name);
    if (isGood) wereGood.set(name, true);
  }

  function drop(name: string, entry: Entry<Value>): void {
    if (entries.get(name) === entry) entries.delete(name);
  }

  function begin(name: string): Entry<Value> {
    const entry: Entry<Value> = { answer: Promise.resolve(undefined), era: forgets, known: undefined };
    let startedAtMs = 0;
    const look = () => {
      startedAtMs = clock.elapsed();
      entry.era = forgets;
      return lookUp(name);
    };
    entry.answer = gate.run(look, wereGood.has(name)).then(
      (found) => {
        entry.value = found.value;
        entry.known = { fromMs: startedAtMs, untilMs: startedAtMs + found.validForMs };
        noteGood(name, found.value !== undefined);
        return found.value;
      },
      (error: unknown) => {
        // A failure is not cached: the next caller looks up again.
        drop(name, entry);
        throw error;
      },
    );
    entries.set(name, entry);
    return entry;
  }

  /** Moves the entry to the newest end, so that a flood of unknown names evicts its own entries first. */
  function usedAgain(name: string, entry: Entry<Value>): void {
    entries.delete(name);
    entries.set(name, entry);
  }

  /** A valid entry, found or being looked up. */
  function remembered(name: string, maxAgeMs: number): Entry<Value> | undefined {
    const entry = entries.get(name);
    if (entry === undefined) return undefined;
    const nowMs = clock.elapsed();
    const isGood = entry.known === undefined || (nowMs < entry.known.untilMs && nowMs - entry.known.fromMs <= maxAgeMs);
    if (isGood) usedAgain(name, entry);
    else entries.delete(name);
    return isGood ? entry : undefined;
  }

  return {
    /** A result older than `maxAgeMs` is looked up again, even if it is still cached. */
    async get(name: string, maxAgeMs = Number.POSITIVE_INFINITY): Promise<Value | undefined> {
      for (let looks = 1; ; looks += 1) {
        const entry = remembered(name, maxAgeMs) ?? begin(name);
        const value = await entry.answer;
        if (entry.era === forgets || looks === maxLooks) return value;
      }
    },
    /** The result of `get` if it needs no look-up; undefined: a look-up is needed, or nothing was found. */
    known(name: string): Value | undefined {
      const entry = entries.get(name);
      if (entry?.known === undefined || clock.elapsed() >= entry.known.untilMs) return undefined;
      usedAgain(name, entry);
      return entry.value;
    },
    // Later calls do not join a running look-up, and callers that wait for one look up again.
    forget(): void {
      forgets += 1;
      entries.clear();
    },
  };
}
