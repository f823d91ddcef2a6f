// Days on several threads: each thread takes the next seed when it has ended one, so that a long day holds up nobody.
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { type DayResult, runDay } from './run-day.ts';

export interface Series {
  seeds: readonly number[];
  workers: number;
  tradingMs: number | undefined;
}

interface Order {
  seed: number;
  tradingMs: number | undefined;
}

/** `ended` says whether that is enough. */
export async function runDays({ seeds, workers, tradingMs }: Series, ended: (day: DayResult) => boolean): Promise<void> {
  const waiting = [...seeds];
  let isEnough = false;
  const next = () => (isEnough ? undefined : waiting.shift());
  if (workers === 1) {
    for (let seed = next(); seed !== undefined; seed = next()) isEnough = ended(await runDay(seed, { tradingMs }));
    return;
  }
  await Promise.all(Array.from({ length: Math.min(workers, seeds.length) }, () => keepBusy()));

  function keepBusy(): Promise<void> {
    const worker = new Worker(new URL(import.meta.url));
    return new Promise((resolve, reject) => {
      const order = () => {
        const seed = next();
        if (seed === undefined) void worker.terminate().then(() => resolve());
        else worker.postMessage({ seed, tradingMs } satisfies Order);
      };
      worker.on('error', reject);
      worker.on('message', (day: DayResult) => {
        isEnough ||= ended(day);
        order();
      });
      order();
    });
  }
}

if (!isMainThread)
  parentPort?.on('message', ({ seed, tradingMs }: Order) => {
    void runDay(seed, { tradingMs }).then((day) => parentPort?.postMessage(day));
  });
