import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { expect, it } from 'vitest';
import { collectStartGarbage } from '../../src/cli/start-garbage.ts';

it('everything is collected once, and no new global name is there afterwards', async () => {
  const kinds: number[] = [];
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as (PerformanceEntry & { detail: { kind: number } })[]) kinds.push(entry.detail.kind);
  });
  observer.observe({ entryTypes: ['gc'] });
  collectStartGarbage();
  await expect.poll(() => kinds).toContain(constants.NODE_PERFORMANCE_GC_MAJOR);
  observer.disconnect();
  expect('gc' in globalThis).toBe(false);
});
