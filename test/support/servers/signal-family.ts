import { execFileSync } from 'node:child_process';

/** To a server and its children, each of which is a process group of its own, as PostgreSQL's are. */
export function signalFamily(server: number, signal: NodeJS.Signals): void {
  const children = execFileSync('ps', ['-o', 'pid=', '--ppid', String(server)], { encoding: 'utf8' });
  for (const pid of [server, ...(children.match(/\d+/g) ?? []).map(Number)]) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      // A backend may have ended since it was listed.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}
