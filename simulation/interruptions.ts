// Crashes, lost answers and freezes at chosen statements. Each is armed for one place and waits there for the first statement,
// so that every place is hit; the hits are counted, per place and kind.
import type { Random } from '../src/kernel/random.ts';
import type { Harm, When } from './shared-storage.ts';

export interface Target {
  place: string;
  when: When;
  harm: Harm;
}

export interface Interruptions {
  /** Arms one more, drawn from all places or from `among`; it waits for a statement at its place. */
  arm(among?: readonly string[]): void;
  /** A freeze at one of these, not always at the first statement. */
  armStall(among: readonly string[]): void;
  disarm(): void;
  /** The fault of a statement at this place. */
  meet(place: string, when: When): Harm | undefined;
  /** By the name of the class: how often it was hit. */
  readonly hits: ReadonlyMap<string, number>;
  /** By place: the number of statements. */
  readonly passed: ReadonlyMap<string, number>;
}

const harms: readonly Harm[] = ['crash', 'lost', 'stall'];
/** A common place is hit at once; a rare one may wait all day. */
const maxArmed = 40;

export function classOf({ place, when, harm }: Target): string {
  return `${place} | ${harm} ${when}`;
}

/** Every class that a place has. */
export function classesOf(places: readonly string[]): string[] {
  return targetsOf(places).map(classOf);
}

function targetsOf(places: readonly string[]): Target[] {
  return places.flatMap((place) => harms.flatMap((harm) => (['before', 'after'] as const).map((when): Target => ({ place, when, harm }))));
}

export function createInterruptions(random: Random, places: readonly string[]): Interruptions {
  const targets = targetsOf(places);
  const hits = new Map<string, number>();
  const passed = new Map<string, number>();
  /** How many statements of the place are skipped, so that not always the first one is hit. */
  let armed: { target: Target; letBy: number }[] = [];

  function draw(drawnFrom: readonly Target[], letBy: number): void {
    const target = drawnFrom[Math.floor(random.fraction() * drawnFrom.length)];
    if (target) armed = [...armed, { target, letBy }].slice(-maxArmed);
  }

  return {
    hits,
    passed,
    arm(among) {
      // A rare place may have no second statement.
      if (among) draw(targetsOf(among), 0);
      else draw(targets, Math.floor(random.fraction() ** 4 * 6));
    },
    armStall(among) {
      const stalls = targetsOf(among).filter(({ harm }) => harm === 'stall');
      draw(stalls, Math.floor(random.fraction() ** 2 * 12));
    },
    disarm() {
      armed = [];
    },
    meet(place, when) {
      if (when === 'before') passed.set(place, (passed.get(place) ?? 0) + 1);
      const met = armed.find(({ target }) => target.place === place && target.when === when);
      if (!met) return undefined;
      met.letBy -= 1;
      if (met.letBy >= 0) return undefined;
      armed = armed.filter((each) => each !== met);
      const name = classOf(met.target);
      hits.set(name, (hits.get(name) ?? 0) + 1);
      return met.target.harm;
    },
  };
}
