// Remembers what a look-up found for a few seconds, so that a busy till does not ask the database at every call.
// Always holds: at most `capacity` entries; what a look-up found that began before `forget` is not handed out after it (but to one whose
// every look was overtaken: a storm of changes delays no caller for ever); at most `maxLookUps` look-ups run together, and a
// name that was found lately waits only for others like it, so no right name that was seen before is turned away because of others' wrong
// ones. Of names that were not, as many wait as are remembered, and one more is turned away: a flood of wrong names (keys, devices) costs
// the database and the memory a bounded effort.
import type { Clock } from '../kernel/clock.ts';
import { createGate } from '../kernel/gate.ts';

export interface Found<Value> {
  value: Value | undefined;
  /** How long it may be remembered, counted from the start of the look-up. */
  validForMs: number;
}

interface Entry<Value> {
  answer: Promise<Value | undefined>;
  /** What the look-up found, once it has ended. */
  value?: Value | undefined;
  /** How often `forget` was called before the look-up began. */
  era: number;
  /** When the look-up began and until when it holds, on clock.elapsed(); undefined while it runs. */
  known: { fromMs: number; untilMs: number } | undefined;
}

export interface ShortLivedCache<Value> {
  /** What was found more than `maxAgeMs` ago is looked up again, even if it might still be remembered. */
  get(name: string, maxAgeMs?: number): Promise<Value | undefined>;
  /** What `get` would hand out without a look-up; undefined: it has to look, or nothing was found. */
  known(name: string): Value | undefined;
  forget(): void;
}

/** Looks for one caller: the first, and again when `forget` was called meanwhile. */
const maxLooks = 3;
/** Look-ups at once; a connection or two of the database stay free for authenticated callers. */
const maxLookUps = 6;

export function createShortLivedCache<Value>(
  clock: Clock,
  capacity: number,
  lookUp: (name: string) => Promise<Found<Value>>,
): ShortLivedCache<Value> {
  const entries = new Map<string, Entry<Value>>();
  let forgets = 0;
  const gate = createGate(maxLookUps, { maxBehind: capacity });
  /** Names that were good when they were last looked up, the longest ago first; they survive `forget`, since they only say who goes first. */
  const wereGood = new Set<string>();

  function noteGood(name: string, isGood: boolean): void {
    wereGood.delete(name);
    if (isGood) wereGood.add(name);
    if (wereGood.size <= capacity) return;
    const [oldest] = wereGood;
    if (oldest !== undefined) wereGood.delete(oldest);
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
        // A failure is not an answer: the next caller asks anew.
        drop(name, entry);
        throw error;
      },
    );
    entries.set(name, entry);
    if (entries.size > capacity) {
      const oldest = entries.keys().next();
      if (!oldest.done) entries.delete(oldest.value);
    }
    return entry;
  }

  /** Moves to the young end, so that a flood of unknown names pushes out its own kind first. */
  function usedAgain(name: string, entry: Entry<Value>): void {
    entries.delete(name);
    entries.set(name, entry);
  }

  /** Found, or being looked up. */
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
    async get(name, maxAgeMs = Number.POSITIVE_INFINITY) {
      for (let looks = 1; ; looks += 1) {
        const entry = remembered(name, maxAgeMs) ?? begin(name);
        const value = await entry.answer;
        if (entry.era === forgets || looks === maxLooks) return value;
      }
    },
    known(name) {
      const entry = entries.get(name);
      if (entry?.known === undefined || clock.elapsed() >= entry.known.untilMs) return undefined;
      usedAgain(name, entry);
      return entry.value;
    },
    // A later call does not join a look-up that is under way, and callers waiting for that one look again.
    forget() {
      forgets += 1;
      entries.clear();
    },
  };
}
