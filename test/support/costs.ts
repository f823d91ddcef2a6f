// How much longer a hostile input takes than a harmless one of the same size. A ratio and not a figure in milliseconds:
// on a busy machine both take longer. Anything worse than linear is off by hundreds at these sizes.

const runs = 4;

/** The quickest of a few runs: what else the machine does only ever adds. It ends with the first run that is quick enough. */
async function quickestMs(work: () => unknown, enoughMs = 0): Promise<number> {
  let quickest = Number.POSITIVE_INFINITY;
  for (let run = 0; run < runs && quickest >= enoughMs; run += 1) {
    const startedAtMs = performance.now();
    await work();
    quickest = Math.min(quickest, performance.now() - startedAtMs);
  }
  return quickest;
}

const measured = new WeakMap<() => unknown, Promise<number>>();

/** Measured once for all hostile inputs that are compared with it. What takes less than two milliseconds counts as two: it is all start-up. */
function harmlessMs(harmless: () => unknown): Promise<number> {
  const known = measured.get(harmless) ?? quickestMs(harmless).then((ms) => Math.max(2, ms));
  measured.set(harmless, known);
  return known;
}

/** Whether it takes less than `times` as long as the harmless one, in one run of four at least. */
export async function isWithin(times: number, hostile: () => unknown, harmless: () => unknown): Promise<boolean> {
  const enoughMs = times * (await harmlessMs(harmless));
  return (await quickestMs(hostile, enoughMs)) < enoughMs;
}
