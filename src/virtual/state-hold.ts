// One process at a time is a device: two with one state directory would each count receipts from its own memory and give one number twice.
// The file that says who holds a directory outlives a crash, so a holder counts only while that very process lives.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StartRefused } from '../kernel/start-refused.ts';

interface Holder {
  pid: number;
  /** The system's mark of this process, because process ids are used again; absent where the system has none. */
  mark?: string | undefined;
}

/** Takes the directory, or refuses with a sentence that says who has it. Returns the release. */
export function holdStateDir(stateDir: string): () => void {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const path = join(stateDir, 'holder.json');
  const me = JSON.stringify({ pid: process.pid, mark: markOf(process.pid) } satisfies Holder);
  if (!tryWrite(path, me)) {
    const holder = readHolder(path);
    if (holder !== undefined && isAlive(holder)) {
      throw new StartRefused(
        `The device in ${stateDir} is already run by process ${holder.pid}: stop that one first, or name another --state-dir.`,
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

/** On Linux, when the process started; nothing for one that is gone or only waits to be buried. */
function markOf(pid: number): string | undefined {
  const stat = readFileOrNothing(`/proc/${pid}/stat`);
  // The name of the program stands in brackets and may hold anything; the plain fields follow the last of them.
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
