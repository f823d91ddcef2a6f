// A number of places for work that others wait for: so many at once, the rest in the order in which they came.
// Always holds: every entered task leaves again, also by an error; those who are let ahead wait only for their own kind, and however many;
// of the others so many wait, and one more is turned away. Where the two lanes alternate, neither waits for more than one of the other.
import { GatewayError } from './error-codes.ts';

export interface Gate {
  /** `isAhead`: waits only behind others that are ahead, or takes turns with the rest. Throws Too_Many_Requests without running the work if too many wait. */
  run<Result>(work: () => Promise<Result>, isAhead?: boolean): Promise<Result>;
}

export interface GateOptions {
  maxBehind?: number;
  /** Both lanes in turn, instead of those ahead first. */
  alternates?: boolean;
}

export function createGate(maxInside: number, { maxBehind = Number.POSITIVE_INFINITY, alternates = false }: GateOptions = {}): Gate {
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
    async run(work, isAhead = false) {
      if (inside < maxInside) inside += 1;
      else if (!isAhead && behind.length >= maxBehind)
        throw new GatewayError('Too_Many_Requests', 'Too many wait for the same.', { retryAfterS: 1 });
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
