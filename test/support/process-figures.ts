// What the system knows of a process: its memory and the time that it was on a processor. The time is the truer figure on a machine that
// others use as well: it grows with the work, not with the waiting.
import { readFileSync } from 'node:fs';

const ticksPerSecond = 100;

/** Resident, in megabytes. */
export function megabytesOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
}

/** Of all its threads, since it began. */
export function cpuMsOf(pid: number): number {
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [user = 0, system = 0] = fields.split(' ').slice(11, 13).map(Number);
  return ((user + system) * 1000) / ticksPerSecond;
}

/** Resolves when the processes have done next to nothing for a second, or after a minute. */
export async function quiet(pids: readonly number[]): Promise<void> {
  const total = () => pids.reduce((sum, pid) => sum + cpuMsOf(pid), 0);
  for (let looks = 0; looks < 60; looks += 1) {
    const before = total();
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    if (total() - before < 50 * pids.length) return;
  }
}
