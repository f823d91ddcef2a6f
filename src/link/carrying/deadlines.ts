// The deadlines of a command [D65]: startBy and answerBy, fixed once, before its row is committed, and the same in every copy.
// A stall of the gateway after that (a slow commit, a suspended process or machine) counts against them.
//
// The elapsed time is the larger one of monotonic and wall clock: the first stops while the machine is suspended,
// the second may be set back. Too long is safe, because then nothing is sent.
import type { Clock } from '../../kernel/clock.ts';

/** How long after its issue a device may begin a command. */
export const startWithinMs = 10_000;

export interface Deadlines {
  /** By the gateway's wall clock. */
  readonly issuedAtMs: number;
  /** By the gateway's monotonic clock. */
  readonly issuedElapsedMs: number;
  /** Device clock minus gateway clock, as known at that time. */
  readonly clockOffsetMs: number;
  readonly answerWithinMs: number;
}

export function fixDeadlines(clock: Clock, clockOffsetMs: number, answerWithinMs: number): Deadlines {
  return { issuedAtMs: clock.now(), issuedElapsedMs: clock.elapsed(), clockOffsetMs, answerWithinMs };
}

export function passedMs(clock: Clock, deadlines: Deadlines): number {
  return Math.max(clock.now() - deadlines.issuedAtMs, clock.elapsed() - deadlines.issuedElapsedMs);
}

/** After this the command must not be sent, and not issued again. */
export function isStartOver(clock: Clock, deadlines: Deadlines): boolean {
  return passedMs(clock, deadlines) >= startWithinMs;
}
