// Back-off per item: an item that failed and would fail again is skipped for a while, each time for longer, so that it neither blocks the
// others of a round nor fills the log. In memory of this process only.
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

  /** The item has failed. Returns how long it is skipped now. */
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

  /** How many are skipped now: a query with a limit larger by this number still finds the others. */
  get count(): number {
    return this.#all.keys().reduce((count, id) => count + Number(this.has(id)), 0);
  }

  /** An item that did not fail again within the longest pause is done. */
  #forgetOld(): void {
    const nowMs = this.#clock.elapsed();
    for (const [id, { untilMs }] of this.#all) if (untilMs + this.#pauses.maxMs < nowMs) this.#all.delete(id);
  }
}
