// The result of a series of days: its figures, the faults by place, and the places without faults.
import { classesOf } from './interruptions.ts';
import { placesBeside, placesThatMatter } from './places-that-matter.ts';
import type { DayResult } from './run-day.ts';

type Counts = Record<string, number>;

export interface Summary {
  add(day: DayResult): void;
  readonly days: number;
  readonly broken: readonly DayResult[];
  readonly shapes: ReadonlySet<string>;
  tell(seconds: number): string;
  /** The sums, to add up several series. */
  totals(): { days: number; broken: { seed: number; violations: readonly string[] }[]; figures: Counts; hits: Counts; passed: Counts };
  /** Classes of important places that had no fault. */
  missed(): string[];
  /** Written places that no table lists: a developer must decide whether they are important. */
  unnamedPlaces(): string[];
}

export function createSummary(): Summary {
  const figures: Counts = {};
  const hits: Counts = {};
  const passed: Counts = {};
  const shapes = new Set<string>();
  const broken: DayResult[] = [];
  let days = 0;

  function sum(into: Counts, from: Counts): void {
    for (const [name, count] of Object.entries(from)) into[name] = (into[name] ?? 0) + count;
  }

  /** A line per place, a column per kind. */
  function table(): string[] {
    const kinds = ['crash before', 'crash after', 'lost before', 'lost after', 'stall before', 'stall after'];
    const row = (place: string, cells: readonly (string | number)[]) => `| ${place} | ${cells.join(' | ')} |`;
    return [
      row('place', ['statements', ...kinds]),
      row('---', ['---', ...kinds.map(() => '---')]),
      ...placesThatMatter.map((place) => row(place, [passed[place] ?? 0, ...kinds.map((kind) => hits[`${place} | ${kind}`] ?? 0)])),
    ];
  }

  return {
    get days() {
      return days;
    },
    broken,
    shapes,
    add(day) {
      days += 1;
      for (const shape of day.shapes) shapes.add(shape);
      sum(figures, day.figures);
      sum(hits, day.hits);
      sum(passed, day.passed);
      if (day.violations.length > 0) broken.push(day);
    },
    tell: (seconds) =>
      [
        `${days} shop-days in ${Math.round(seconds)} s: ${broken.length} with broken promises`,
        Object.entries(figures)
          .map(([name, count]) => `${name} ${count}`)
          .join(', '),
        ...table(),
      ].join('\n'),
    totals: () => ({
      days,
      broken: broken.map(({ seed, violations }) => ({ seed, violations })),
      figures,
      hits,
      passed,
    }),
    missed: () => classesOf(placesThatMatter).filter((name) => hits[name] === undefined),
    unnamedPlaces: () => Object.keys(passed).filter((place) => !isNamed(place)),
  };
}

/** A commit of a rare combination counts by its tables, and a unit of several by each of them. */
function isNamed(place: string): boolean {
  const isOfSeveral = place.startsWith('commit ') || (place.startsWith('unit ') && place.includes(' + '));
  return isOfSeveral || placesThatMatter.includes(place) || placesBeside.some((pattern) => pattern.test(place));
}
