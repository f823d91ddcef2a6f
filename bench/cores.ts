// The old money core and the new one [D300], each as a whole gateway, in turn in one run: no figure of the new core may be more than 5 % worse.
// Both run from the sources, each on a database of its own, because two cores never write one.
import { type Bench, lanes } from './bench.ts';
import { processorTime } from './comparing.ts';
import { type Contender, type Home, startTillgate } from './contenders.ts';
import type { Row } from './report.ts';
import { type Figures, type Round, takeTurns } from './turns.ts';
import { deviceCommands, invoiceCalls, type Work } from './works.ts';

const goal = 0.95;
const works: Record<string, Work> = { commands: deviceCommands, invoices: invoiceCalls };
const many = `${lanes} in flight`;
const rowsOf: { inFlight: number; what: string; unit: Row['unit']; of: keyof Figures }[] = [
  { inFlight: lanes, what: many, unit: '/s', of: 'perSecond' },
  { inFlight: lanes, what: `${processorTime}, ${many}`, unit: 'ms', of: 'cpuMsPerCall' },
  { inFlight: lanes, what: `processor time of PostgreSQL for a call, ${many}`, unit: 'ms', of: 'databaseMsPerCall' },
  { inFlight: 1, what: 'one in flight, p50', unit: 'ms', of: 'p50Ms' },
  { inFlight: 1, what: `${processorTime}, one in flight`, unit: 'ms', of: 'cpuMsPerCall' },
  { inFlight: 1, what: 'processor time of PostgreSQL for a call, one in flight', unit: 'ms', of: 'databaseMsPerCall' },
];

export async function coreRows(bench: Bench): Promise<Row[]> {
  const { postgresUrl, mqttUrl } = bench;
  const onServers = await compareCores(bench, 'PostgreSQL and MQTT', { postgresUrl, mqttUrl });
  return [...onServers, ...(await compareCores(bench, 'embedded', {}))];
}

async function compareCores(bench: Bench, place: string, home: Home): Promise<Row[]> {
  bench.say(`old and new core, ${place}: starting`);
  const start = async (core: 'old' | 'new') => bench.keep(await startTillgate(`${core} core`, lanes, { ...home, core }));
  const cores = { old: await start('old'), new: await start('new') };
  const rows: Row[] = [];
  for (const [name, work] of Object.entries(works)) {
    for (const inFlight of [lanes, 1]) {
      bench.say(`old and new core, ${place}: ${name}, ${inFlight} in flight`);
      const turn = (contender: Contender) => (round: Round) => work(contender, round);
      const figures = await takeTurns(bench.plan, inFlight, { old: turn(cores.old), new: turn(cores.new) });
      for (const { what, unit, of } of rowsOf.filter((row) => row.inFlight === inFlight)) {
        const peer = { name: 'old core', value: figures.old[of] };
        if (!Number.isNaN(peer.value))
          rows.push({ group: `the new core, ${name}, ${place}`, what, unit, ours: figures.new[of], peer, goal });
      }
    }
  }
  for (const contender of Object.values(cores)) await contender.stop();
  return rows;
}
