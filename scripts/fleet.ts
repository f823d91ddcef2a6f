// The cost of a fleet: `npm run fleet -- --devices 10000 --gateways 2`. Gateways are processes on their own database, each device has its
// own connection and login. Measures idle cost, memory, and the p99 of a payment while all devices log in again at once.
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import type { BrokerName } from './load/fleet-brokers.ts';
import { runFleet } from './load/fleet-scene.ts';
import { isKept } from './load/measure.ts';

const usage = `npm run fleet -- [--devices N] [--gateways N] [--broker NAME] [--short] [--json]
  --devices N    that do nothing but say that they are there (5000)
  --gateways N   (2)
  --broker NAME  mosquitto or rabbitmq, one of its own for the run (mosquitto)
  --short        less than a minute; with few devices
  --json         the result as JSON, on standard output; progress goes to standard error
Needs TILLGATE_TEST_POSTGRES_URL and TILLGATE_TEST_RABBITMQ_URL (npm run servers prints them), and an open-file limit above the number of
devices (ulimit -n). Exit code 1 when a payment failed or a bound was broken.`;

const { values } = parseArgs({
  options: {
    devices: { type: 'string' },
    gateways: { type: 'string', default: '2' },
    broker: { type: 'string', default: 'mosquitto' },
    short: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h' },
  },
});
if (values.help) {
  console.log(usage);
  process.exit(0);
}

function server(name: string): string {
  const url = process.env[name];
  if (url === undefined) throw new Error(`${name} is not set: npm run servers prints it.`);
  return url;
}

function wholeNumber(option: string, text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new Error(`${option} takes a whole number above 0.`);
  return Number(text);
}

function brokerNamed(text: string): BrokerName {
  if (text === 'mosquitto' || text === 'rabbitmq') return text;
  throw new Error('--broker is mosquitto or rabbitmq.');
}

const { scene, seconds, figures, checks } = await runFleet({
  devices: wholeNumber('--devices', values.devices ?? (values.short ? '300' : '5000')),
  gateways: wholeNumber('--gateways', values.gateways),
  broker: brokerNamed(values.broker),
  postgresUrl: server('TILLGATE_TEST_POSTGRES_URL'),
  rabbitmqUrl: server('TILLGATE_TEST_RABBITMQ_URL'),
  isShort: values.short,
  say: (line) => console.error(line),
});
const broken = checks.filter((check) => !isKept(check));
if (values.json) console.log(JSON.stringify({ scene, seconds, figures, checks }));
else {
  console.log(`${scene} (${Math.round(seconds)} s, load of the machine ${loadavg()[0]?.toFixed(1)})`);
  for (const [what, value] of Object.entries(figures)) console.log(`  ${String(value).padStart(8)}  ${what}`);
  for (const { what, value, atMost, exactly } of broken)
    console.log(`  BROKEN: ${what} is ${value}, not ${exactly ?? `at most ${atMost}`}`);
}
process.exit(broken.length === 0 ? 0 : 1);
