// A number of places for work that others wait for: so many at once, the rest in the order in which they came.
// Always holds: whoever entered leaves again, also by an error; those who are let ahead wait only for their own kind.

export interface Gate {
  /** `isAhead`: waits only behind others that are ahead. */
  run<Result>(work: () => Promise<Result>, isAhead?: boolean): Promise<Result>;
}

export function createGate(maxInside: number): Gate {
  let inside = 0;
  const ahead: (() => void)[] = [];
  const behind: (() => void)[] = [];

  function leave(): void {
    const next = ahead.shift() ?? behind.shift();
    if (next === undefined) inside -= 1;
    else next();
  }

  return {
    async run(work, isAhead = false) {
      if (inside < maxInside) inside += 1;
      else await new Promise<void>((enter) => (isAhead ? ahead : behind).push(enter));
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}
