// A semaphore with two queues: `maxInside` tasks run at once, the others wait in the order of arrival.
// Invariants: every task releases its slot, also after an error. The queue ahead has priority (or alternates with the other) and is not
// bounded. The queue behind is bounded by `maxBehind`. If the queues alternate, no task waits for more than one of the other queue.
import { GatewayError } from './error-codes.ts';

export type Gate = ReturnType<typeof createGate>;

export interface GateOptions {
  maxBehind?: number;
  /** The queues alternate, instead of priority for the one ahead. */
  alternates?: boolean;
}

export function createGate(maxInside: number, { maxBehind = Number.POSITIVE_INFINITY, alternates = false }: GateOptions = {}) {
  let inside = 0;
  let isTurnOfBehind = false;
  const ahead: (() => void)[] = [];
  const behind: (() => void)[] = [];

  function leave(): void {
    const next = (isTurnOfBehind ? behind.shift() : undefined) ?? ahead.shift() ?? behind.shift();
    if (next === undefined) inside -= 1;
    else next();
  }

  return {
    /** `isAhead`: uses the queue ahead. Throws Too_Many_Requests without running the work if too many wait. */
    async run<Result>(work: () => Promise<Result>, isAhead = false): Promise<Result> {
      if (inside < maxInside) inside += 1;
      else if (!isAhead && behind.length >= maxBehind)
        throw new GatewayError('Too_Many_Requests', 'Too many requests are waiting for the same work.', { retryAfterS: 1 });
      else await new Promise<void>((enter) => (isAhead ? ahead : behind).push(enter));
      isTurnOfBehind = alternates && isAhead;
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}
