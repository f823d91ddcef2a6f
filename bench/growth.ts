// The cost of growth: the same workload with few and many stored rows, with few and many connected devices, with one gateway and two. The
// others are compared with the smallest, in alternating rounds. A goal is a share of the smallest one's figure: 1.3 times slower is 0.77.
import { cpus } from 'node:os';
import { fill } from '../scripts/cabinet-load/fill.ts';
import { openLoadShop } from '../scripts/load/load-shop.ts';
import { openDatabase } from '../src/database/open.ts';
import { systemClock } from '../src/kernel/system.ts';
import { createDatabase } from '../test/support/create-database.ts';
import { temporaryDirectory } from '../test/support/gateway-process.ts';
import { quiet } from '../test/support/process-figures.ts';
import { quietLogger } from '../test/support/quiet-logger.ts';
import { type Bench, lanes } from './bench.ts';
import { processorTime } from './comparing.ts';
import { type Contender, startTillgate } from './contenders.ts';
import { type Row, rowsOnPostgres } from './report.ts';
import { type Figures, takeTurns } from './turns.ts';
import { deviceCommands, invoiceCalls, type Work } from './works.ts';

const flat = 1 / 1.3;
const many = (count: number) => count.toLocaleString('en');

async function compareSizes(bench: Bench, work: Work, inFlight: number, contenders: Contender[]): Promise<Figures[]> {
  const turns = Object.fromEntries(contenders.map((contender, at) => [String(at), (round: Parameters<Work>[1]) => work(contender, round)]));
  const figures = await takeTurns(bench.plan, inFlight, turns);
  return contenders.map((_, at) => figures[String(at)] as Figures);
}

function rowsOf(options: {
  group: string;
  what: string;
  names: string[];
  seen: Figures[];
  unit: Row['unit'];
  of: keyof Figures;
  goal?: number;
}) {
  const { group, what, names, seen, unit, of, goal } = options;
  return names.slice(1).map(
    (name, at): Row => ({
      group,
      what: `${what}, ${name}`,
      unit,
      ours: seen[at + 1]?.[of] ?? Number.NaN,
      peer: { name: names[0] ?? '', value: seen[0]?.[of] ?? Number.NaN },
      ...(goal !== undefined && { goal }),
    }),
  );
}

/**
 * A database with that many commands and as many invoices, their steps and histories, and the callbacks of the oldest tenth of the
 * invoices.
 */
async function storedHome({ postgresUrl, say }: Bench, engine: 'postgres' | 'sqlite', rows: number) {
  const home = engine === 'postgres' ? { databaseUrl: await createDatabase(postgresUrl) } : { dataDir: temporaryDirectory() };
  const database = await openDatabase({
    url: home.databaseUrl,
    dataDir: home.dataDir,
    role: 'gateway',
    clock: systemClock,
    logger: quietLogger,
  });
  await fill(database, rows, Date.now(), {
    invoices: rows,
    callbacks: Math.floor(rows / 5),
    bareUrl: home.databaseUrl,
    say: (line) => say(`${engine}, ${many(rows)} stored: ${line}`),
  });
  // Nothing answers at the addresses of the pending ones.
  const unsent = database.queries.selectFrom('callbacks').select('id').where('state', '=', 'pending');
  await database.queries.deleteFrom('callback_attempts').where('callback_id', 'in', unsent).execute();
  await database.queries.deleteFrom('callbacks').where('state', '=', 'pending').execute();
  await database.close();
  return home;
}

export async function storedRows(bench: Bench): Promise<Row[]> {
  const rows: Row[] = [];
  for (const engine of ['postgres', 'sqlite'] as const) {
    const group = engine === 'postgres' ? rowsOnPostgres : 'growth, rows on SQLite';
    const counts = bench.plan.storedRows[engine];
    const contenders: Contender[] = [];
    for (const count of counts) {
      const home = await storedHome(bench, engine, count);
      contenders.push(
        bench.keep(await startTillgate(String(count), lanes, engine === 'postgres' ? { ...home, mqttUrl: bench.mqttUrl } : home)),
      );
    }
    // Each gateway first updates its sums of past hours.
    await quiet(contenders.flatMap(({ pids }) => pids));
    const names = counts.map((count) => `${many(count)} stored`);
    const works = [
      ['commands', deviceCommands],
      ['invoices', invoiceCalls],
    ] as const;
    for (const [what, work] of works) {
      bench.say(`${group}: ${what}`);
      const seen = await compareSizes(bench, work, lanes, contenders);
      rows.push(...rowsOf({ group, what: `${what}, ${lanes} in flight`, names, seen, unit: '/s', of: 'perSecond', goal: flat }));
      rows.push(...rowsOf({ group, what: `${what}, ${processorTime}`, names, seen, unit: 'ms', of: 'cpuMsPerCall', goal: flat }));
      const alone = await compareSizes(bench, work, 1, contenders);
      rows.push(...rowsOf({ group, what: `${what}, one in flight, p50`, names, seen: alone, unit: 'ms', of: 'p50Ms', goal: flat }));
    }
    for (const contender of contenders) await contender.stop();
  }
  return rows;
}

