// One gateway per database file. The lock is an exclusive transaction on a file beside it: the system releases it however the process ends.
// No code may open that file otherwise, because closing any handle on it drops the lock; the holder is described in a second file.
import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StartRefused } from '../../kernel/start-refused.ts';

interface Holder {
  pid: number;
  host: string;
  since: string;
}

export function takeGatewayLock(dataDir: string, nowMs: number) {
  const holderPath = join(dataDir, 'tillgate.holder.json');
  const lock = new DatabaseSync(join(dataDir, 'tillgate.lock'), { timeout: 0 });
  try {
    lock.exec('begin exclusive');
  } catch (error) {
    lock.close();
    throw new StartRefused(
      `The database in ${dataDir} is in use by ${describeHolder(holderPath)}. Stop that gateway, or use its cabinet API instead.`,
      {
        cause: error,
      },
    );
  }
  const holder: Holder = { pid: process.pid, host: hostname(), since: new Date(nowMs).toISOString() };
  writeFileSync(holderPath, `${JSON.stringify(holder)}\n`, { mode: 0o600 });
  return {
    release(): void {
      if (lock.isOpen) lock.close();
    },
  };
}

function describeHolder(path: string): string {
  try {
    const { pid, host, since } = JSON.parse(readFileSync(path, 'utf8')) as Holder;
    return `process ${pid} on ${host} since ${since}`;
  } catch {
    // The holder has the lock and has not written the file yet.
    return 'another process';
  }
}
