// Something in the playground has changed: waiting code checks at once; pages are notified a few times a second at most.
// A tick may also come for nothing; its receiver checks for itself.
import type { Cancel, Clock } from '../kernel/clock.ts';

export interface Changes {
  changed(): void;
  /** Resolves when `find` finds something, looking at every change. Rejects with the given error after the time, or when it is stopped. */
  until<Found>(find: () => Found | undefined | false, withinMs: number, late: () => Error): Promise<Found>;
  /** Waiting code fails with this error. */
  stopWaiting(error: Error): void;
  stop(): void;
}

const tellEveryMs = 150;

export function createChanges(clock: Clock, tell: (version: number) => void): Changes {
  const waiting = new Set<{ look(): void; end(error: Error): void }>();
  let version = 0;
  let cancelTell: Cancel | undefined;
  let isStopped = false;

  function stopWaiting(error: Error): void {
    for (const one of [...waiting]) one.end(error);
  }

  return {
    changed() {
      if (isStopped) return;
      version += 1;
      for (const one of [...waiting]) one.look();
      cancelTell ??= clock.after(tellEveryMs, () => {
        cancelTell = undefined;
        tell(version);
      });
    },
    until: (find, withinMs, late) =>
      new Promise((resolve, reject) => {
        const leave = () => {
          cancelLate();
          waiting.delete(one);
        };
        const one = {
          look() {
            const found = find();
            if (found === undefined || found === false) return;
            leave();
            resolve(found);
          },
          end(error: Error) {
            leave();
            reject(error);
          },
        };
        const cancelLate = clock.after(withinMs, () => one.end(late()));
        waiting.add(one);
        one.look();
      }),
    stopWaiting,
    stop() {
      isStopped = true;
      cancelTell?.();
      stopWaiting(new Error('The sandbox is stopping.'));
    },
  };
}
