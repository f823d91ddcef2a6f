// The servers of the tests: those that the variables name, otherwise our own in temporary directories on free ports,
// installed with apt if they are missing. Shared by `npm test` and `npm run servers`.
import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { chromiumPath } from '../test/support/servers/chromium.ts';
import { startMosquitto } from '../test/support/servers/mosquitto.ts';
import { postgresBinaries, startPostgres } from '../test/support/servers/postgres.ts';
import { rabbitmqScript, startRabbitmq } from '../test/support/servers/rabbitmq.ts';
import { isRoot } from '../test/support/servers/server-process.ts';
import type { AbsentServer } from './test-selection.ts';

const run = promisify(execFile);

type Variables = Record<string, string>;

interface NeededServer extends AbsentServer {
  aptPackage: string;
  variables: string[];
  isInstalled(): boolean;
  start(): Promise<{ variables: Variables; stop(): Promise<void> }>;
}

export interface RunningServers {
  /** For the environment of the tests. */
  variables: Variables;
  /** What could not be installed, and why. */
  absent: readonly AbsentServer[];
  whyAbsent: string;
  stop(): Promise<void>;
}

/** Shown to the user as one sentence, without a stack trace. */
export class ServersMissing extends Error {}

const mosquittoPlaces = ['/usr/sbin/mosquitto', '/usr/local/sbin/mosquitto', '/opt/homebrew/sbin/mosquitto'];

export const neededServers: readonly NeededServer[] = [
  {
    name: 'PostgreSQL',
    sign: /postgres/i,
    aptPackage: 'postgresql',
    variables: ['TILLGATE_TEST_POSTGRES_URL'],
    isInstalled: () => postgresBinaries() !== undefined,
    async start() {
      // Hundreds of short-lived databases would keep the autovacuum busy; what it finds changes the statistics that plans depend on.
      const server = await startPostgres({ settings: { autovacuum: 'off', jit: 'off' } });
      return { variables: { TILLGATE_TEST_POSTGRES_URL: server.url }, stop: server.stop };
    },
  },
  {
    name: 'RabbitMQ',
    sign: /rabbitmq/i,
    aptPackage: 'rabbitmq-server',
    variables: ['TILLGATE_TEST_RABBITMQ_URL', 'TILLGATE_TEST_RABBITMQ_MQTT_URL'],
    isInstalled: () => rabbitmqScript() !== undefined,
    async start() {
      const server = await startRabbitmq();
      return { variables: { TILLGATE_TEST_RABBITMQ_URL: server.url, TILLGATE_TEST_RABBITMQ_MQTT_URL: server.mqttUrl }, stop: server.stop };
    },
  },
  {
    name: 'Mosquitto',
    sign: /mosquitto/i,
    aptPackage: 'mosquitto',
    variables: ['TILLGATE_TEST_MOSQUITTO_URL'],
    isInstalled: () => mosquittoPlaces.some(existsSync),
    async start() {
      const server = await startMosquitto();
      return { variables: { TILLGATE_TEST_MOSQUITTO_URL: server.url }, stop: server.stop };
    },
  },
  {
    name: 'Chromium',
    sign: /chromium/i,
    aptPackage: 'chromium-headless-shell',
    variables: ['TILLGATE_TEST_CHROMIUM'],
    isInstalled: () => chromiumPath() !== undefined,
    // A program, not a server: the browser tests start it themselves.
    async start() {
      return { variables: { TILLGATE_TEST_CHROMIUM: chromiumPath() ?? '' }, async stop() {} };
    },
  },
  program('curl', 'curl'),
  program('php', 'php-cli'),
  // openapi-generator is a Java program, and its clients in PHP use Guzzle and mbstring.
  program('javac', 'default-jdk-headless'),
  { ...program('Guzzle', 'php-guzzlehttp-guzzle'), isInstalled: () => existsSync('/usr/share/php/GuzzleHttp/autoload.php') },
  {
    ...program('mbstring', 'php-mbstring'),
    isInstalled: () => spawnSync('php', ['-r', 'exit((int) !extension_loaded("mbstring"));']).status === 0,
  },
  program('ps', 'procps'),
  { ...program('nginx', 'nginx-light'), isInstalled: () => ['/usr/sbin/nginx', '/usr/local/sbin/nginx'].some(existsSync) },
  // promtool comes with it.
  program('prometheus', 'prometheus'),
  program('systemd-analyze', 'systemd'),
  pythonModule('setuptools'),
  pythonModule('wheel'),
  pythonModule('paho.mqtt.client', 'python3-paho-mqtt'),
  pythonModule('pika'),
];

