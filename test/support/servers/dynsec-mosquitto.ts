// A Mosquitto with its dynamic security plugin, by the file that is shipped and the commands that docs/operating.md shows.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type MosquittoServer, startMosquitto } from './mosquitto.ts';

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
const plugin = ['aarch64-linux-gnu', 'x86_64-linux-gnu', '']
  .map((folder) => join('/usr/lib', folder, 'mosquitto_dynamic_security.so'))
  .find((path) => existsSync(path));

/** The commands of the page, as they stand: the first makes the file, the others the gateway's login. */
function shownCommands(): string[] {
  const block = read('docs/operating.md').match(/<!-- mosquitto: run by a test -->\n```sh\n(.*?)```/s)?.[1];
  if (block === undefined) throw new Error('docs/operating.md shows no commands for Mosquitto any more.');
  return block.split('\n').filter((line) => line !== '');
}

export interface DynsecMosquitto extends MosquittoServer {
  /** TILLGATE_MQTT_URL and TILLGATE_MOSQUITTO_ADMIN_URL. */
  gatewayUrl: string;
  adminUrl: string;
  /** As if the file with all logins were lost: what the page shows is done anew. */
  loseState(): Promise<void>;
}

export async function startDynsecMosquitto(): Promise<DynsecMosquitto> {
  if (plugin === undefined) throw new Error("Mosquitto's dynamic security plugin is not installed.");
  const config = read('deploy/mosquitto-dynsec.conf')
    .split('\n')
    .filter((line) => !/^(listener|persistence|log_dest|set_tcp_nodelay)\b/.test(line))
    .join('\n')
    .replace(/^plugin .*$/m, `plugin ${plugin}`)
    .replaceAll('/mosquitto/data', '{directory}');
  // The plugin needs a file to begin with; the commands make it anew.
  const server = await startMosquitto({ config, files: { 'dynamic-security.json': '{}' } });
  const state = join(server.directory, 'dynamic-security.json');
  const passwords = { ADMIN_PASSWORD: 'the admin of the test', GATEWAY_PASSWORD: 'the gateway of the test' };

  async function setUp(): Promise<void> {
    const script = shownCommands().join('\n').replaceAll('/mosquitto/data', server.directory).replaceAll('-p 1883', `-p ${server.port}`);
    const [init = '', ...rest] = script.split('\n');
    const run = (text: string) =>
      execFileSync('sh', ['-e', '-c', text], { stdio: 'pipe', env: { ...process.env, ...passwords, BROKER: '127.0.0.1' } });
    await server.kill9();
    rmSync(state, { force: true });
    run(init);
    await server.restart();
    run(rest.join('\n'));
  }
  await setUp();
  const urlOf = (user: string, password: string) => server.url.replace('mqtt://', `mqtt://${user}:${encodeURIComponent(password)}@`);
  return {
    ...server,
    gatewayUrl: urlOf('tillgate', passwords.GATEWAY_PASSWORD),
    adminUrl: urlOf('admin', passwords.ADMIN_PASSWORD),
    loseState: setUp,
  };
}
