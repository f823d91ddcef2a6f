// One gateway for one database file. The lock is an exclusive transaction on a file beside it: the system frees it however the process ends.
// No code may read that file by other means, since closing any handle on it drops the lock; who holds it stands in a second file.
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

export interface GatewayLock {
  release(): void;
}

export function takeGatewayLock(dataDir: string, nowMs: number): GatewayLock {
  const holderPath = join(dataDir, 'tillgate.holder.json');
  const lock = new DatabaseSync(join(dataDir, 'tillgate.lock'), { timeout: 0 });
  try {
    lock.exec('begin exclusive');
  } catch (error) {
    lock.close();
    throw new StartRefused(
      `The database in ${dataDir} is in use by ${describeHolder(holderPath)}: stop that gateway, or let it do the work through its cabinet API.`,
      {
        cause: error,
      },
    );
  }
  const holder: Holder = { pid: process.pid, host: hostname(), since: new Date(nowMs).toISOString() };
  writeFileSync(holderPath, `${JSON.stringify(holder)}\n`, { mode: 0o600 });
  return {
    release() {
      if (lock.isOpen) lock.close();
    },
  };
}

function describeHolder(path: string): string {
  try {
    const { pid, host, since } = JSON.parse(readFileSync(path, 'utf8')) as Holder;
    return `process ${pid} on ${host} since ${since}`;
  } catch {
    // It has the lock and has not yet written its name.
    return 'another process';
  }
}