/** Commands that the tests use and a bare machine lacks. */
function program(name: string, aptPackage: string): NeededServer {
  return {
    name,
    sign: new RegExp(`\\b${name === 'prometheus' ? 'prometheus|promtool' : name}\\b`, 'i'),
    aptPackage,
    variables: [],
    isInstalled: () => (process.env['PATH'] ?? '').split(':').some((place) => existsSync(`${place}/${name}`)),
    start: async () => ({ variables: {}, async stop() {} }),
  };
}

/** The tools that build the Python client's wheel, and the libraries of the Python device, for the system's own Python. */
function pythonModule(name: string, aptPackage = `python3-${name}`): NeededServer {
  return {
    name: `Python's ${name}`,
    sign: /python/i,
    aptPackage,
    variables: [],
    isInstalled: () => spawnSync('/usr/bin/python3', ['-c', `import ${name}`]).status === 0,
    start: async () => ({ variables: {}, async stop() {} }),
  };
}

export const serverVariables = neededServers.flatMap((server) => server.variables);

function missing(servers: readonly NeededServer[], problem: string): ServersMissing {
  const names = servers.map((server) => server.name).join(', ');
  const variables = servers.flatMap((server) => server.variables).join(', ');
  const orPoint = variables === '' ? '' : `, or set ${variables} to running ones`;
  return new ServersMissing(
    `${names} cannot be installed here (${problem}): install by hand${orPoint}, or use \`npm run test:embedded\`, which needs no server.`,
  );
}

/** The first tests run meanwhile [D260]. */
async function aptGet(args: readonly string[], say: (line: string) => void): Promise<'done' | 'failed' | 'no apt-get'> {
  say(`apt-get ${args.join(' ')}`);
  try {
    await run('apt-get', ['-qq', ...args], { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }, maxBuffer: 2 ** 26 });
    return 'done';
  } catch (error) {
    const { code, stderr = '' } = error as { code?: unknown; stderr?: string };
    if (code === 'ENOENT') return 'no apt-get';
    process.stderr.write(stderr);
    return 'failed';
  }
}

/** Returns why some are still absent, if they are. */
async function install(servers: readonly NeededServer[], say: (line: string) => void): Promise<string> {
  if (!isRoot) return 'not root';
  // After a failed update the old lists may suffice; the install decides.
  if ((await aptGet(['update'], say)) === 'no apt-get') return 'no apt-get';
  const installing = (some: readonly NeededServer[]) =>
    aptGet(['install', '-y', '--no-install-recommends', ...some.map(({ aptPackage }) => aptPackage)], say);
  // One unavailable package prevents apt from installing the others with it.
  if ((await installing(servers)) === 'failed' && servers.length > 1) for (const server of servers) await installing([server]);
  return 'apt-get install failed';
}

export interface ServerOptions {
  /** Those with these names; not set: all that the tests need. */
  names?: readonly string[];
  /** The result lists missing servers, instead of throwing ServersMissing. */
  mayBeAbsent?: boolean;
}

export async function provideServers(
  say: (line: string) => void,
  { names, mayBeAbsent = false }: ServerOptions = {},
): Promise<RunningServers> {
  const needed = neededServers.filter(({ name }) => names?.includes(name) ?? true);
  const toStart = needed.filter(({ variables }) => variables.length === 0 || variables.some((name) => !process.env[name]));
  for (const server of needed) if (!toStart.includes(server)) say(`${server.name}: as given in ${server.variables.join(', ')}`);
  const lacking = toStart.filter((server) => !server.isInstalled());
  const whyAbsent = lacking.length > 0 ? await install(lacking, say) : '';
  const absent = lacking.filter((server) => !server.isInstalled());
  if (absent.length > 0 && !mayBeAbsent) throw missing(absent, whyAbsent);
  const own = toStart.filter((server) => !absent.includes(server));

  const started: { stop(): Promise<void> }[] = [];
  const stop = async () => {
    await Promise.all(started.map((server) => server.stop()));
  };
  const variables: Variables = {};
  const results = await Promise.allSettled(
    own.map(async (server) => {
      const startedAt = performance.now();
      // Another process may have taken the port that was free a moment ago.
      const running = await server.start().catch((failure: unknown) => {
        say(`${server.name} did not start, and is tried once more: ${String(failure).slice(0, 300)}`);
        return server.start();
      });
      started.push(running);
      Object.assign(variables, running.variables);
      if (server.variables.length > 0) say(`${server.name}: ready after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
    }),
  );
  const failure = results.find((result) => result.status === 'rejected');
  if (failure) {
    await stop();
    throw failure.reason;
  }
  return { variables, absent, whyAbsent, stop };
}
