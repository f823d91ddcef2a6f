// What failed by itself and would fail again: for a while it is left out, each time for longer, so that it neither stands before the others of a
// round nor fills the log. Only in this process: another one, or the next, finds out by itself.
import { growingPauseMs, type PauseRange } from './backoff.ts';
import type { Clock } from './clock.ts';

interface Aside {
  failures: number;
  untilMs: number;
}

export class PutAside {
  readonly #clock: Clock;
  readonly #pauses: PauseRange;
  readonly #all = new Map<string, Aside>();

  constructor(clock: Clock, pauses: PauseRange) {
    this.#clock = clock;
    this.#pauses = pauses;
  }

  /** It has failed, once more perhaps. For how long it is left out now. */
  add(id: string): number {
    this.#forgetOld();
    const failures = (this.#all.get(id)?.failures ?? 0) + 1;
    const pauseMs = growingPauseMs(failures, this.#pauses);
    this.#all.set(id, { failures, untilMs: this.#clock.elapsed() + pauseMs });
    return pauseMs;
  }

  has(id: string): boolean {
    return (this.#all.get(id)?.untilMs ?? Number.NEGATIVE_INFINITY) > this.#clock.elapsed();
  }

  /** How many are left out now: a look that asks for so many more finds what stands behind them. */
  get count(): number {
    return this.#all.keys().reduce((count, id) => count + Number(this.has(id)), 0);
  }

  /** Whatever was tried again has failed within the longest pause, or is done. */
  #forgetOld(): void {
    const nowMs = this.#clock.elapsed();
    for (const [id, { untilMs }] of this.#all) if (untilMs + this.#pauses.maxMs < nowMs) this.#all.delete(id);
  }
}
