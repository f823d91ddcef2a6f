// A Prometheus of our own in a temporary directory, which scrapes one gateway every second; and promtool, which judges what a gateway says.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../free-port.ts';
import { ownDirectory, startProcess } from './server-process.ts';

export interface PrometheusServer {
  readonly url: string;
  /** The series that an expression gives at this moment. Fails when Prometheus does not understand it. */
  query(expression: string): Promise<{ metric: Record<string, string>; value: [number, string] }[]>;
  stop(): Promise<void>;
}

export async function startPrometheus(target: { baseUrl: string; token: string }): Promise<PrometheusServer> {
  const directory = mkdtempSync(join(tmpdir(), 'tillgate-prometheus-'));
  const owned = ownDirectory(directory);
  const port = await freePort();
  const { host, pathname } = new URL(target.baseUrl);
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s' },
    scrape_configs: [
      {
        job_name: 'tillgate',
        metrics_path: `${pathname}/metrics`,
        authorization: { credentials: target.token },
        static_configs: [{ targets: [host] }],
      },
    ],
  };
  // JSON is YAML.
  writeFileSync(join(directory, 'prometheus.yml'), JSON.stringify(config), { mode: 0o600 });
  const server = await startProcess({
    name: 'Prometheus',
    command: 'prometheus',
    args: [`--web.listen-address=127.0.0.1:${port}`, '--config.file=prometheus.yml', '--storage.tsdb.path=data'],
    cwd: directory,
    readyPort: port,
    readyWithinMs: 30_000,
    stopSignal: 'SIGTERM',
  });
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    async query(expression) {
      const response = await fetch(`${url}/api/v1/query`, { method: 'POST', body: new URLSearchParams({ query: expression }) });
      const answer = (await response.json()) as { status: string; error?: string; data?: { result: never[] } };
      if (answer.status !== 'success') throw new Error(`Prometheus refuses ${expression}: ${answer.error}`);
      return answer.data?.result ?? [];
    },
    async stop() {
      await server.stop();
      owned.remove();
    },
  };
}

/** What promtool has to say, and whether it is content. */
export function promtool(args: string[], input = '', cwd?: string): { isContent: boolean; said: string } {
  const { status, stdout, stderr, error } = spawnSync('promtool', args, { input, cwd, encoding: 'utf8' });
  if (error) throw error;
  return { isContent: status === 0, said: `${stdout}${stderr}` };
}
