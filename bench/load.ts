// Load with a fixed number of calls in flight: each lane sends its next call when the one before is answered. What a lane does is a step
// that makes one or more calls and times each.

export interface Measured {
  calls: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

/** Times one call. */
export type Timed = <Value>(call: () => Promise<Value>) => Promise<Value>;

export async function runLoad(options: {
  inFlight: number;
  forMs: number;
  /** Not counted: connections are warm and code is compiled when the time begins. */
  warmUpMs: number;
  step(lane: number, timed: Timed): Promise<void>;
}): Promise<Measured> {
  const { inFlight, forMs, warmUpMs, step } = options;
  const startsAt = performance.now() + warmUpMs;
  const endsAt = startsAt + forMs;
  const durations: number[] = [];
  const timed: Timed = async (call) => {
    const from = performance.now();
    const value = await call();
    const until = performance.now();
    if (until >= startsAt && until <= endsAt) durations.push(until - from);
    return value;
  };
  const lane = async (number: number) => {
    while (performance.now() < endsAt) await step(number, timed);
  };
  await Promise.all(Array.from({ length: inFlight }, (_, number) => lane(number)));
  return summarize(durations, forMs);
}

export function summarize(durations: number[], forMs: number): Measured {
  const sorted = [...durations].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { calls: sorted.length, perSecond: (sorted.length * 1000) / forMs, p50Ms: at(0.5), p99Ms: at(0.99) };
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? (sorted[middle] ?? Number.NaN) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}
