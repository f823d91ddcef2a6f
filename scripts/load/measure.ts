// The result of a load scene: figures, and bounds for some of them.

export interface Check {
  what: string;
  value: number;
  /** Absent: an exact figure is required. */
  atMost?: number;
  exactly?: number;
}

export interface SceneResult {
  scene: string;
  seconds: number;
  /** Everything measured, with its unit in its name. */
  figures: Record<string, number>;
  checks: Check[];
}

export const isKept = ({ value, atMost, exactly }: Check): boolean =>
  (atMost === undefined || value <= atMost) && (exactly === undefined || value === exactly);

export interface Spread {
  p50: number;
  p95: number;
  p99: number;
  max: number;
}

export function spreadOf(values: number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN);
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
}

export const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Each item once, a bounded number at a time. */
export async function inLanes<Item>(items: Item[], lanes: number, work: (item: Item) => Promise<void>): Promise<void> {
  const left = [...items];
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
    }),
  );
}
