// A copy of the embedded database as it was at one moment, also while a gateway writes to it: what was acknowledged before the copy
// began is in it, whole transactions only. Always holds: a file under the name that was asked for is complete, checked and on disk.
// Dies the process before that, there is at most a `.part` beside it, which the next one writes anew. The gateway is not held up: it
// writes on, and only its side file grows meanwhile.
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { StartRefused } from '../kernel/start-refused.ts';

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
  if (!existsSync(source)) throw new StartRefused(`There is no database in ${dataDir}.`);
  if (existsSync(path)) throw new StartRefused(`${path} is there already, and a backup overwrites nothing: name another file.`);
  const draft = `${path}.part`;
  rmSync(draft, { force: true });
  // Secrets are inside, so no other user may read it, not even while it grows.
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
      throw new StartRefused(`The database is damaged (${JSON.stringify(first)}): no backup was made of it. Keep the last good one.`);
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
