// The deadlines of a command [D65]: startBy and answerBy, fixed once, before its row is committed, and the same in every copy.
// A gateway that stalls in between (a slow commit, a stopped process, a machine that slept) has used up this time.
//
// The elapsed time is the larger one of monotonic and wall clock: the first stops while a machine sleeps,
// the second may be set back. Too long is safe: nothing is sent.
import type { Clock } from '../../kernel/clock.ts';

/** How long after its issue a device may begin a command. */
export const startWithinMs = 10_000;

export interface Deadlines {
  /** By the gateway's wall clock. */
  readonly issuedAtMs: number;
  /** By the gateway's monotonic clock. */
  readonly issuedElapsedMs: number;
  /** Device clock minus gateway clock, as it was known then. */
  readonly clockOffsetMs: number;
  readonly answerWithinMs: number;
}

export function fixDeadlines(clock: Clock, clockOffsetMs: number, answerWithinMs: number): Deadlines {
  return { issuedAtMs: clock.now(), issuedElapsedMs: clock.elapsed(), clockOffsetMs, answerWithinMs };
}

export function passedMs(clock: Clock, deadlines: Deadlines): number {
  return Math.max(clock.now() - deadlines.issuedAtMs, clock.elapsed() - deadlines.issuedElapsedMs);
}

/** Nothing may be sent any more, and nothing may be issued again. */
export function isStartOver(clock: Clock, deadlines: Deadlines): boolean {
  return passedMs(clock, deadlines) >= startWithinMs;
}
