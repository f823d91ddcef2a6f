// A group of timers that are stopped together.
import type { Cancel, Clock } from './clock.ts';

export class Timers {
  readonly #clock: Clock;
  readonly #cancels = new Set<Cancel>();
  #isStopped = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  after(delayMs: number, action: () => void): Cancel {
    const cancelTimer = this.#clock.after(Math.max(0, delayMs), () => {
      this.#cancels.delete(cancel);
      if (!this.#isStopped) action();
    });
    const cancel = () => {
      cancelTimer();
      this.#cancels.delete(cancel);
    };
    this.#cancels.add(cancel);
    return cancel;
  }

  /** Cancels all timers; timers that are set later never run. */
  stop(): void {
    this.#isStopped = true;
    for (const cancel of this.#cancels) cancel();
  }
}
