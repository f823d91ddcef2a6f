// An nginx of our own with the file that is shipped in deploy/, without its certificate and on a free port.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
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

function certificateIn(directory: string, { cert, key }: { cert: string; key: string }): [RegExp, string][] {
  writeFileSync(join(directory, 'tls.pem'), cert);
  writeFileSync(join(directory, 'tls.key'), key);
  return [[/\/etc\/ssl\/pay\.example\.md\./g, `${directory}/tls.`]];
}

export interface NginxServer {
  url: string;
  /** Of the listener at which RabbitMQ asks about devices. */
  authPort: number;
  /** All that it has logged. */
  logs(): string;
  stop(): Promise<void>;
}

/** `upstreams`: ports of the gateways on 127.0.0.1. With a certificate it speaks HTTPS. */
export async function startNginx(upstreams: number[], tls?: { cert: string; key: string }): Promise<NginxServer> {
  const directory = mkdtempSync(join(tmpdir(), 'tillgate-nginx-'));
  const owned = ownDirectory(directory);
  const [port, authPort] = [await freePort(), await freePort()];
  mkdirSync(join(directory, 'temp'));
  const server = changed(shipped, [
    [/server 127\.0\.0\.1:8080( [^;]*);/g, upstreams.map((each) => `server 127.0.0.1:${each}$1;`).join(' ')],
    [/listen 127\.0\.0\.1:8081;/g, `listen 127.0.0.1:${authPort};`],
    [/listen 443 ssl;/g, `listen 127.0.0.1:${port}${tls ? ' ssl' : ''};`],
    ...(tls ? certificateIn(directory, tls) : ([[/^ *ssl_certificate.*$/gm, '']] as [RegExp, string][])),
    [/\/var\/log\/nginx\//g, `${directory}/`],
  ]);
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${directory}/temp/${kind};`);
  const lines = [
    ...(isRoot ? ['user root;'] : []),
    'daemon off;',
    `pid ${directory}/nginx.pid;`,
    `error_log ${directory}/main-error.log;`,
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
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}/tillgate`,
    authPort,
    logs: () =>
      readdirSync(directory)
        .filter((name) => name.endsWith('.log'))
        .map((name) => readFileSync(join(directory, name), 'utf8'))
        .join(''),
    async stop() {
      await nginx.stop();
      owned.remove();
    },
  };
}
