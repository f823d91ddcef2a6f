// The peers are installed and built into a directory below the system's temporary one, and kept there: the second run
// of the bench on a machine needs no network. The product never depends on them.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const source = fileURLToPath(new URL('peers', import.meta.url));

export function installPeers(say: (line: string) => void): string {
  const fingerprint = createHash('sha256');
  for (const name of readdirSync(source).sort()) fingerprint.update(readFileSync(join(source, name)));
  const directory = join(tmpdir(), `tillgate-bench-peers-${fingerprint.digest('hex').slice(0, 12)}`);
  if (existsSync(directory)) return directory;
  say('installing the peers (NestJS, TypeORM, graphile-worker, pg-boss) into a temporary directory');
  const unfinished = `${directory}.${process.pid}`;
  mkdirSync(unfinished);
  try {
    cpSync(source, unfinished, { recursive: true });
    const run = (command: string, args: string[]) =>
      execFileSync(command, args, { cwd: unfinished, stdio: ['ignore', 'ignore', 'inherit'] });
    run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error']);
    run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', '.']);
    renameSync(unfinished, directory);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return directory;
}
