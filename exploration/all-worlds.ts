// All worlds and seeds, in threads: each is explored, and then its pairs of events are compared.
import { Worker } from 'node:worker_threads';
import { type Commuted, commute } from './commutation.ts';
import { coreMs, type Explored, explore, type Met, nothingMet } from './search.ts';
import { ofSeeds, seedNames, seedWorld } from './seeds.ts';
import { everything, walks } from './walks.ts';
import type { World } from './world.ts';
import { worlds } from './worlds.ts';

export interface Task {
  name: string;
  depth: number;
  pairs: number;
  /** Processor time for the search, and for the pairs. */
  limitMs: number;
  /** Random walks instead, from this number on. */
  firstWalk?: number;
}

/** The worlds with so many events more, and the seeds. */
export function allTasks(limitMs: number, more = 0, morePairs = 0): Task[] {
  const ofWorlds = Object.entries(worlds).map(([name, { depth, pairs }]) => ({
    name,
    depth: depth + more,
    pairs: pairs + morePairs,
    limitMs,
  }));
  return [...ofWorlds, ...seedNames.map((name) => ({ name, ...ofSeeds, limitMs }))];
}

export interface Done {
  name: string;
  explored: Explored;
  commuted: Commuted;
  met: Met;
  coreMs: number;
}

const wide = 'everything at once';

/** Two events more in each world, everything at once, and random walks: half an hour on two cores. */
export function nightlyTasks(firstWalk: number): Task[] {
  const walking = [0, 1].map((half) => ({ name: wide, depth: 0, pairs: 0, limitMs: 400_000, firstWalk: firstWalk + half * 1_000_000 }));
  return [...walking, { name: wide, depth: everything.depth, pairs: everything.pairs, limitMs: 400_000 }, ...allTasks(50_000, 2, 1)];
}

export function runTask({ name, depth, pairs, limitMs, firstWalk }: Task): Done {
  const world = name === wide ? everything : (worlds[name] ?? seedWorld(name));
  if (!world) throw new Error(`There is no world "${name}".`);
  const began = coreMs();
  const met = nothingMet();
  if (firstWalk !== undefined) return { ...walked(world, firstWalk, limitMs, met), name, met, coreMs: coreMs() - began };
  const explored = explore(world, { depth, limitMs }, met);
  const commuted = commute(world, { depth: pairs, limitMs });
  return { name, explored, commuted, met, coreMs: coreMs() - began };
}

function walked(world: World, first: number, limitMs: number, met: Met): Pick<Done, 'explored' | 'commuted'> {
  const { count, events, violation } = walks(world, first, limitMs, met);
  const explored = { states: count, transitions: events, depth: events / count, isCut: false, ...(violation ? { violation } : {}) };
  return { explored, commuted: { pairs: 0, held: 0, isCut: false, guards: {} } };
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
    for (const what of ['interesting', 'shapes'] as const)
      for (const [name, times] of Object.entries(met[what])) sum[what][name] = (sum[what][name] ?? 0) + times;
  }
  return sum;
}
