// `npm run bench`: Tillgate beside what a team would build instead, and beside the raw limits, all in one run, taking turns.
// --quick: under a minute, for CI: few short rounds; writes no page. --json: the rows as JSON on stdout. --only TEXT: works whose group has it.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { provideServers, ServersMissing } from '../scripts/test-servers.ts';
import { callbackDelays, callbacksPerSecond, type JobQueue, startJobQueue, startSink } from './callbacks.ts';
import { type Contender, startNest, startTillgate } from './contenders.ts';
import { type Measured, median, summarize } from './load.ts';
import { installPeers } from './peers.ts';
import { bareRoute, mqttRoundTrips, queueRoundTrips, type RawLimit, twoCommits } from './raw.ts';
import { asChart, asMarkdown, asText, describeMachine, type Row } from './report.ts';
import { deviceCommands, invoiceCalls, type Round, type Work } from './works.ts';

const usage = `npm run bench [-- --quick] [--json] [--only TEXT]
  --quick      short rounds, under a minute; does not write docs/benchmarks.md
  --json       print the rows as JSON
  --only TEXT  only the works whose group contains TEXT: commands, invoices, callbacks, rest`;

const { values } = parseArgs({
  options: { quick: { type: 'boolean' }, json: { type: 'boolean' }, only: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
});
if (values.help) {
  console.log(usage);
  process.exit(0);
}

const isQuick = values.quick === true;
const rounds = isQuick ? 1 : 5;
const forMs = isQuick ? 1_000 : 6_000;
const warmUpMs = isQuick ? 500 : 2_000;
const callbacks = isQuick ? 300 : 3_000;
const lanes = 64;
const say = (line: string) => console.error(`[bench] ${line}`);
const isWanted = (group: string) => values.only === undefined || group.includes(values.only);

/** Each of them once, then again in the other order, and so on: what the machine does meanwhile hits all alike. */
async function takeTurns<Name extends string>(
  contenders: Record<Name, () => Promise<Measured>>,
): Promise<Record<Name, { perSecond: number; p50Ms: number; p99Ms: number }>> {
  const names = Object.keys(contenders) as Name[];
  const seen = Object.fromEntries(names.map((name) => [name, [] as Measured[]])) as Record<Name, Measured[]>;
  for (let round = 0; round < rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : [...names].reverse()) seen[name].push(await contenders[name]());
  }
  const middle = (name: Name, of: 'perSecond' | 'p50Ms' | 'p99Ms') => median(seen[name].map((measured) => measured[of]));
  const result = names.map((name) => [
    name,
    { perSecond: middle(name, 'perSecond'), p50Ms: middle(name, 'p50Ms'), p99Ms: middle(name, 'p99Ms') },
  ]);
  return Object.fromEntries(result) as Record<Name, { perSecond: number; p50Ms: number; p99Ms: number }>;
}

const round = (inFlight: number): Round => ({ inFlight, forMs, warmUpMs });

async function compare(options: {
  group: string;
  work: Work;
  ours: Contender;
  nest: Contender;
  raw: { name: string; limit: RawLimit };
  goals: { many: number; one: number };
}): Promise<Row[]> {
  const { group, work, ours, nest, raw, goals } = options;
  const at = (inFlight: number) =>
    takeTurns({
      ours: () => work(ours, round(inFlight)),
      nest: () => work(nest, round(inFlight)),
      raw: () => raw.limit.run(round(inFlight)),
    });
  say(`${group}: ${lanes} in flight`);
  const many = await at(lanes);
  say(`${group}: one in flight`);
  const one = await at(1);
  const peer = (value: number) => ({ name: 'NestJS', value });
  const limit = (value: number) => ({ name: raw.name, value });
  return [
    {
      group,
      what: `${lanes} in flight`,
      unit: '/s',
      ours: many.ours.perSecond,
      peer: peer(many.nest.perSecond),
      raw: limit(many.raw.perSecond),
      goal: goals.many,
    },
    { group, what: `${lanes} in flight, p99`, unit: 'ms', ours: many.ours.p99Ms, peer: peer(many.nest.p99Ms), raw: limit(many.raw.p99Ms) },
    {
      group,
      what: 'one in flight, p50',
      unit: 'ms',
      ours: one.ours.p50Ms,
      peer: peer(one.nest.p50Ms),
      raw: limit(one.raw.p50Ms),
      goal: goals.one,
    },
  ];
}

async function compareCallbacks(group: string, ours: Contender, queues: JobQueue[]): Promise<Row[]> {
  const sink = await startSink();
  const rows: Row[] = [];
  say(`${group}: ${callbacks} of each`);
  const own: number[] = [];
  const theirs = queues.map(() => [] as number[]);
  for (let turn = 0; turn < rounds; turn += 1) {
    own.push(await callbacksPerSecond(ours, sink, callbacks));
    for (const [at, queue] of queues.entries()) theirs[at]?.push(await queue.perSecond(sink, callbacks));
  }
  for (const [at, { name }] of queues.entries()) {
    const peer = { name, value: median(theirs[at] ?? []) };
    rows.push({ group, what: `to one address, beside ${name}`, unit: '/s', ours: median(own), peer, goal: 1 });
  }
  const alone = summarize(await callbackDelays(ours, sink, isQuick ? 20 : 200), 1);
  rows.push({ group, what: 'arrival after the answer, idle, p50', unit: 'ms', ours: alone.p50Ms });
  rows.push({ group, what: 'arrival after the answer, idle, p99', unit: 'ms', ours: alone.p99Ms });
  sink.close();
  return rows;
}

function megabytesOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
}

function atRest(group: string, ours: Contender, nest: Contender): Row[] {
  return [
    { group, what: 'start to ready', unit: 'ms', ours: ours.readyAfterMs, peer: { name: 'NestJS', value: nest.readyAfterMs }, goal: 1 },
    { group, what: 'memory', unit: 'MB', ours: megabytesOf(ours.pid), peer: { name: 'NestJS', value: megabytesOf(nest.pid) }, goal: 1 },
  ];
}

async function run(): Promise<Row[]> {
  const peers = installPeers(say);
  const servers = await provideServers(say);
  const server = (name: string) => servers.variables[name] ?? process.env[name] ?? '';
  const postgresUrl = server('TILLGATE_TEST_POSTGRES_URL');
  const mqttUrl = server('TILLGATE_TEST_MOSQUITTO_URL');
  const queueUrl = server('TILLGATE_TEST_RABBITMQ_URL');
  const rows: Row[] = [];
  const running: { stop(): Promise<void> | void }[] = [servers];
  const keep = <Part extends { stop(): Promise<void> | void }>(part: Part): Part => {
    running.push(part);
    return part;
  };
  try {
    say('starting the contenders');
    const ours = keep(await startTillgate('Tillgate', lanes, { postgresUrl, mqttUrl }));
    const nest = keep(await startNest('NestJS', peers, lanes, { postgresUrl, brokerUrl: mqttUrl }));
    if (isWanted('at rest')) rows.push(...atRest('at rest', ours, nest));
    const mqttLimit = { name: 'bare MQTT', limit: keep(await mqttRoundTrips(mqttUrl)) };
    const routeLimit = { name: 'bare Fastify', limit: keep(await bareRoute()) };
    const goals = { commands: { many: 2.5, one: 1.1 }, invoices: { many: 3, one: 1.4 } };
    const embedded = keep(await startTillgate('embedded', lanes));
    const works = [
      { group: 'device commands, MQTT', work: deviceCommands, ours, nest, raw: mqttLimit, goals: goals.commands },
      { group: 'device commands, embedded', work: deviceCommands, ours: embedded, nest, raw: mqttLimit, goals: goals.commands },
      { group: 'invoices, PostgreSQL', work: invoiceCalls, ours, nest, raw: routeLimit, goals: goals.invoices },
      { group: 'invoices, embedded', work: invoiceCalls, ours: embedded, nest, raw: routeLimit, goals: goals.invoices },
    ];
    for (const work of works.filter(({ group }) => isWanted(group))) rows.push(...(await compare(work)));
    if (!isQuick && isWanted('device commands, RabbitMQ')) {
      const overQueue = keep(await startTillgate('Tillgate', lanes, { postgresUrl, queueUrl }));
      const nestOverQueue = keep(await startNest('NestJS', peers, lanes, { postgresUrl, brokerUrl: queueUrl }));
      const raw = { name: 'bare AMQP', limit: keep(await queueRoundTrips(queueUrl)) };
      const group = 'device commands, RabbitMQ';
      rows.push(...(await compare({ group, work: deviceCommands, ours: overQueue, nest: nestOverQueue, raw, goals: goals.commands })));
      const commits = keep(await twoCommits(postgresUrl));
      const { perSecond } = await commits.run(round(lanes));
      rows.push({ group: 'raw', what: 'two commits on PostgreSQL, 64 in flight', unit: '/s', ours: perSecond });
    }
    if (isWanted('callbacks')) {
      const queues = [
        keep(await startJobQueue('graphile-worker', peers, postgresUrl)),
        keep(await startJobQueue('pg-boss', peers, postgresUrl)),
      ];
      rows.push(...(await compareCallbacks('callbacks, PostgreSQL', ours, queues)));
    }
    return rows;
  } finally {
    for (const part of running.reverse()) await part.stop();
  }
}

try {
  const rows = await run();
  console.log(values.json ? JSON.stringify(rows, undefined, 2) : `${asText(rows)}\n\n${asChart(rows)}`);
  if (!isQuick && values.only === undefined) {
    const date = execFileSync('date', ['-u', '+%Y-%m-%d'], { encoding: 'utf8' }).trim();
    const page = asMarkdown({ date, machine: describeMachine(), isQuick, rounds, rows });
    writeFileSync(new URL('../docs/benchmarks.md', import.meta.url), page);
    say('docs/benchmarks.md is written');
  }
  process.exit(0);
} catch (error) {
  console.error(error instanceof ServersMissing ? error.message : error);
  process.exit(1);
}
