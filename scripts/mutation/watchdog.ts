// Ends this process when a test has taken far more CPU time than it should: a mutant that never comes to an end. Real time would not tell it
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
  /** From now on so much CPU time is left. */
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