const bound = 400;

/** On the embedded broker, and the largest number on Mosquitto as well: memory, and commands to ten of them while all are connected. */
export async function connectedDevices(bench: Bench): Promise<Row[]> {
  const { plan, say, keep } = bench;
  const open = async (devices: number, mqttUrl?: string) => {
    say(`connecting ${many(devices)} devices ${mqttUrl === undefined ? 'to the embedded broker' : 'through Mosquitto'}`);
    const shop = keep(await openLoadShop({ devices, holdMs: 0, mqttUrl, say: () => {} }));
    await quiet([shop.pid]);
    const contender: Contender = { ...shop, name: String(devices), baseUrls: [shop.baseUrl], pids: [shop.pid], stop: shop.stop };
    return { contender, shop };
  };
  const group = 'growth, devices';
  const largest = plan.deviceCounts.at(-1) ?? 0;
  const shops = [];
  for (const devices of plan.deviceCounts) shops.push(await open(devices));
  say(`${group}: commands`);
  const inFlight = plan.deviceCounts[0] ?? 1;
  const contenders = shops.map(({ contender }) => contender);
  const seen = await compareSizes(bench, deviceCommands, inFlight, contenders);
  const names = plan.deviceCounts.map((count) => `${many(count)} connected`);
  const rows = [
    ...rowsOf({ group, what: `commands, ${inFlight} in flight`, names, seen, unit: '/s', of: 'perSecond', goal: flat }),
    ...rowsOf({ group, what: `commands, ${processorTime}`, names, seen, unit: 'ms', of: 'cpuMsPerCall', goal: flat }),
  ];
  const memory = async (what: string, { memory: now, liveMemory }: Awaited<ReturnType<typeof openLoadShop>>): Promise<Row[]> => {
    const inUse = now();
    return [
      { group: 'memory with devices', what: `${what}, in use`, unit: 'MB', ours: inUse, atMost: bound },
      { group: 'memory with devices', what: `${what}, needed: after a collection of garbage`, unit: 'MB', ours: await liveMemory() },
    ];
  };
  const last = shops.at(-1);
  if (last) rows.push(...(await memory(`${many(largest)}, embedded broker`, last.shop)));
  for (const { shop } of shops) await shop.stop();
  const outside = await open(largest, bench.mqttUrl);
  rows.push(...(await memory(`${many(largest)}, Mosquitto`, outside.shop)));
  await outside.shop.stop();
  return rows;
}

/** Both on one PostgreSQL, one Mosquitto and one RabbitMQ; callers are spread over them. */
export async function twoGateways(bench: Bench): Promise<Row[]> {
  const { postgresUrl, mqttUrl, keep, say } = bench;
  const { url: queueUrl } = await bench.shared.rabbitmq();
  const group = 'growth, gateways';
  say(group);
  const contenders: Contender[] = [];
  for (const gateways of [1, 2])
    contenders.push(keep(await startTillgate(String(gateways), lanes, { postgresUrl, mqttUrl, queueUrl, gateways })));
  const seen = await compareSizes(bench, deviceCommands, lanes, contenders);
  for (const contender of contenders) await contender.stop();
  const names = ['one gateway', 'two gateways'];
  const cores = cpus().length;
  // Two gateways, their database, their broker, devices and callers: with fewer cores than that, a second gateway adds no throughput.
  const goal = cores >= 6 ? { goal: 1.6 } : {};
  return [
    ...rowsOf({ group, what: `commands, ${lanes} in flight`, names, seen, unit: '/s', of: 'perSecond', ...goal }),
    ...rowsOf({ group, what: 'processor time of the gateways for a command', names, seen, unit: 'ms', of: 'cpuMsPerCall', goal: 0.8 }),
  ];
}
