// Waits for what has no event that a test could await; fails when it does not come true in time, however slow the machine.
import { setTimeout as pause } from 'node:timers/promises';

const shortestPauseMs = 5;

/** Asking takes at most a seventh of the time: it would take the processor from what it waits for. */
export async function until(condition: () => boolean | Promise<boolean>, withinMs = 15_000): Promise<void> {
  const endsAtMs = performance.now() + withinMs;
  const isOver = new AbortController();
  const tooLate = pause(withinMs, false, { signal: isOver.signal }).catch(() => false);
  try {
    for (;;) {
      const askedAtMs = performance.now();
      if (await Promise.race([condition(), tooLate])) return;
      const tookMs = performance.now() - askedAtMs;
      if (performance.now() >= endsAtMs) throw new Error(`Not true within ${withinMs} ms: ${String(condition)}`);
      await pause(Math.max(shortestPauseMs, 6 * tookMs));
    }
  } finally {
    isOver.abort();
  }
}
