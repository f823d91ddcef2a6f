// Notices a simulated day that never ends: its virtual time stands where it stood, look after look. Looks are counted and not minutes, so
// that a machine that slept, or was busy with other things for a moment, costs one look.
import type { Cancel, Clock } from '../src/kernel/clock.ts';

export interface DayWatch {
  /** The virtual time of the day, as far as it has come. */
  reached(nowMs: number): void;
  end(): void;
}

interface Deps {
  /** The real one. */
  clock: Clock;
  /** Once, with the time at which the day stands, if it ever began. */
  onStuck(reachedMs: number | undefined): void;
}

const lookEveryMs = 10_000;
/** Five minutes: the slowest day tells of a virtual minute within a second of a processor. */
const looks = 30;

export function watchDay({ clock, onStuck }: Deps): DayWatch {
  let reachedMs: number | undefined;
  let looksInVain = 0;
  let cancel: Cancel = clock.after(lookEveryMs, look);

  function look(): void {
    looksInVain += 1;
    if (looksInVain >= looks) onStuck(reachedMs);
    else cancel = clock.after(lookEveryMs, look);
  }

  return {
    reached(nowMs) {
      if (reachedMs !== undefined && nowMs <= reachedMs) return;
      reachedMs = nowMs;
      looksInVain = 0;
    },
    end: () => cancel(),
  };
}
