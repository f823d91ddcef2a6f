// Time as a dependency: all code that waits or reads the time takes a Clock, so that tests and the simulation control time. The real clock
// is in system.ts.

export type Cancel = () => void;

export interface Clock {
  /** Wall-clock time in milliseconds since 1970. */
  now(): number;
  /** Monotonic milliseconds; only differences are meaningful. */
  elapsed(): number;
  /** Runs `action` once after `delayMs`. Cancelling after it ran does nothing. */
  after(delayMs: number, action: () => void): Cancel;
}

export function sleep(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(delayMs, resolve);
  });
}

/** Runs `action` every `periodMs`; the next period starts when the action has ended. */
export function every(clock: Clock, periodMs: number, action: () => unknown): Cancel {
  let stopped = false;
  let cancel: Cancel = () => {};
  const next = () => {
    cancel = clock.after(periodMs, async () => {
      await action();
      if (!stopped) next();
    });
  };
  next();
  return () => {
    stopped = true;
    cancel();
  };
}
