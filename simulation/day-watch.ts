// Detects a simulated day that never ends: its virtual time does not advance from check to check. Checks are counted instead of minutes, so
// that a machine that slept or was busy for a moment costs one check.
import type { Cancel, Clock } from '../src/kernel/clock.ts';

export interface DayWatch {
  /** The current virtual time of the day. */
  reached(nowMs: number): void;
  end(): void;
}

interface Deps {
  /** The real one. */
  clock: Clock;
  /** Called once, with the time at which the day is stuck, if it ever began. */
  onStuck(reachedMs: number | undefined): void;
}

const lookEveryMs = 10_000;
/** Five minutes: the slowest day reports a virtual minute within a second of processor time. */
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
