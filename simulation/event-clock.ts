// The simulation's time: one heap of events ordered by (time, sequence). Pop, run, drain microtasks; nothing else ever happens,
// so the same seed gives the same run.
import type { Cancel, Clock } from '../src/kernel/clock.ts';

interface Event {
  atMs: number;
  sequence: number;
  action: (() => void) | undefined;
}

export interface EventClock extends Clock {
  /** Fires the events of the next `ms`; stops early once `isEnough` holds. */
  advance(ms: number, isEnough?: () => boolean): Promise<void>;
  /** Skips quiet hours: events that were due in them happen at their end, once, as on a machine that was asleep. */
  leap(ms: number): void;
  /** Milliseconds without the skipped ones. */
  awake(): number;
  /** Events fired so far. */
  readonly fired: number;
}

/** Scheduled together: between two iterations of its loop Node polls sockets and timers, and a simulated day has none. */
const turnsAtOnce = 64;
let ordered = 0;
const waiting: (() => void)[] = [];

function takeTurn(): void {
  ordered -= 1;
  waiting.shift()?.();
}

// An iteration begins only when no microtask is left.
function drain(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (ordered >= waiting.length) return;
    ordered += turnsAtOnce;
    // oxlint-disable-next-line no-restricted-globals -- this is what time is made of here
    for (let turn = 0; turn < turnsAtOnce; turn += 1) setImmediate(takeTurn);
  });
}

const startMs = Date.UTC(2026, 2, 2, 6, 0, 0);
const minuteMs = 60_000;

/** `onMinute`: its time has advanced by a minute or more. */
export function createEventClock(onMinute: (nowMs: number) => void = () => {}): EventClock {
  const heap: Event[] = [];
  let elapsedMs = 0;
  let leaptMs = 0;
  let sequence = 0;
  let fired = 0;
  let toldMs = Number.NEGATIVE_INFINITY;

  const isBefore = (a: Event, b: Event) => a.atMs < b.atMs || (a.atMs === b.atMs && a.sequence < b.sequence);

  function push(event: Event): void {
    heap.push(event);
    let at = heap.length - 1;
    while (at > 0) {
      const up = (at - 1) >> 1;
      const parent = heap[up] as Event;
      if (!isBefore(event, parent)) break;
      heap[at] = parent;
      at = up;
    }
    heap[at] = event;
  }

  function pop(): Event | undefined {
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Event, heap[child] as Event)) child += 1;
      if (!isBefore(heap[child] as Event, last)) break;
      heap[at] = heap[child] as Event;
      at = child;
    }
    heap[at] = last;
    return first;
  }

  function after(delayMs: number, action: () => void): Cancel {
    sequence += 1;
    const event: Event = { atMs: elapsedMs + Math.max(0, delayMs), sequence, action };
    push(event);
    return () => {
      event.action = undefined;
    };
  }

  return {
    // Whole milliseconds, as the real one; a timer may fall between two.
    now: () => Math.floor(startMs + elapsedMs),
    elapsed: () => elapsedMs,
    after,
    leap(ms) {
      elapsedMs += ms;
      leaptMs += ms;
    },
    awake: () => elapsedMs - leaptMs,
    get fired() {
      return fired;
    },
    async advance(ms, isEnough = () => false) {
      const untilMs = elapsedMs + ms;
      await drain();
      while (!isEnough()) {
        const next = heap[0];
        if (next === undefined || next.atMs > untilMs) {
          elapsedMs = untilMs;
          return;
        }
        pop();
        if (next.action === undefined) continue;
        elapsedMs = Math.max(elapsedMs, next.atMs);
        fired += 1;
        if (elapsedMs - toldMs >= minuteMs) {
          toldMs = elapsedMs;
          onMinute(startMs + elapsedMs);
        }
        next.action();
        await drain();
      }
    },
  };
}
