// A Mosquitto of our own in a temporary directory, open to everybody unless a configuration says otherwise.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { freePort } from '../free-port.ts';
import { isRoot, keepRestartable, ownDirectory, startProcess, type TestServer } from './server-process.ts';

export interface MosquittoOptions {
  /** Configuration text besides listener and persistence; `{directory}` stands for the server's directory. Absent: anonymous access. */
  config?: string;
  /** Files for that directory, by name, for example an ACL. */
  files?: Record<string, string>;
  /** Password by user; the configuration needs no `password_file` line of its own then. */
  users?: Record<string, string>;
}

export interface MosquittoServer extends TestServer {
  readonly url: string;
  readonly port: number;
  readonly directory: string;
}

// Debian keeps daemons in /usr/sbin, which an ordinary user's PATH may lack.
const searchPath = [process.env['PATH'] ?? '', '/usr/sbin', '/usr/local/sbin'].join(delimiter);

export async function startMosquitto(options: MosquittoOptions = {}): Promise<MosquittoServer> {
  const directory = mkdtempSync(join(tmpdir(), 'tillgate-mosquitto-'));
  const owned = ownDirectory(directory);
  const port = await freePort();
  // Without no-delay a device's second answer waits 40 ms for the acknowledgement of its first: deploy/mosquitto.conf has it too.
  const lines = [`listener ${port} 127.0.0.1`, 'persistence false', 'log_dest stderr', 'set_tcp_nodelay true'];
  // As root it would become the user `mosquitto` and could no longer read its own directory.
  if (isRoot) lines.push('user root');
  if (options.users) {
    const passwords = join(directory, 'passwords');
    const text = Object.entries(options.users).map(([user, password]) => `${user}:${password}\n`);
    writeFileSync(passwords, text.join(''), { mode: 0o600 });
    execFileSync('mosquitto_passwd', ['-U', passwords]);
    lines.push(`password_file ${passwords}`);
  }
  lines.push(options.config?.replaceAll('{directory}', directory) ?? `allow_anonymous ${options.users ? 'false' : 'true'}`);
  for (const [name, text] of Object.entries(options.files ?? {})) writeFileSync(join(directory, name), text, { mode: 0o600 });
  const configFile = join(directory, 'mosquitto.conf');
  writeFileSync(configFile, `${lines.join('\n')}\n`);

  const start = () =>
    startProcess({
      name: 'Mosquitto',
      command: 'mosquitto',
      args: ['-c', configFile],
      env: { PATH: searchPath },
      cwd: directory,
      readyPort: port,
      readyWithinMs: 10_000,
      stopSignal: 'SIGTERM',
    });
  const server = await keepRestartable(start, { afterwards: owned.remove });
  return {
    url: `mqtt://127.0.0.1:${port}`,
    port,
    directory,
    ...server,
  };
}
