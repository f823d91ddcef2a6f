// Requests in flight. A request is over when its response is closed and its handler has ended: a client that hangs up does not end
// the payment that it asked for. Used for the overload bound, the request log and a graceful stop.
import type { Clock } from '../kernel/clock.ts';

export type Flight = ReturnType<ReturnType<typeof createInFlight>['begin']>;

export function createInFlight(clock: Clock) {
  let count = 0;
  const waiting = new Set<() => void>();

  return {
    get count() {
      return count;
    },
    begin(onOver: () => void) {
      count += 1;
      let isWorking = false;
      let isClosed = false;
      let isOver = false;
      const check = () => {
        if (isOver || isWorking || !isClosed) return;
        isOver = true;
        count -= 1;
        onOver();
        if (count === 0) for (const wake of waiting) wake();
      };
      return {
        workStarted(): void {
          isWorking = true;
        },
        workEnded(): void {
          isWorking = false;
          check();
        },
        responseClosed(): void {
          isClosed = true;
          check();
        },
      };
    },
    /** Resolves when no request is in flight, or after the bound. */
    drained(withinMs: number): Promise<void> {
      if (count === 0) return Promise.resolve();
      return new Promise((resolve) => {
        const finish = () => {
          cancel();
          waiting.delete(finish);
          resolve();
        };
        const cancel = clock.after(withinMs, finish);
        waiting.add(finish);
      });
    },
  };
}
