// A RabbitMQ of our own in a temporary directory, with an epmd of its own (Erlang's would stay behind for ever).
// Start takes about nine seconds: share one where a test does not break it.
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../free-port.ts';
import { keepRestartable, ownDirectory, startProcess, type TestServer } from './server-process.ts';

export interface RabbitmqUser {
  name: string;
  password: string;
  tags?: string[];
  /** Regular expressions for vhost `/`; absent: everything. */
  permissions?: { configure: string; write: string; read: string };
}

export interface RabbitmqOptions {
  /** More lines for rabbitmq.conf, for example auth_backends. */
  config?: string;
  /** `rabbitmq_mqtt` gets a port of its own. Absent: rabbitmq_mqtt. */
  plugins?: string[];
  /** The first one's name and password stand in the addresses. Absent: the administrator tillgate, password tillgate. */
  users?: RabbitmqUser[];
}

export interface RabbitmqServer extends TestServer {
  readonly url: string;
  readonly port: number;
  /** Of the MQTT plugin. */
  readonly mqttUrl: string;
  readonly mqttPort: number;
}

/** The real start script: the one on the PATH insists on the user `rabbitmq`. */
export function rabbitmqScript(): string | undefined {
  return ['/usr/lib/rabbitmq/bin/rabbitmq-server', '/opt/homebrew/sbin/rabbitmq-server', '/usr/local/sbin/rabbitmq-server'].find(
    existsSync,
  );
}

const everything = { configure: '.*', write: '.*', read: '.*' };
const administrator: RabbitmqUser = { name: 'tillgate', password: 'tillgate', tags: ['administrator'] };

function definitions(users: RabbitmqUser[]): string {
  return JSON.stringify({
    vhosts: [{ name: '/' }],
    users: users.map(({ name, password, tags = [] }) => ({ name, password, tags })),
    permissions: users.map(({ name, permissions = everything }) => ({ user: name, vhost: '/', ...permissions })),
  });
}

export async function startRabbitmq(options: RabbitmqOptions = {}): Promise<RabbitmqServer> {
  const script = rabbitmqScript();
  if (!script) throw new Error('RabbitMQ is not installed.');
  const { plugins = ['rabbitmq_mqtt'], users = [administrator] } = options;
  const directory = mkdtempSync(join(tmpdir(), 'tillgate-rabbitmq-'));
  const owned = ownDirectory(directory);
  const [port, mqttPort, distributionPort, epmdPort] = [await freePort(), await freePort(), await freePort(), await freePort()];
  for (const name of ['mnesia', 'log']) mkdirSync(join(directory, name));
  writeFileSync(join(directory, 'definitions.json'), definitions(users));
  writeFileSync(join(directory, 'enabled_plugins'), `[${plugins.join(',')}].\n`);
  writeFileSync(
    join(directory, 'rabbitmq.conf'),
    [
      `listeners.tcp.1 = 127.0.0.1:${port}`,
      `load_definitions = ${join(directory, 'definitions.json')}`,
      // No bounds or stores here: what deploy/rabbitmq.conf promises must come from that file, or its tests would show nothing.
      ...(plugins.includes('rabbitmq_mqtt') ? [`mqtt.listeners.tcp.1 = 127.0.0.1:${mqttPort}`, 'mqtt.allow_anonymous = false'] : []),
      options.config ?? '',
      '',
    ].join('\n'),
  );

  const epmdEnv = { ERL_EPMD_PORT: String(epmdPort), ERL_EPMD_ADDRESS: '127.0.0.1' };
  const epmd = await startProcess({
    name: 'epmd',
    command: 'epmd',
    args: ['-port', String(epmdPort), '-address', '127.0.0.1'],
    cwd: directory,
    readyPort: epmdPort,
    readyWithinMs: 5_000,
    stopSignal: 'SIGTERM',
  });
  const start = () =>
    startProcess({
      name: 'RabbitMQ',
      command: script,
      args: [],
      cwd: directory,
      env: {
        ...epmdEnv,
        HOME: directory,
        LANG: 'C.UTF-8',
        // Makes the start script turn into the Erlang process, so that signals and kill -9 reach the server itself.
        RUNNING_UNDER_SYSTEMD: 'true',
        RABBITMQ_NODENAME: `tillgate${port}@localhost`,
        RABBITMQ_MNESIA_BASE: join(directory, 'mnesia'),
        RABBITMQ_LOG_BASE: join(directory, 'log'),
        RABBITMQ_LOGS: '-',
        RABBITMQ_CONFIG_FILE: join(directory, 'rabbitmq.conf'),
        RABBITMQ_ENABLED_PLUGINS_FILE: join(directory, 'enabled_plugins'),
        RABBITMQ_PID_FILE: join(directory, 'pid'),
        RABBITMQ_DIST_PORT: String(distributionPort),
        RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
      },
      readyLine: /Server startup complete/,
      // Some seconds; but two minutes where ten processes want each core.
      readyWithinMs: 150_000,
      stopSignal: 'SIGTERM',
    });
  const server = await keepRestartable(start, { afterwards: () => epmd.stop().then(owned.remove) });
  const login = users[0] ? `${encodeURIComponent(users[0].name)}:${encodeURIComponent(users[0].password)}@` : '';
  return {
    url: `amqp://${login}127.0.0.1:${port}`,
    port,
    mqttUrl: `mqtt://${login}127.0.0.1:${mqttPort}`,
    mqttPort,
    ...server,
    // With open connections an orderly end takes six seconds, for data that is removed.
    async stop() {
      await server.kill9();
      await server.stop();
    },
  };
}
