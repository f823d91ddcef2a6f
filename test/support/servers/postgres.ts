// A PostgreSQL of our own in a temporary directory. PostgreSQL refuses to run as root, so root hands it to the user `postgres`.
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { freePort } from '../free-port.ts';
import { isRoot, keepRestartable, ownDirectory, type ServerProcess, startProcess, type TestServer } from './server-process.ts';

export interface PostgresOptions {
  /** Settings as on the command line: { fsync: 'off' }. */
  settings?: Record<string, string>;
  /** A base backup to begin with, instead of nothing. */
  from?: string;
}

export interface PostgresServer extends TestServer {
  /** Of the database `postgres`, as superuser; other databases are made through it. */
  readonly url: string;
  readonly port: number;
}

/** The directory with initdb and postgres: the newest of Debian's, otherwise whatever is on the PATH. */
export function postgresBinaries(): string | undefined {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).filter((name) => existsSync(join(debian, name, 'bin/initdb'))) : [];
  const newest = versions.sort((a, b) => Number(b) - Number(a))[0];
  if (newest) return join(debian, newest, 'bin');
  return (process.env['PATH'] ?? '').split(delimiter).find((directory) => existsSync(join(directory, 'initdb')));
}

/** Runs a program of PostgreSQL to its end, as the user that it insists on. */
export function asPostgres(program: string[], cwd: string): void {
  const asUser = ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'];
  const [command = '', ...args] = isRoot ? [...asUser, ...program] : program;
  execFileSync(command, args, { cwd, stdio: ['ignore', 'ignore', 'pipe'] });
}

export function initialize(binaries: string, directory: string): void {
  const initdb = [join(binaries, 'initdb'), '-D', join(directory, 'data'), '-U', 'postgres', '-A', 'trust', '-E', 'UTF8'];
  if (isRoot) execFileSync('chown', ['-R', 'postgres:postgres', directory]);
  asPostgres([...initdb, '--locale=C.UTF-8', '--no-sync'], directory);
}

/** A base backup as the data directory. */
function takeOver(from: string, directory: string): void {
  const data = join(directory, 'data');
  cpSync(from, data, { recursive: true });
  chmodSync(data, 0o700);
  if (isRoot) execFileSync('chown', ['-R', 'postgres:postgres', directory]);
}

/** The server on the data directory in `directory`. */
export function runPostgres(
  binaries: string,
  { directory, port, settings = {} }: { directory: string; port: number; settings?: Record<string, string> },
): Promise<ServerProcess> {
  const all = { port: String(port), listen_addresses: '127.0.0.1', unix_socket_directories: directory, ...settings };
  return startProcess({
    name: 'PostgreSQL',
    command: join(binaries, 'postgres'),
    args: ['-D', join(directory, 'data'), ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    cwd: directory,
    env: { LC_ALL: 'C.UTF-8' },
    readyLine: /database system is ready to accept (read-only )?connections/,
    readyWithinMs: 30_000,
    // Fast shutdown: ends sessions and transactions, does not wait for clients.
    stopSignal: 'SIGINT',
    asUser: 'postgres',
  });
}

export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const binaries = postgresBinaries();
  if (!binaries) throw new Error('PostgreSQL is not installed.');
  const directory = mkdtempSync(join(tmpdir(), 'tillgate-postgres-'));
  const owned = ownDirectory(directory);
  if (options.from === undefined) initialize(binaries, directory);
  else takeOver(options.from, directory);
  const port = await freePort();
  // Many test files, each with its own pools.
  const start = () => runPostgres(binaries, { directory, port, settings: { max_connections: '300', ...options.settings } });

  // After kill -9 the old sessions hold on to shared memory for a moment, and the new server refuses to start meanwhile.
  async function startAfterKill(): Promise<ServerProcess> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await start();
      } catch (error) {
        if (attempt === 20 || !String(error).includes('shared memory')) throw error;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  const server = await keepRestartable(start, { startAgain: startAfterKill, afterwards: owned.remove });
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    port,
    ...server,
  };
}
