// How much longer a hostile input takes than a harmless one of the same size. A ratio and not a figure in milliseconds:
// on a busy machine both take longer. Anything worse than linear is off by hundreds at these sizes.

/** The quickest of a few runs: what else the machine does only ever adds. */
async function quickestMs(work: () => unknown): Promise<number> {
  let quickest = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 4; run += 1) {
    const startedAtMs = performance.now();
    await work();
    quickest = Math.min(quickest, performance.now() - startedAtMs);
  }
  return quickest;
}

/** Times as long as the harmless one; what takes less than two milliseconds counts as two, because it is all start-up. */
export async function timesAsLong(hostile: () => unknown, harmless: () => unknown): Promise<number> {
  const harmlessMs = Math.max(2, await quickestMs(harmless));
  return (await quickestMs(hostile)) / harmlessMs;
}
