// An nginx of our own with the file that is shipped in deploy/, without its certificate and on a free port.
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { freePort } from '../free-port.ts';
import { isRoot, ownDirectory, startProcess } from './server-process.ts';

const shipped = readFileSync(new URL('../../../deploy/nginx.conf', import.meta.url), 'utf8');
// Debian keeps daemons in /usr/sbin, which an ordinary user's PATH may lack.
const searchPath = [process.env['PATH'] ?? '', '/usr/sbin'].join(delimiter);

function changed(text: string, changes: [RegExp, string][]): string {
  return changes.reduce((rest, [pattern, replacement]) => {
    if (rest.search(pattern) < 0) throw new Error(`deploy/nginx.conf has no ${String(pattern)} any more.`);
    return rest.replaceAll(pattern, replacement);
  }, text);
}

export interface NginxServer {
  url: string;
  /** Of the listener at which RabbitMQ asks about devices. */
  authPort: number;
  stop(): Promise<void>;
}

/** `upstreams`: ports of the gateways on 127.0.0.1. */
export async function startNginx(upstreams: number[]): Promise<NginxServer> {
  const directory = mkdtempSync(join(tmpdir(), 'tillgate-nginx-'));
  const owned = ownDirectory(directory);
  const [port, authPort] = [await freePort(), await freePort()];
  mkdirSync(join(directory, 'temp'));
  const server = changed(shipped, [
    [/server 127\.0\.0\.1:8080( [^;]*);/g, upstreams.map((each) => `server 127.0.0.1:${each}$1;`).join(' ')],
    [/listen 127\.0\.0\.1:8081;/g, `listen 127.0.0.1:${authPort};`],
    [/listen 443 ssl;/g, `listen 127.0.0.1:${port};`],
    [/^ *ssl_certificate.*$/gm, ''],
    [/\/var\/log\/nginx\//g, `${directory}/`],
  ]);
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${directory}/temp/${kind};`);
  const lines = [
    ...(isRoot ? ['user root;'] : []),
    'daemon off;',
    `pid ${directory}/nginx.pid;`,
    'error_log stderr;',
    'events {}',
    `http { ${paths.join(' ')}\n${server}\n}`,
  ];
  writeFileSync(join(directory, 'nginx.conf'), lines.join('\n'));
  const nginx = await startProcess({
    name: 'nginx',
    command: 'nginx',
    args: ['-p', directory, '-c', 'nginx.conf'],
    env: { PATH: searchPath },
    cwd: directory,
    readyPort: port,
    readyWithinMs: 10_000,
    stopSignal: 'SIGTERM',
  });
  return {
    url: `http://127.0.0.1:${port}/tillgate`,
    authPort,
    async stop() {
      await nginx.stop();
      owned.remove();
    },
  };
}
