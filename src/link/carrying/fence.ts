// The fence of a command [D65]: startBy and answerBy, fixed once, before its row is committed, and the same in every copy that goes out.
// A gateway that is held up in between (a slow commit, a stopped process, a machine that slept) has used up this time, not begun it anew.
//
// The time passed is what the monotonic or the wall clock shows, whichever is more: the first stands still while a machine sleeps,
// the second may be set back. Erring to the longer side sends nothing, which harms nobody.
import type { Clock } from '../../kernel/clock.ts';

/** How long after its issue a device may begin a command. */
export const startWithinMs = 10_000;

export interface Fence {
  /** By the gateway's wall clock. */
  readonly issuedAtMs: number;
  /** By the gateway's monotonic clock. */
  readonly issuedElapsedMs: number;
  /** Device clock minus gateway clock, as it was known then. */
  readonly clockOffsetMs: number;
  readonly answerWithinMs: number;
}

export function raiseFence(clock: Clock, clockOffsetMs: number, answerWithinMs: number): Fence {
  return { issuedAtMs: clock.now(), issuedElapsedMs: clock.elapsed(), clockOffsetMs, answerWithinMs };
}

export function passedMs(clock: Clock, fence: Fence): number {
  return Math.max(clock.now() - fence.issuedAtMs, clock.elapsed() - fence.issuedElapsedMs);
}

/** Nothing may be sent any more, and nothing may be issued again. */
export function isStartOver(clock: Clock, fence: Fence): boolean {
  return passedMs(clock, fence) >= startWithinMs;
}
