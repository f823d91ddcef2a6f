// Remembers what a look-up found for a few seconds, so that a busy till does not ask the database at every call.
// Always holds: at most `capacity` entries; nothing found before `forget` is ever handed out after it.
import type { Clock } from '../kernel/clock.ts';

export interface Found<Value> {
  value: Value | undefined;
  /** How long it may be remembered, counted from the start of the look-up. */
  validForMs: number;
}

interface Entry<Value> {
  answer: Promise<Value | undefined>;
  /** On clock.elapsed(); undefined while the look-up runs. */
  staleAtMs: number | undefined;
}

export interface BriefMemory<Value> {
  get(name: string): Promise<Value | undefined>;
  forget(): void;
}

export function createBriefMemory<Value>(
  clock: Clock,
  capacity: number,
  lookUp: (name: string) => Promise<Found<Value>>,
): BriefMemory<Value> {
  const entries = new Map<string, Entry<Value>>();

  function drop(name: string, entry: Entry<Value>): void {
    if (entries.get(name) === entry) entries.delete(name);
  }

  function begin(name: string): Promise<Value | undefined> {
    const startedAtMs = clock.elapsed();
    const entry: Entry<Value> = { answer: Promise.resolve(undefined), staleAtMs: undefined };
    entry.answer = lookUp(name).then(
      (found) => {
        entry.staleAtMs = startedAtMs + found.validForMs;
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
    return entry.answer;
  }

  return {
    async get(name) {
      const entry = entries.get(name);
      if (entry && (entry.staleAtMs === undefined || clock.elapsed() < entry.staleAtMs)) {
        // Used again: moves to the young end, so that a flood of unknown names pushes out its own kind first.
        entries.delete(name);
        entries.set(name, entry);
        return entry.answer;
      }
      entries.delete(name);
      return begin(name);
    },
    // A look-up under way keeps its own caller, but nobody who comes later joins it.
    forget() {
      entries.clear();
    },
  };
}
