// What the system knows of a process: its memory and the time that it was on a processor. The time is the truer figure on a machine that
// others use as well: it grows with the work, not with the waiting.
import { readdirSync, readFileSync } from 'node:fs';

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

/**
 * A count of the processor time of PostgreSQL's backends for one database: they are found by their titles, and those that end between two
 * looks are counted until the last look.
 */
export function postgresTime(databaseName: string): () => number {
  const lastMs = new Map<number, number>();
  let totalMs = 0;
  return () => {
    for (const pid of backendsOf(databaseName)) {
      const nowMs = onCpuMs(pid);
      totalMs += Math.max(0, nowMs - (lastMs.get(pid) ?? 0));
      lastMs.set(pid, nowMs);
    }
    return totalMs;
  };
}

function backendsOf(databaseName: string): number[] {
  const isBackend = (pid: string) => /^\d+$/.test(pid) && (readOf(`/proc/${pid}/cmdline`) ?? '').includes(` ${databaseName} `);
  return readdirSync('/proc').filter(isBackend).map(Number);
}

/** In nanoseconds there; a backend has one thread. */
const onCpuMs = (pid: number): number => Number(readOf(`/proc/${pid}/schedstat`)?.split(' ')[0] ?? 0) / 1e6;

/** Undefined: the process has ended. */
function readOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
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
