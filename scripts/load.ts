// Load at full size: `npm run load`. 1,000 payments open at once, 10,000 devices, 10,000 slow sockets, a dead ERP among a hundred, 2,000
// dead ones, floods from one address, and mixed load with flat memory. Each scene has its own gateway; exit code 1 when a bound is broken. CI runs `--short`.
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { startMosquitto } from '../test/support/servers/mosquitto.ts';
import { floods } from './load/floods-scene.ts';
import { deadErp, manyDeadErps, mixedLoad } from './load/long-scenes.ts';
import { isKept, type SceneResult } from './load/measure.ts';
import { manyDevices, openPays, type SceneOptions, slowSockets } from './load/scenes.ts';

const usage = `npm run load -- [--only LIST] [--minutes N] [--short] [--json]
  --only LIST   of pays, devices, mosquitto, sockets, erp, erps, floods, mixed (all of them)
  --minutes N   of mixed load (60)
  --short       a tenth or less of everything, in seconds
  --json        the results as JSON, on standard output; progress goes to standard error
Needs 20,000 open files a process: ulimit -n 20000, or LimitNOFILE in systemd.`;

const scenes: Record<string, (options: SceneOptions) => Promise<SceneResult>> = {
  pays: openPays,
  devices: manyDevices,
  mosquitto: manyDevices,
  sockets: slowSockets,
  erp: deadErp,
  erps: manyDeadErps,
  floods,
  mixed: mixedLoad,
};

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: Object.keys(scenes).join(',') },
    minutes: { type: 'string', default: '60' },
    short: { type: 'boolean', default: false },
    json: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  },
});
if (values.help) {
  console.log(usage);
  process.exit(0);
}
const names = values.only.split(',');
const unknown = names.filter((name) => !(name in scenes));
if (unknown.length > 0) {
  console.error(`--only ${unknown.join(', ')}: take from ${Object.keys(scenes).join(', ')}.`);
  process.exit(2);
}

function asText({ scene, seconds, figures, checks }: SceneResult): string {
  const lines = Object.entries(figures).map(([what, value]) => `  ${String(value).padStart(8)}  ${what}`);
  const broken = checks.filter((check) => !isKept(check));
  const complaints = broken.map(
    ({ what, value, atMost, exactly }) => `  BROKEN: ${what} is ${value}, not ${exactly ?? `at most ${atMost}`}`,
  );
  return [`${scene} (${Math.round(seconds)} s)`, ...lines, ...complaints].join('\n');
}

const results: SceneResult[] = [];
for (const name of names) {
  const say = (line: string) => console.error(`[${name}] ${line}`);
  say('begins');
  const mosquitto = name === 'mosquitto' ? await startMosquitto() : undefined;
  const options = { isShort: values.short, minutes: Number(values.minutes), mqttUrl: mosquitto?.url, say };
  const result = await scenes[name]?.(options);
  await mosquitto?.stop();
  if (!result) continue;
  results.push(result);
  console.error(asText(result));
}
const machine = `${cpus().length} cores, ${cpus()[0]?.model.trim() ?? 'unknown'}, Node ${process.version}`;
const date = new Date().toISOString();
console.log(
  values.json
    ? JSON.stringify({ date, machine, results }, undefined, 2)
    : `\n${date.slice(0, 10)}, ${machine}\n${results.map(asText).join('\n')}`,
);
process.exit(results.every(({ checks }) => checks.every(isKept)) ? 0 : 1);
