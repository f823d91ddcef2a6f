// `npm run bench`: compares Tillgate with a typical alternative and with the raw limits, all in one run, alternating.
import { readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { ServersMissing } from '../scripts/test-servers.ts';
import { packProgram } from '../test/support/packed-program.ts';
import { type Bench, type Form, openBench, plans } from './bench.ts';
import { callbackRows } from './callbacks-compared.ts';
import { coreRows } from './cores.ts';
import { connectedDevices, storedRows, twoGateways } from './growth.ts';
import { onePayRows } from './one-pay.ts';
import { asMarkdown } from './page.ts';
import { complaintsOf, type Recorded, toRecord } from './recorded.ts';
import { asChart, asText, currentCommit, describeMachine, type Row, type Run } from './report.ts';
import { restRows } from './rest.ts';
import { commandRows, invoiceRows, queueCommandRows } from './works-compared.ts';

/** In this order; the quick form has only the first ones. */
const parts: { name: string; isQuick: boolean; run(bench: Bench): Promise<Row[]> }[] = [
  { name: 'rest', isQuick: true, run: restRows },
  { name: 'commands', isQuick: true, run: commandRows },
  { name: 'invoices', isQuick: true, run: invoiceRows },
  { name: 'cores', isQuick: false, run: coreRows },
  { name: 'pay', isQuick: false, run: onePayRows },
  { name: 'callbacks', isQuick: true, run: callbackRows },
  { name: 'rabbitmq', isQuick: false, run: queueCommandRows },
  { name: 'gateways', isQuick: false, run: twoGateways },
  { name: 'rows', isQuick: false, run: storedRows },
  { name: 'devices', isQuick: false, run: connectedDevices },
];

const usage = `npm run bench -- [--quick | --full] [--no-peers] [--only LIST] [--json] [--record] [--check] [--page FILE]
  Measures everything in about ten minutes and writes docs/benchmarks.md; installs the peers into a temporary directory the first time.
  --quick      ${parts
    .filter(({ isQuick }) => isQuick)
    .map(({ name }) => name)
    .join(', ')} in short rounds, about a minute
  --full       more rounds, and 10,000,000 stored rows on PostgreSQL: an hour or more
  --no-peers   beside the raw parts alone: needs no network
  --only LIST  of ${parts.map(({ name }) => name).join(', ')}
  --json       print the run as JSON on standard output; progress goes to standard error
  --record     write the processor time of a call, beside a bare route's, to bench/recorded.json
  --check      exit code 1 when a call costs more than three times what is recorded
  --page FILE  measure nothing: write docs/benchmarks.md from a run that was printed by --json; give it again for runs with --only,
               which stand in place of the same parts
The page is written by a run with peers that left nothing out. Needs 20,000 open files a process for devices: ulimit -n 20000.`;

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean' },
    full: { type: 'boolean' },
    'no-peers': { type: 'boolean' },
    only: { type: 'string' },
    json: { type: 'boolean' },
    record: { type: 'boolean' },
    check: { type: 'boolean' },
    page: { type: 'string', multiple: true },
    help: { type: 'boolean', short: 'h' },
  },
});

const file = (path: string) => new URL(path, import.meta.url);
const say = (line: string) => console.error(`[bench ${Math.round(performance.now() / 1000)} s] ${line}`);

function wanted() {
  const names = values.only?.split(',');
  const unknown = names?.filter((name) => !parts.some((part) => part.name === name)) ?? [];
  if (unknown.length > 0) throw new RangeError(`--only ${unknown.join(', ')}: take from ${parts.map(({ name }) => name).join(', ')}.`);
  return parts.filter(({ name, isQuick }) => names?.includes(name) ?? (isQuick || !values.quick));
}

async function measure(form: Form): Promise<Run> {
  const chosen = wanted();
  const [loadBefore = 0] = loadavg();
  // The installed package [D126]. The quick form is compared with itself, and saves the time.
  if (form !== 'quick') process.env['TILLGATE_TEST_PROGRAM'] = (await packProgram()).program;
  const withRabbitmq = chosen.some(({ name }) => name === 'rabbitmq');
  const bench = await openBench(form, values['no-peers'] !== true, withRabbitmq, say);
  const rows: Row[] = [];
  try {
    for (const part of chosen) rows.push(...(await part.run(bench)));
  } finally {
    await bench.stop();
  }
  const minutes = performance.now() / 60_000;
  const date = new Date().toISOString().slice(0, 10);
  return { date, commit: currentCommit(), machine: describeMachine(), loadBefore, minutes, form, rounds: plans[form].rounds, rows };
}

function writePage(run: Run, parts: Run[] = []): void {
  writeFileSync(file('../docs/benchmarks.md'), asMarkdown(run, parts));
  say('docs/benchmarks.md is written');
}

async function main(): Promise<number> {
  if (values.help) {
    console.log(usage);
    return 0;
  }
  if (values.page !== undefined) {
    const [whole, ...parts] = values.page.map((path) => JSON.parse(readFileSync(path, 'utf8')) as Run);
    if (whole) writePage(whole, parts);
    return 0;
  }
  const run = await measure(values.quick ? 'quick' : values.full ? 'full' : 'usual');
  console.log(values.json ? JSON.stringify(run, undefined, 2) : `${asText(run.rows)}\n\n${asChart(run.rows)}`);
  if (!values.quick && !values['no-peers'] && values.only === undefined) writePage(run);
  if (values.record) writeFileSync(file('recorded.json'), `${JSON.stringify(toRecord(run.rows), undefined, 2)}\n`);
  if (!values.check) return 0;
  const complaints = complaintsOf(run.rows, JSON.parse(readFileSync(file('recorded.json'), 'utf8')) as Recorded);
  for (const complaint of complaints) console.error(complaint);
  return complaints.length === 0 ? 0 : 1;
}

try {
  process.exit(await main());
} catch (error) {
  const isSentence = error instanceof ServersMissing || error instanceof RangeError;
  console.error(isSentence ? error.message : error);
  process.exit(isSentence && error instanceof RangeError ? 2 : 1);
}
