// All worlds, in threads: each is explored, and then its pairs of events are compared.
import { Worker } from 'node:worker_threads';
import { type Commuted, commute } from './commutation.ts';
import { coreMs, type Explored, explore, type Met, nothingMet } from './search.ts';
import { worlds } from './worlds.ts';

export interface Task {
  name: string;
  depth: number;
  pairs: number;
  /** Processor time for the search, and for the pairs. */
  limitMs: number;
}

export interface Done {
  name: string;
  explored: Explored;
  commuted: Commuted;
  met: Met;
  coreMs: number;
}

export function runTask({ name, depth, pairs, limitMs }: Task): Done {
  const world = worlds[name];
  if (!world) throw new Error(`There is no world "${name}".`);
  const began = coreMs();
  const met = nothingMet();
  const explored = explore(world, { depth, limitMs }, met);
  const commuted = commute(world, { depth: pairs, limitMs });
  return { name, explored, commuted, met, coreMs: coreMs() - began };
}

/** The longest worlds first would be best; they are in the order of the file, and each thread takes the next one. */
export async function runAll(tasks: readonly Task[], threads: number, report: (done: Done) => void = () => undefined): Promise<Done[]> {
  const left = [...tasks];
  const all: Done[] = [];
  await Promise.all(Array.from({ length: Math.min(threads, tasks.length) }, () => work(left, (done) => (all.push(done), report(done)))));
  return all;
}

function work(left: Task[], take: (done: Done) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('worker.ts', import.meta.url));
    const next = () => {
      const task = left.shift();
      if (task) worker.postMessage(task);
      else void worker.terminate().then(() => resolve());
    };
    worker.on('message', (done: Done) => {
      take(done);
      next();
    });
    worker.on('error', reject);
    next();
  });
}

export function together(all: readonly Done[]): Met {
  const sum = nothingMet();
  for (const { met } of all) {
    for (const [place, { times, changed }] of Object.entries(met.reached)) {
      const to = (sum.reached[place] ??= { times: 0, changed: 0 });
      to.times += times;
      to.changed += changed;
    }
    for (const [name, times] of Object.entries(met.interesting)) sum.interesting[name] = (sum.interesting[name] ?? 0) + times;
  }
  return sum;
}
