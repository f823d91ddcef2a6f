// Waits for what has no event that a test could await; fails when it does not come true in time, however slow the machine.
import { vi } from 'vitest';

export async function until(condition: () => boolean | Promise<boolean>, withinMs = 15_000): Promise<void> {
  await vi.waitUntil(condition, { timeout: withinMs, interval: 5 });
}
