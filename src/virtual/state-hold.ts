// A lock on the state directory: two processes with one directory would each number receipts from their own memory and use a number twice.
// The lock file survives a crash, so it counts only while the process that wrote it still runs.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StartRefused } from '../kernel/start-refused.ts';

interface Holder {
  pid: number;
  /** Start time of the process, because process ids are reused; absent if the system has none. */
  mark?: string | undefined;
}

/** Locks the directory, or throws with the process that holds it. Returns the release function. */
export function holdStateDir(stateDir: string): () => void {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const path = join(stateDir, 'holder.json');
  const me = JSON.stringify({ pid: process.pid, mark: markOf(process.pid) } satisfies Holder);
  if (!tryWrite(path, me)) {
    const holder = readHolder(path);
    if (holder !== undefined && isAlive(holder)) {
      throw new StartRefused(
        `The device in ${stateDir} is already run by process ${holder.pid}: stop it first, or use another --state-dir.`,
      );
    }
    rmSync(path, { force: true });
    if (!tryWrite(path, me)) throw new StartRefused(`The device in ${stateDir} was started twice at the same moment; try again.`);
  }
  return () => {
    if (readFileOrNothing(path) === me) rmSync(path, { force: true });
  };
}

function tryWrite(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function readHolder(path: string): Holder | undefined {
  try {
    const { pid, mark } = JSON.parse(readFileOrNothing(path) ?? '') as Partial<Holder>;
    return typeof pid === 'number' && Number.isInteger(pid) && pid > 0 ? { pid, mark } : undefined;
  } catch {
    return undefined;
  }
}

function isAlive(holder: Holder): boolean {
  if (holder.mark !== undefined) return markOf(holder.pid) === holder.mark;
  if (holder.pid === process.pid) return false;
  try {
    process.kill(holder.pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** On Linux, the start time of the process; undefined if it has ended or is a zombie. */
function markOf(pid: number): string | undefined {
  const stat = readFileOrNothing(`/proc/${pid}/stat`);
  // The name of the program is in brackets and may contain any text; the other fields follow the last bracket.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields === undefined || fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
}

function readFileOrNothing(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
