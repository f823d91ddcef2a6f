// Load with a fixed number of calls in flight: each lane sends its next call when the previous one is answered. A lane runs a step
// that makes one or more calls and times each.

export interface Measured {
  calls: number;
  perSecond: number;
  p50Ms: number;
  p95Ms: number;
  p99Ms: number;
  /** Processor time of the contender's processes per call; NaN if there are none. */
  cpuMsPerCall: number;
  /** The same of its database's processes. */
  databaseMsPerCall: number;
}

/** Times one call. */
export type Timed = <Value>(call: () => Promise<Value>) => Promise<Value>;

export interface Duration {
  forMs: number;
  /** Not counted: connections are warm and code is compiled when the time begins. */
  warmUpMs: number;
  /** Both last longer, if needed, until this number of calls: on a busy machine a short time is not enough for a figure. */
  atLeastCalls: number;
  /** The warm-up lasts until this number of calls if the code is new: a function that runs once per call is fully compiled only then. */
  warmUpCalls?: number;
}

export async function runLoad(
  options: Duration & {
    inFlight: number;
    /** Of the contender since its start. */
    cpuMs?(): number;
    databaseMs?(): number;
    step(lane: number, timed: Timed): Promise<void>;
  },
): Promise<Measured> {
  const { inFlight, forMs, warmUpMs, atLeastCalls, warmUpCalls = atLeastCalls, step } = options;
  const { cpuMs = () => Number.NaN, databaseMs = () => Number.NaN } = options;
  let durations: number[] = [];
  /** From when on it counts. */
  let from: { cpuMs: number; databaseMs: number } | undefined;
  let begunAt = performance.now();
  let measured: Measured | undefined;

  function look(now: number): void {
    const [enoughCalls, enoughMs] = from ? [atLeastCalls, forMs] : [warmUpCalls, warmUpMs];
    if (durations.length < enoughCalls || now - begunAt < enoughMs) return;
    if (from) {
      const cpuMsPerCall = (cpuMs() - from.cpuMs) / durations.length;
      measured = {
        ...summarize(durations, now - begunAt),
        cpuMsPerCall,
        databaseMsPerCall: (databaseMs() - from.databaseMs) / durations.length,
      };
    } else {
      begunAt = now;
      durations = [];
      from = { cpuMs: cpuMs(), databaseMs: databaseMs() };
    }
  }

  const timed: Timed = async (call) => {
    const calledAt = performance.now();
    const value = await call();
    const now = performance.now();
    if (!measured) {
      durations.push(now - calledAt);
      look(now);
    }
    return value;
  };
  const lane = async (number: number) => {
    while (!measured) await step(number, timed);
  };
  await Promise.all(Array.from({ length: inFlight }, (_, number) => lane(number)));
  return measured ?? summarize([], forMs);
}

export function summarize(durations: number[], forMs: number): Measured {
  const sorted = [...durations].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return {
    calls: sorted.length,
    perSecond: (sorted.length * 1000) / forMs,
    p50Ms: at(0.5),
    p95Ms: at(0.95),
    p99Ms: at(0.99),
    cpuMsPerCall: Number.NaN,
    databaseMsPerCall: Number.NaN,
  };
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? (sorted[middle] ?? Number.NaN) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}
