// Ends this process when a test has used far more CPU time than it should: a mutant that never ends. Real time would not distinguish it
// from a busy machine. The restarted process finds a note about the mutant and skips it.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

const lookEveryMs = 200;

/** `limit[0]`: CPU milliseconds of this process at which it ends; 0 is none. */
const thread = `
const { workerData: { limits, note, every } } = require('node:worker_threads');
const { writeFileSync } = require('node:fs');
setInterval(() => {
  const { user, system } = process.cpuUsage();
  if (limits[0] === 0 || (user + system) / 1000 < limits[0]) return;
  writeFileSync(note + limits[1], '');
  process.kill(process.pid, 'SIGKILL');
}, every);
`;

export interface Watchdog {
  /** The CPU time that is allowed from now on. */
  allow(ms: number, mutant: string): void;
  rest(): void;
  hasEnded(mutant: string): boolean;
}

export function startWatchdog(directory: string): Watchdog {
  const limits = new Float64Array(new SharedArrayBuffer(16));
  const note = join(directory, 'endless-');
  const watching = new Worker(thread, { eval: true, workerData: { limits, note, every: lookEveryMs } });
  watching.unref();
  return {
    allow(ms, mutant) {
      const { user, system } = process.cpuUsage();
      limits[1] = Number(mutant);
      limits[0] = (user + system) / 1_000 + ms;
    },
    rest() {
      limits[0] = 0;
    },
    hasEnded: (mutant) => existsSync(`${note}${mutant}`),
  };
}
