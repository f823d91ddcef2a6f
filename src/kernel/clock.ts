// Time as a value. Everything that waits or asks for the time takes a Clock,
// so that tests and the simulation can own time. The real one is in system.ts.

export type Cancel = () => void;

export interface Clock {
  /** Wall-clock time in milliseconds since 1970. */
  now(): number;
  /** Milliseconds that never jump; only differences mean something. */
  elapsed(): number;
  /** Runs `action` once after `delayMs`. Cancelling after it ran does nothing. */
  after(delayMs: number, action: () => void): Cancel;
}

export function sleep(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(delayMs, resolve);
  });
}

/** Runs `action` every `periodMs`, the next period starting when the action has ended. */
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
