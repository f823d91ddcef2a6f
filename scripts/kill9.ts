// The kill -9 series of test/faults at full length: `npm run kill9 -- --victims gateway --rounds 200 --seed 7`.
// One series after the other: the victims between commas take turns in one series; `--victims gateway --victims postgres` are two series.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { SeriesResult } from '../test/faults/kill-series.ts';
import { core, coreVariables } from '../test/support/core.ts';

const usage = `npm run kill9 -- [--victims LIST]... [--rounds N] [--seed N] [--core new] [--json]
  --victims LIST  who is killed, in turns; again for a series of its own. Embedded: gateway, moments (the gateway at named moments),
                  terminal, register. On real servers, with two gateways behind one proxy: postgres, failover (the primary of a synchronous
                  pair, whose standby takes over), mosquitto, rabbitmq, either (one of the two gateways), either-moments
  --rounds N      kills in each series (200)
  --seed N        of the tills' amounts and the pauses
  --core new      on the new money core (src/money); the old one unless given
  --json          the summary as JSON, on standard output; progress goes to standard error`;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '200' },
    victims: { type: 'string', multiple: true, default: ['gateway'] },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    core: { type: 'string', default: core },
    json: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  },
});
if (values.help) {
  console.log(usage);
  process.exit(0);
}

const cores = coreVariables(values.core);
const embedded = ['gateway', 'moments', 'terminal', 'register'];
const onServers = ['postgres', 'failover', 'mosquitto', 'rabbitmq', 'either', 'either-moments'];

function testFileOf(victims: string): string {
  const names = victims.split(',');
  if (names.every((name) => embedded.includes(name))) return 'test/faults/kill-series.test.ts';
  if (names.every((name) => onServers.includes(name))) return 'test/faults/kill-series.server.test.ts';
  console.error(`--victims ${victims}: take from ${embedded.join(', ')}, or from ${onServers.join(', ')}; not from both at once.`);
  process.exit(2);
}

interface Run {
  victims: string;
  seed: string;
  isGood: boolean;
  result: SeriesResult | undefined;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'tillgate-kill9-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));

function runSeries(victims: string, at: number): Promise<Run> {
  const resultFile = join(directory, `${at}.json`);
  console.error(`${values.rounds} kills of ${victims}, seed ${values.seed}, ${values.core} core`);
  const args = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', testFileOf(victims), '--disable-console-intercept'];
  const child = spawn(process.execPath, args, {
    cwd: root,
    stdio: ['ignore', process.stderr, process.stderr],
    env: {
      ...process.env,
      ...cores,
      TILLGATE_TEST_KILL_ROUNDS: values.rounds,
      TILLGATE_TEST_KILL_VICTIMS: victims,
      TILLGATE_TEST_KILL_SEED: values.seed,
      TILLGATE_TEST_KILL_RESULT: resultFile,
    },
  });
  return new Promise((resolve) => {
    child.once('exit', (code) => {
      const result = existsSync(resultFile) ? (JSON.parse(readFileSync(resultFile, 'utf8')) as SeriesResult) : undefined;
      resolve({ victims, seed: values.seed, isGood: code === 0 && result !== undefined, result });
    });
  });
}

function lineOf({ victims, isGood, result }: Run): string {
  if (!result) return `${victims}: FAILED`;
  const { kills, payments, receipts, invoices, callbacks, byKeyAlone, repeatedByKeyAlone, unanswered, lost, doubled, seconds } = result;
  const sales = `${payments} card payments, ${receipts} receipts, ${invoices} invoices, ${callbacks} callbacks`;
  const keys = `${byKeyAlone} operations named by a key alone, ${repeatedByKeyAlone} of them repeated`;
  const verdict = isGood ? '' : ', FAILED';
  return `${victims}: ${kills} kills in ${(seconds / 60).toFixed(1)} min; ${sales}; ${keys}; ${unanswered} calls repeated; lost ${lost}, doubled ${doubled}${verdict}`;
}

for (const victims of values.victims) testFileOf(victims);
const runs: Run[] = [];
for (const [at, victims] of values.victims.entries()) runs.push(await runSeries(victims, at));
const machine = `${cpus().length} cores, ${cpus()[0]?.model.trim() ?? 'unknown'}, Node ${process.version}`;
if (values.json) console.log(JSON.stringify({ date: new Date().toISOString(), machine, core: values.core, runs }, undefined, 2));
else {
  console.log(`\n${new Date().toISOString().slice(0, 10)}, ${values.core} core, ${machine}`);
  for (const run of runs) {
    console.log(lineOf(run));
    for (const [what, count] of Object.entries(run.result?.killsOf ?? {})) console.log(`  ${String(count).padStart(4)} ${what}`);
  }
}
process.exit(runs.every(({ isGood }) => isGood) ? 0 : 1);
