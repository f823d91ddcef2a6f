// A snapshot of the embedded database, also while a gateway writes to it: it contains all transactions that were acknowledged before the
// copy began, and no partial ones. Invariant: a file under the requested name is complete, checked and synced to disk. If the process dies
// before that, at most a `.part` file is left, which the next backup overwrites. The gateway is not blocked; only its write-ahead log grows
// meanwhile.
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StartRefused } from '../kernel/start-refused.ts';
import { refuseFiles } from './file-access.ts';

export interface Backup {
  path: string;
  bytes: number;
  commands: number;
  /** When the newest command in it was issued; null: it has none. */
  newestCommandAt: number | null;
}

export function backUpSqlite(dataDir: string, to: string): Backup {
  const source = join(dataDir, 'tillgate.db');
  const path = resolve(to);
  refuseFiles(dataDir, 'reader');
  if (existsSync(path)) throw new StartRefused(`${path} exists already, and a backup overwrites nothing. Choose another file.`);
  const draft = `${path}.part`;
  rmSync(draft, { force: true });
  // It contains secrets, so no other user may read it at any time.
  closeSync(openSync(draft, 'wx', 0o600));
  try {
    copyInto(source, draft);
    const found = check(draft);
    sync(draft);
    renameSync(draft, path);
    sync(dirname(path));
    return { path, bytes: statSync(path).size, ...found };
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

function copyInto(source: string, draft: string): void {
  const database = new DatabaseSync(source, { readOnly: true, timeout: 5_000 });
  try {
    database.prepare('vacuum into ?').run(draft);
  } finally {
    database.close();
  }
}

/** A copy of a damaged file is no backup. */
function check(draft: string): { commands: number; newestCommandAt: number | null } {
  const copy = new DatabaseSync(draft, { readOnly: true });
  try {
    const problems = [...copy.prepare('pragma integrity_check').all(), ...copy.prepare('pragma foreign_key_check').all()];
    const [first] = problems;
    if (problems.length !== 1 || first?.['integrity_check'] !== 'ok')
      throw new StartRefused(`The database is damaged (${JSON.stringify(first)}), so no backup was made. Keep the last good one.`);
    const row = copy.prepare('select count(*) as commands, max(issued_at) as newest from commands').get();
    return { commands: Number(row?.['commands']), newestCommandAt: row?.['newest'] === null ? null : Number(row?.['newest']) };
  } finally {
    copy.close();
  }
}

function sync(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
