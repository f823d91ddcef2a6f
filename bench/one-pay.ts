// The time of one Pay by part, with one call in flight on PostgreSQL and Mosquitto, measured at the gateway's sockets.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createDatabase } from '../test/support/create-database.ts';
import { type Bench, lanes } from './bench.ts';
import { startTillgate } from './contenders.ts';
import { median } from './load.ts';
import type { Row } from './report.ts';
import { deviceCommands } from './works.ts';

/** In milliseconds of the gateway's clock, in their order. */
export interface Moments {
  read: number;
  insertSent: number;
  inserted: number;
  published: number;
  answered: number;
  settleSent: number;
  settled: number;
  written: number;
}

const group = 'one Pay, one in flight, PostgreSQL and MQTT';
const names: (keyof Moments)[] = ['read', 'insertSent', 'inserted', 'published', 'answered', 'settleSent', 'settled', 'written'];
const ways = [
  'gateway: request read, key checked, insert written to the socket',
  'PostgreSQL: insert, lock and number committed',
  'gateway: command published',
  'broker and device: command there, `accepted` and `done` back',
  'gateway: answers believed, settlement written to the socket',
  'PostgreSQL: settlement committed',
  'gateway: answer written to the socket',
];

export async function onePayRows(bench: Bench): Promise<Row[]> {
  const { plan, keep, newFile, postgresUrl, mqttUrl } = bench;
  const file = newFile('moments');
  const databaseUrl = await createDatabase(postgresUrl);
  const settings = {
    NODE_OPTIONS: `--import ${fileURLToPath(new URL('pay-tap.ts', import.meta.url))}`,
    BENCH_TAP_FILE: file,
    BENCH_TAP_POSTGRES: new URL(databaseUrl).port,
    BENCH_TAP_MQTT: new URL(mqttUrl).port,
  };
  const contender = keep(await startTillgate('Tillgate', lanes, { databaseUrl, mqttUrl, settings }));
  bench.say('one Pay: where its time goes');
  const { forMs, warmUpMs, atLeastCalls, firstWarmUpCalls } = plan;
  const round = { forMs, warmUpMs, atLeastCalls };
  await deviceCommands(contender, { ...round, inFlight: lanes, warmUpCalls: firstWarmUpCalls });
  await deviceCommands(contender, { ...round, inFlight: 1 });
  writeFileSync(file, '');
  await deviceCommands(contender, { ...round, inFlight: 1, forMs: 3 * forMs });
  const calls = readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Partial<Moments>)
    .filter((moments): moments is Moments => names.every((name) => moments[name] !== undefined));
  await contender.stop();
  const between = (from: keyof Moments, to: keyof Moments) => 1_000 * median(calls.map((moments) => moments[to] - moments[from]));
  const row = (what: string, ours: number): Row => ({ group, what, unit: 'µs', ours });
  return [
    ...ways.map((what, at) => row(what, between(names[at] as keyof Moments, names[at + 1] as keyof Moments))),
    row('together, from the request to the answer', between('read', 'written')),
  ];
}
