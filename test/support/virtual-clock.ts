// A clock that stands still until a test moves it. Timers fire in the order (time, sequence);
// between two timers everything that they set off gets its turn, so that a retry or a deadline is seen where it happens.
import type { Cancel, Clock } from '../../src/kernel/clock.ts';

/** Node fires a longer timer at once; here it is a mistake in the caller. */
const maxDelayMs = 2 ** 31 - 1;

// Taken at load time, so that a test's fake timers do not stop this clock as well.
const realImmediate = globalThis.setImmediate;
const realTimeout = globalThis.setTimeout;

export interface VirtualClockOptions {
  /**
   * What happens between two timers. `io` (default): promises, and a few turns of the event loop with a real millisecond
   * for sockets, worker threads and files. `microtasks`: promises only, for code that is wholly in memory; order is then fixed.
   * A function: that, for example one that asks a database worker for a round trip.
   */
  settle?: 'io' | 'microtasks' | (() => Promise<void>);
}

export interface VirtualClock extends Clock {
  /** Moves time on by `ms`, firing what falls due on the way. An error thrown by a timer's action rejects it. */
  advance(ms: number): Promise<void>;
  /** Moves from timer to timer until `condition` holds, then stops there. Fails when `withinMs` have passed on this clock. */
  runUntil(condition: () => boolean | Promise<boolean>, withinMs?: number): Promise<void>;
  /** Lets promises and I/O go on without moving time. */
  settle(): Promise<void>;
  /** Moves only the wall clock, as when an operator or NTP sets it: now() jumps, elapsed() and timers do not. */
  setWallClock(nowMs: number): void;
  /** How many timers wait. */
  readonly pending: number;
}

function turn(): Promise<void> {
  return new Promise((resolve) => {
    realImmediate(resolve);
  });
}

async function settleIo(): Promise<void> {
  for (let count = 0; count < 3; count += 1) await turn();
  await new Promise((resolve) => {
    realTimeout(resolve, 1);
  });
  for (let count = 0; count < 3; count += 1) await turn();
}

interface Timer {
  atMs: number;
  sequence: number;
  action: () => void;
}

export function createVirtualClock(startMs = Date.UTC(2026, 0, 15, 9, 0, 0), options: VirtualClockOptions = {}): VirtualClock {
  const { settle: mode = 'io' } = options;
  // One turn of the event loop begins only when no microtask is left, which is what draining them means.
  const settle = mode === 'io' ? settleIo : mode === 'microtasks' ? turn : mode;
  const timers = new Set<Timer>();
  let elapsedMs = 0;
  let wallOffsetMs = startMs;
  let sequence = 0;

  function after(delayMs: number, action: () => void): Cancel {
    if (!(delayMs <= maxDelayMs)) throw new RangeError(`A timer of ${delayMs} ms would fire at once on the real clock.`);
    sequence += 1;
    const timer = { atMs: elapsedMs + Math.max(0, delayMs), sequence, action };
    timers.add(timer);
    return () => timers.delete(timer);
  }

  function nextTimer(untilMs: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of timers) {
      if (timer.atMs > untilMs) continue;
      if (!next || timer.atMs < next.atMs || (timer.atMs === next.atMs && timer.sequence < next.sequence)) next = timer;
    }
    return next;
  }

  function fire(timer: Timer): void {
    timers.delete(timer);
    elapsedMs = Math.max(elapsedMs, timer.atMs);
    timer.action();
  }

  async function advance(ms: number): Promise<void> {
    const untilMs = elapsedMs + ms;
    await settle();
    for (let timer = nextTimer(untilMs); timer; timer = nextTimer(untilMs)) {
      fire(timer);
      await settle();
    }
    elapsedMs = Math.max(elapsedMs, untilMs);
  }

  async function runUntil(condition: () => boolean | Promise<boolean>, withinMs = 24 * 60 * 60 * 1000): Promise<void> {
    const untilMs = elapsedMs + withinMs;
    await settle();
    while (!(await condition())) {
      const timer = nextTimer(untilMs);
      if (!timer) throw new Error(`The condition did not come true within ${withinMs} ms of virtual time.`);
      fire(timer);
      await settle();
    }
  }

  return {
    // Whole milliseconds, as the real one; a timer may fall between two.
    now: () => Math.floor(wallOffsetMs + elapsedMs),
    elapsed: () => elapsedMs,
    after,
    advance,
    runUntil,
    settle,
    setWallClock(nowMs) {
      wallOffsetMs = nowMs - elapsedMs;
    },
    get pending() {
      return timers.size;
    },
  };
}
