// Notifications of changes in the playground: waiting code checks its condition at once; pages are notified at most a few times a second.
// There may be spurious notifications.
import type { Cancel, Clock } from '../kernel/clock.ts';

export type Changes = ReturnType<typeof createChanges>;

const tellEveryMs = 150;

export function createChanges(clock: Clock, tell: (version: number) => void) {
  const waiting = new Set<{ look(): void; end(error: Error): void }>();
  let version = 0;
  let cancelTell: Cancel | undefined;
  let isStopped = false;

  function stopWaiting(error: Error): void {
    for (const one of [...waiting]) one.end(error);
  }

  return {
    changed(): void {
      if (isStopped) return;
      version += 1;
      for (const one of [...waiting]) one.look();
      cancelTell ??= clock.after(tellEveryMs, () => {
        cancelTell = undefined;
        tell(version);
      });
    },
    /** Resolves when `find`, called at every change, returns a result. Rejects with the given error after the time, or when stopped. */
    until: <Found>(find: () => Found | undefined | false, withinMs: number, late: () => Error) =>
      new Promise<Found>((resolve, reject) => {
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
    /** Waiting code fails with this error. */
    stopWaiting,
    stop(): void {
      isStopped = true;
      cancelTell?.();
      stopWaiting(new Error('The sandbox is stopping.'));
    },
  };
}
